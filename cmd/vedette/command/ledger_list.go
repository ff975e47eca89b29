package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

// page is how many records are read at a time.
const page = 1000

var (
	kinds = []string{
		sentinel.RecordDecision, sentinel.RecordHeld, sentinel.RecordRefused, sentinel.RecordOutcome,
		pause.RecordPaused, pause.RecordLifted, sentinel.RecordPurge,
	}
	outcomes = []string{"allow", "ask", "defer", "deny", sentinel.StatusOK, sentinel.StatusFailed, sentinel.StatusUnknown}
)

type listFlags struct {
	q            ledger.Query
	since, until string
	limit        int
	json         bool
}

func newLedgerList(a *app, p *places) *cobra.Command {
	var f listFlags
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
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd.Context(), p, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.q.User, "user", "", "records of this `USER`")
	fl.StringVar(&f.q.Conversation, "conversation", "", "records of this conversation's `ID`")
	fl.StringVar(&f.q.Agent, "agent", "", "records of this `AGENT`")
	fl.StringVar(&f.q.Skill, "skill", "", "records of this `SKILL`")
	fl.StringVar(&f.q.Outcome, "outcome", "", strings.Join(outcomes, ", "))
	fl.StringVar(&f.q.Gate, "gate", "", "the gate that decided: "+strings.Join(gates(), ", "))
	fl.StringVar(&f.q.Kind, "kind", "", strings.Join(kinds, ", "))
	fl.StringVar(&f.q.By, "by", "", "decisions on calls that this `NAME` approved or refused; ledger show has it after by=")
	fl.StringVar(&f.since, "since", "", "records from this `TIME` on: RFC 3339, a day, or how long ago")
	fl.StringVar(&f.until, "until", "", "records before this `TIME`")
	fl.IntVar(&f.limit, "limit", 100, "records to show at most")
	fl.BoolVar(&f.json, "json", false, "print each record as a line of JSON")
	return cmd
}

func gates() []string { return append([]string{sentinel.GateParse}, sentinel.GateNames()...) }

// query checks the flags: a word that no record can have is a typo, not an
// empty answer.
func (f listFlags) query(now time.Time) (ledger.Query, error) {
	for _, w := range []struct {
		flag, value string
		known       []string
	}{{"outcome", f.q.Outcome, outcomes}, {"gate", f.q.Gate, gates()}, {"kind", f.q.Kind, kinds}} {
		if w.value != "" && !slices.Contains(w.known, w.value) {
			var near []string
			for _, k := range w.known {
				if alike(w.value, k) {
					near = append(near, k)
				}
			}
			return f.q, usage(fmt.Sprintf("--%s %q: say %s%s", w.flag, w.value, strings.Join(w.known, ", "), didYouMean(near)))
		}
	}
	if f.limit < 1 {
		return f.q, usage(fmt.Sprintf("--limit %d: use 1 or more", f.limit))
	}
	var err1, err2 error
	f.q.Since, err1 = when("since", f.since, now)
	f.q.Until, err2 = when("until", f.until, now)
	f.q.Newest = true
	return f.q, errors.Join(err1, err2)
}

func (a *app) list(ctx context.Context, p *places, f listFlags) (err error) {
	q, err := f.query(time.Now())
	if err != nil {
		return err
	}
	if err := p.fill(false, false); err != nil {
		return err
	}
	r, err := p.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	t := table{colour: a.color}
	t.add("TIME", "ID", "KIND", "OUTCOME", "GATE", "CODE", "SKILL", "AGENT", "USER")
	shown, more := 0, true
	for shown < f.limit && more {
		q.Limit = min(page, f.limit-shown)
		records, err := r.List(ctx, q)
		if err != nil {
			return p.explain(err)
		}
		for _, rec := range records {
			if f.json {
				if err := writeJSON(a.out, rec, true); err != nil {
					return err
				}
			}
			t.add(rec.Time.Format(timeLayout), rec.ID, rec.Kind, rec.Outcome, rec.Gate, rec.Code, rec.Skill, rec.Agent, rec.User)
		}
		if more = len(records) == q.Limit; more {
			q.AfterIndex = &records[len(records)-1].Index
		}
		shown += len(records)
	}
	return a.listed(f, &t, shown, more)
}

func (a *app) listed(f listFlags, t *table, shown int, more bool) error {
	if shown == 0 {
		a.note("no record matches")
		return nil
	}
	if !f.json {
		if err := t.write(a.out); err != nil {
			return err
		}
	}
	if more {
		a.note("%d records shown; there may be more, ask with --limit N or --until TIME", shown)
	}
	return nil
}
