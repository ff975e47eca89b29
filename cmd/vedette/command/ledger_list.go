package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
)

// chosenRecords are the query and the flags that choose records.
type chosenRecords struct {
	since, until string
	flags        map[string]*string // exact values by the query's keys
}

const aboutQueries = `QUERY is a line of terms, all of which must hold: outcome:deny gate:guard
skill:email.* user:ann since:24h. Commas stand between alternatives, a minus
before a term turns it round, a star stands for any text, and what has no key is
looked for in reasons and codes. Put the line in single quotes. The keys:

`

// describeQueries is the help on queries.
func describeQueries() string {
	about := query.Keys()
	var b strings.Builder
	b.WriteString(aboutQueries)
	for _, k := range slices.Sorted(maps.Keys(about)) {
		fmt.Fprintf(&b, "  %-13s %s\n", k, about[k])
	}
	return strings.TrimRight(b.String(), "\n")
}

// addFlags adds the flags, which say the same as terms of the query.
func (c *chosenRecords) addFlags(fl *pflag.FlagSet) {
	c.flags = map[string]*string{}
	for _, f := range []struct{ name, usage string }{
		{"user", "records of this `USER`"},
		{"conversation", "records of this conversation's `ID`"},
		{"agent", "records of this `AGENT`"},
		{"skill", "records of this `SKILL`"},
		{"outcome", strings.Join(query.Outcomes(), ", ")},
		{"gate", "the gate that decided: " + strings.Join(query.Gates(), ", ")},
		{"kind", strings.Join(query.Kinds(), ", ")},
		{"by", "decisions on calls that this `NAME` approved or refused; ledger show has it after by="},
	} {
		c.flags[f.name] = fl.String(f.name, "", f.usage)
	}
	fl.StringVar(&c.since, "since", "", "records from this `TIME` on: RFC 3339, a day, or how long ago")
	fl.StringVar(&c.until, "until", "", "records before this `TIME`")
}

// readQuery reads the query and the flags: a word that no record can have is a typo, not an empty
// answer.
func (c *chosenRecords) readQuery(args []string, now time.Time) (query.Query, error) {
	for _, w := range []struct {
		flag  string
		known []string
	}{{"outcome", query.Outcomes()}, {"gate", query.Gates()}, {"kind", query.Kinds()}} {
		if value := c.valueOf(w.flag); value != "" && !slices.Contains(w.known, value) {
			near := slices.DeleteFunc(slices.Clone(w.known), func(k string) bool { return !isAlike(value, k) })
			return query.Query{}, usageError(fmt.Sprintf("--%s %q: say %s%s", w.flag, value, strings.Join(w.known, ", "), didYouMean(near)))
		}
	}
	if _, err := parseMoment("since", c.since, now); err != nil {
		return query.Query{}, err
	}
	if _, err := parseMoment("until", c.until, now); err != nil {
		return query.Query{}, err
	}
	terms := []string{strings.Join(args, " ")} // first, so that mistakes are told with their place in it
	for _, key := range slices.Sorted(maps.Keys(c.flags)) {
		if value := *c.flags[key]; value != "" {
			terms = append(terms, query.Term(key, value))
		}
	}
	for key, value := range map[string]string{"since": c.since, "until": c.until} {
		if value != "" {
			terms = append(terms, key+":"+value)
		}
	}
	q, err := query.Parse(strings.Join(terms, " "), now)
	var mistake *query.Error
	if errors.As(err, &mistake) {
		return q, usageError(err.Error())
	}
	return q, err
}

// valueOf is the value of a flag; empty for a command without it.
func (c *chosenRecords) valueOf(flag string) string {
	if v := c.flags[flag]; v != nil {
		return *v
	}
	return ""
}

// listCommand is `vedette ledger list`.
type listCommand struct {
	*app
	places *places
	chosen chosenRecords
	limit  int
	json   bool
}

func newListCommand(a *app, p *places) *cobra.Command {
	c := &listCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "list [QUERY]",
		Short: "List records, the newest first",
		Long: `List shows the records that match the query and every flag, the newest first. With
--json each record is one line of JSON.

The time of a call that a person was asked about is that of the answer; the
question stands before it, as a record of the kind held. With by:NAME the list is
of the calls that one person answered, and since goes by the answer's time.

` + describeQueries(),
		Example: `  vedette ledger list 'outcome:deny since:24h'
  vedette ledger list 'skill:email.* effect:irreversible,costs_money tainted:yes'
  vedette ledger list --conversation c-17 --json
  vedette ledger list 'by:ann since:7d -outcome:allow'`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.chosen.addFlags(cmd.Flags())
	cmd.Flags().IntVar(&c.limit, "limit", 100, "records to show at most")
	cmd.Flags().BoolVar(&c.json, "json", false, "print each record as a line of JSON")
	return cmd
}

// listHeads are the columns of a list of records.
var listHeads = []string{"TIME", "ID", "KIND", "OUTCOME", "GATE", "CODE", "SKILL", "AGENT", "USER"}

// listCells are a record's cells under listHeads.
func listCells(rec *records.Record) []string {
	return []string{rec.Time.Format(records.TimeLayout), rec.ID, rec.Kind, rec.Outcome, rec.Gate, rec.Code, rec.Skill, rec.Agent, rec.User}
}

func (c *listCommand) run(ctx context.Context, args []string) error {
	if c.limit < 1 {
		return usageError(fmt.Sprintf("--limit %d: use 1 or more", c.limit))
	}
	q, err := c.chosen.readQuery(args, time.Now())
	if err != nil {
		return err
	}
	src, err := c.places.findSource(c.program(), false, false)
	if err != nil {
		return err
	}
	tellMissing(ctx, c.app, src)
	t := terminal.Table{Colour: c.color}
	t.Add(listHeads...)
	shown, more, err := src.List(ctx, records.ListOptions{Query: q, Limit: c.limit}, func(page records.Page) error {
		for _, rec := range page {
			if c.json {
				if err := c.writeJSON(rec, true); err != nil {
					return err
				}
			}
			t.Add(listCells(&rec)...)
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
