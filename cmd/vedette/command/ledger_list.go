package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// listCommand is `vedette ledger list`.
type listCommand struct {
	*app
	places       *places
	chosen       records.ListOptions
	since, until string
	json         bool
}

func newListCommand(a *app, p *places) *cobra.Command {
	c := &listCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List records, the newest first",
		Long: `List shows the records that match every flag, the newest first. With --json each
record is one line of JSON.

The time of a call that a person was asked about is that of the answer; the
question stands before it, as a record of the kind held. With --by the list is
of the calls that one person answered, and --since goes by the answer's time.`,
		Example: `  vedette ledger list --outcome deny --since 24h
  vedette ledger list --conversation c-17 --json
  vedette ledger list --by ann --since 24h
  vedette ledger list --gate guard --limit 1000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	fl := cmd.Flags()
	fl.StringVar(&c.chosen.User, "user", "", "records of this `USER`")
	fl.StringVar(&c.chosen.Conversation, "conversation", "", "records of this conversation's `ID`")
	fl.StringVar(&c.chosen.Agent, "agent", "", "records of this `AGENT`")
	fl.StringVar(&c.chosen.Skill, "skill", "", "records of this `SKILL`")
	fl.StringVar(&c.chosen.Outcome, "outcome", "", strings.Join(records.Outcomes(), ", "))
	fl.StringVar(&c.chosen.Gate, "gate", "", "the gate that decided: "+strings.Join(records.Gates(), ", "))
	fl.StringVar(&c.chosen.Kind, "kind", "", strings.Join(records.Kinds(), ", "))
	fl.StringVar(&c.chosen.By, "by", "", "decisions on calls that this `NAME` approved or refused; ledger show has it after by=")
	fl.StringVar(&c.since, "since", "", "records from this `TIME` on: RFC 3339, a day, or how long ago")
	fl.StringVar(&c.until, "until", "", "records before this `TIME`")
	fl.IntVar(&c.chosen.Limit, "limit", 100, "records to show at most")
	fl.BoolVar(&c.json, "json", false, "print each record as a line of JSON")
	return cmd
}

// checkFlags returns what the flags choose: a word that no record can have is a typo,
// not an empty answer.
func (c *listCommand) checkFlags(now time.Time) (records.ListOptions, error) {
	o := c.chosen
	for _, w := range []struct {
		flag, value string
		known       []string
	}{{"outcome", o.Outcome, records.Outcomes()}, {"gate", o.Gate, records.Gates()}, {"kind", o.Kind, records.Kinds()}} {
		if w.value != "" && !slices.Contains(w.known, w.value) {
			near := slices.DeleteFunc(slices.Clone(w.known), func(k string) bool { return !isAlike(w.value, k) })
			return o, usageError(fmt.Sprintf("--%s %q: say %s%s", w.flag, w.value, strings.Join(w.known, ", "), didYouMean(near)))
		}
	}
	if o.Limit < 1 {
		return o, usageError(fmt.Sprintf("--limit %d: use 1 or more", o.Limit))
	}
	var err1, err2 error
	o.Since, err1 = parseMoment("since", c.since, now)
	o.Until, err2 = parseMoment("until", c.until, now)
	return o, errors.Join(err1, err2)
}

func (c *listCommand) run(ctx context.Context) error {
	o, err := c.checkFlags(time.Now())
	if err != nil {
		return err
	}
	src, err := c.places.findSource(c.program(), false, false)
	if err != nil {
		return err
	}
	t := terminal.Table{Colour: c.color}
	t.Add("TIME", "ID", "KIND", "OUTCOME", "GATE", "CODE", "SKILL", "AGENT", "USER")
	shown, more, err := src.List(ctx, o, func(page records.Page) error {
		for _, rec := range page {
			if c.json {
				if err := c.writeJSON(rec, true); err != nil {
					return err
				}
			}
			t.Add(rec.Time.Format(records.TimeLayout), rec.ID, rec.Kind, rec.Outcome, rec.Gate, rec.Code, rec.Skill, rec.Agent, rec.User)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case shown == 0:
		c.tellNote("no record matches")
		return nil
	}
	if !c.json {
		if err := t.Write(c.out); err != nil {
			return err
		}
	}
	if more {
		c.tellNote("%d records shown; there may be more, ask with --limit N or --until TIME", shown)
	}
	return nil
}
