package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/records"
)

// statsCommand is `vedette ledger stats`.
type statsCommand struct {
	*app
	places *places
	chosen chosenRecords
	json   bool
}

func newStatsCommand(a *app, p *places) *cobra.Command {
	c := &statsCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "stats [QUERY]",
		Short: "Count decisions by gate, skill, agent, user, effect and hour",
		Long: `Stats counts the decisions that match the query and every flag: their outcomes by
gate, effect, skill, agent, user and hour, the judge's scores, how long the gates
and the model took, and the model's tokens. Percentiles are at most 5% too high.

Of labelled decisions it counts by what was decided how many were right, too strict (false
alarms) and too lax. All denials are looked at and few allowed calls, so the shares are of
what was labelled, never of all calls.

` + describeQueries(),
		Example: `  vedette ledger stats 'since:24h'
  vedette ledger stats 'skill:email.* since:7d' --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.chosen.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *statsCommand) run(ctx context.Context, args []string) error {
	q, err := c.chosen.readQuery(args, time.Now())
	if err != nil {
		return err
	}
	src, err := c.places.findSource(c.program(), false, false)
	if err != nil {
		return err
	}
	tellMissing(ctx, c.app, src)
	counted, err := records.Count(ctx, src, q)
	switch {
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(counted, false)
	}
	return counted.WriteText(c.out, c.color)
}
