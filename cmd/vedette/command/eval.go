package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

// evalCommand is `vedette eval`.
type evalCommand struct {
	*app
	eval.RunOptions
	json                    bool
	intent, ceilings, today string
}

func newEvalCommand(a *app) *cobra.Command {
	c := &evalCommand{app: a}
	cmd := &cobra.Command{
		Use:   "eval --cases FILE...",
		Short: "Run labelled cases and count what became of them",
		Long: `Eval decides every case of the files as check does and prints the counts by
kind, by category and by the gate that blocked. Symbolic links are not followed:
the files that cases speak of are on another machine.

A case has the keys of a line of check (vedette check -h), and
  kind                 attack or benign
  category             what the counts are grouped by
  expected             approve or reject: what is right where kind is another
  granted_skills_all   a wider grant, which --grants all takes

"cases" counts the lines that were decided, "errors" those that could not be
read; with any the exit status is 1. Cases without a kind or a category count
under "unlabelled". A category that holds cases of several kinds is shown once
for each.

Interrupted, it prints the counts so far; with --results and --resume the next run
goes on from there, also after a crash. A model that is away is waited for, and the
run ends with 1 where it stays away or a case could not be judged. --against lists the cases that an earlier
run decided otherwise. --print-prompts writes the requests to models that have no
answer and sends none, --answers reads answers back in: docs/eval.md shows how a
model is measured that can't be reached from here. --signals shows what each signal
of the judge, and each code of other gates, did to the decisions.

--intent FILE reads each request by the intents of that configuration, with rules
alone. What a case is granted is then within the grants of its action, and nothing
where its request has no intent. --ceilings FILE says in JSON which skills each action
may use, instead of intent.actions.NAME.grants.`,
		Example: `  vedette eval --cases 'cases/*.jsonl'
  vedette eval --config vedette.yaml --cases cases/shell.jsonl --no-review --json
  vedette eval --cases mail.jsonl --no-review --signals
  vedette eval --cases mail.jsonl --grants all --results results.jsonl
  vedette eval --cases mail.jsonl --jobs 16 --results results.jsonl --resume
  vedette eval --cases mail.jsonl --against before.jsonl --fail-on-worse
  vedette eval --cases mail.jsonl --answers answers.jsonl --print-prompts missing.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Cases = append(c.Cases, args...) // what a shell made of --cases *.jsonl
			return asEvalFailure(c.run(cmd.Context()))
		},
	}
	c.addFlags(cmd)
	return cmd
}

func (c *evalCommand) addFlags(cmd *cobra.Command) {
	addConfigFlag(cmd, &c.ConfigFile)
	fl := cmd.Flags()
	fl.StringArrayVar(&c.Cases, "cases", nil, "`FILE` or glob of cases, - for the standard input; may be repeated")
	fl.StringVar(&c.Grants, "grants", "least", "least, or all to take granted_skills_all where a case has it")
	fl.StringVar(&c.Results.File, "results", "", "write each case's decision to `FILE`")
	fl.IntVar(&c.Jobs, "jobs", runtime.GOMAXPROCS(0), "cases decided at a time")
	fl.BoolVar(&c.NoReview, "no-review", false, "leave the model review out")
	fl.BoolVar(&c.Tables.Signals, "signals", false, "count for each signal the calls that it fired on, and those that are allowed without it")
	fl.BoolVar(&c.json, "json", false, "print the counts as JSON")
	fl.BoolVar(&c.Quiet, "quiet", false, "show no progress; none is shown where standard error is no terminal")
	fl.BoolVar(&c.Results.Resume, "resume", false, "decide what the file of --results lacks and add to it")
	fl.BoolVar(&c.Results.RetryUnjudged, "retry-unjudged", false, "with --resume, ask again about cases that no model was there for")
	fl.BoolVar(&c.Results.Overwrite, "overwrite", false, "begin again where the file of --results holds an earlier run")
	fl.DurationVar(&c.Wait, "wait", 5*time.Minute, "how long a model that is away is waited for; 0s takes its failures for results")
	fl.StringVar(&c.Against, "against", "", "compare with `FILE`, the results of an earlier run")
	fl.BoolVar(&c.FailOnWorse, "fail-on-worse", false, "with --against, exit 3 where a right decision became wrong")
	fl.StringVar(&c.intent, "intent", "", "bound grants by what requests ask for: the configuration `FILE` reads them")
	fl.StringVar(&c.ceilings, "ceilings", "", "with --intent, a JSON `FILE` that says which skills each action may use")
	fl.StringVar(&c.today, "today", "", "with --intent, the `DAY` on which requests are read, as 2026-12-31 (default the day of the run)")
	fl.StringVar(&c.Prompts, "print-prompts", "", "write the requests to models to `FILE` and send none")
	fl.StringVar(&c.Answers, "answers", "", "answer the requests to models from `FILE` and send none")
}

func (c *evalCommand) run(ctx context.Context) error {
	o := c.RunOptions
	o.ReviewOff, o.Open, o.Messages, o.Print = c.opts.NoReview, c.openCases, c.err, c.printReport
	b := readBuild(debug.ReadBuildInfo())
	o.Build = eval.Build{Version: b.Version, Revision: b.Revision, Modified: b.Modified}
	o.Inputs = map[string]string{"--intent": c.intent, "--ceilings": c.ceilings}
	bounds, end, err := c.openCeilings()
	if err != nil {
		return err
	}
	defer end()
	if bounds != nil {
		o.Ceiling = bounds
	}
	run, err := eval.NewRun(o)
	if err != nil {
		return err
	}
	cfg, err := c.program().Load(c.ConfigFile)
	if err != nil {
		return err
	}
	err = run.Do(ctx, cfg)
	if bounds != nil {
		requests, with := bounds.Read()
		c.tellNote("%d of %d requests have an intent", with, requests)
	}
	return err
}

// openCeilings reads what bounds the grants; nil where nothing does.
func (c *evalCommand) openCeilings() (*policy.Ceilings, func(), error) {
	switch {
	case c.intent == "" && c.ceilings == "" && c.today == "":
		return nil, func() {}, nil
	case c.intent == "":
		return nil, nil, usageError("--ceilings and --today are for requests that --intent FILE reads")
	}
	ic := &intentCommand{app: c.app, config: c.intent, rules: true}
	if c.today != "" {
		day, err := time.Parse(time.DateOnly, c.today)
		if err != nil {
			return nil, nil, usageError(fmt.Sprintf("--today %q is no day; write it as 2026-12-31", c.today))
		}
		ic.now = func() time.Time { return day }
	}
	r, err := ic.openRehearsal()
	if err != nil {
		return nil, nil, err
	}
	var text []byte
	if c.ceilings != "" {
		if text, err = os.ReadFile(c.ceilings); err != nil {
			r.Close()
			return nil, nil, err
		}
	}
	bounds, err := policy.NewCeilings(r, text)
	if err != nil {
		r.Close()
		return nil, nil, fmt.Errorf("%s: %w", cmp.Or(c.ceilings, c.intent), err)
	}
	return bounds, r.Close, nil
}

func (c *evalCommand) printReport(r eval.RunReport) error {
	if c.json {
		return c.writeJSON(r, true)
	}
	return r.WriteText(c.out, c.color)
}

// asEvalFailure gives errors of eval the exit codes that they have besides exitFailed.
func asEvalFailure(err error) error {
	var misuse *eval.UsageError
	if errors.As(err, &misuse) {
		return usageError(misuse.Msg)
	}
	var worse *eval.WorseError
	if errors.As(err, &worse) {
		return &failure{exitFindings, worse.Err, worse.Todo}
	}
	return err
}
