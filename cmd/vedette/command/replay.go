package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/orchestrator/replay"
)

// replayCommand is `vedette replay`.
type replayCommand struct {
	*app
	places                 places
	since                  string
	rules                  []string
	noReview, review, json bool
	failOnChange           bool
	maxReviews, examples   int
}

func newReplayCommand(a *app) *cobra.Command {
	c := &replayCommand{app: a}
	cmd := &cobra.Command{
		Use:   "replay [QUERY]",
		Short: "Decide recorded calls again, under another configuration",
		Long: `Replay takes the recorded calls that match the query, decides them under the
configuration and tells what would change. It runs no skill, asks no person,
counts no limit and writes nothing; a server may run beside it.

The database and the keys are the configuration's, or what --db and --keys name.
A call whose values the journal no longer holds is indeterminate, with the reason.
So is one whose answer hangs on the files of that time.

The review's judgement is the recorded one, where models, prompt and question are
the same. --rule compares the configuration with one more rule with the configuration as
it is. --review asks the model where they aren't, about --max-reviews calls at
most, and says before what that comes to.

` + describeQueries(),
		Example: `  vedette replay --since 7d --config new.yaml
  vedette replay --config new.yaml 'skill:email.* since:24h' --json
  vedette replay --since 30d --rule '{skill: email.send, then: ask}'
  vedette replay --config new.yaml --db data/vedette.db --keys data/vedette-keys --review`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&c.places.config, "config", defaultConfig, "configuration `FILE` to decide under")
	f.StringVar(&c.places.db, "db", "", "database `FILE`, in place of the configuration's")
	f.StringVar(&c.places.keys, "keys", "", "key `FOLDER`, in place of the configuration's")
	f.StringVar(&c.since, "since", "", "calls from this `TIME` on: RFC 3339, a day, or how long ago")
	f.StringArrayVar(&c.rules, "rule", nil, "compare with one more permission `RULE`, such as '{skill: email.send, then: ask}'")
	f.BoolVar(&c.noReview, "no-review", false, "leave the model review out")
	f.BoolVar(&c.review, "review", false, "ask the model where no judgement on record fits")
	f.IntVar(&c.maxReviews, "max-reviews", 100, "calls that the model is asked about at most")
	f.IntVar(&c.examples, "examples", 3, "decisions to name of each change")
	f.BoolVar(&c.json, "json", false, "print the report as JSON")
	f.BoolVar(&c.failOnChange, "fail-on-change", false, "end with status 3 where a call would be decided otherwise")
	return cmd
}

func (c *replayCommand) run(ctx context.Context, args []string) error {
	switch {
	case c.review && c.noReview:
		return usageError("--review and --no-review exclude each other")
	case c.maxReviews < 1 || c.examples < 0:
		return usageError("--max-reviews needs 1 or more, --examples 0 or more")
	}
	q, err := c.readQuery(args)
	if err != nil {
		return err
	}
	program := c.program()
	cfg, err := program.Load(c.places.config)
	if err != nil {
		return err
	}
	src := records.Source{Database: c.places.db, Keys: c.places.keys}
	if src.Database == "" {
		src.Database = cfg.Ledger.Path
	}
	if src.Keys == "" {
		src.Keys = cfg.Keys.Dir
	}
	report, err := replay.Run(ctx, replay.Options{
		Source: src, Chosen: records.ListOptions{Query: q}, Config: cfg, Rules: c.rules, NoReview: c.noReview || program.NoReview,
		Review: c.review, MaxReviews: c.maxReviews, BeforeReviews: c.tellCost, Examples: c.examples, Log: program.Log,
	})
	if err != nil {
		return err
	}
	return c.tell(report)
}

// readQuery reads the query and --since.
func (c *replayCommand) readQuery(args []string) (query.Query, error) {
	chosen := chosenRecords{}
	if c.since != "" {
		args = append(args, "since:"+c.since)
	}
	q, err := chosen.readQuery(args, time.Now())
	var mistake *failure
	if err != nil && !errors.As(err, &mistake) {
		return q, usageError(err.Error())
	}
	return q, err
}

// tellCost says what asking the model will come to.
func (c *replayCommand) tellCost(cost replay.Cost) error {
	about := "how many tokens that takes is on no record"
	if cost.Tokens > 0 {
		about = fmt.Sprintf("about %d tokens", cost.Tokens)
	}
	c.tellNote("the model is asked about %d of %d calls without a judgement that fits; %s", cost.Asked, cost.Calls, about)
	return nil
}

func (c *replayCommand) tell(r *replay.Report) error {
	var err error
	if c.json {
		err = terminal.WriteJSON(c.out, r, false)
	} else {
		err = r.WriteText(c.out, c.color)
	}
	if err == nil && len(c.rules) > 0 && !c.json {
		err = c.printText("\n%s\n", r.Effect())
	}
	switch {
	case err != nil:
		return err
	case r.Calls == 0:
		c.tellNote("no recorded call matches")
	case c.failOnChange && r.Changed > 0:
		return &failure{code: exitFindings, err: fmt.Errorf("%d calls would be decided otherwise", r.Changed)}
	}
	return nil
}
