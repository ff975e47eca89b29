package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// mixedEntry is the n-th record of a ledger in which every column has common and rare values, some none, and
// whose clock goes back and forth.
func mixedEntry(n int, r *rand.Rand) Entry {
	e := Entry{
		ID: fmt.Sprintf("rec-%06d", n), Kind: "decision",
		Time: epoch.Add(time.Duration(n)*time.Second - time.Duration(r.IntN(40)*r.IntN(2))*time.Minute),
		Call: fmt.Sprintf("call-%d", n/3), Decision: fmt.Sprintf("dec-%d", n/2), User: fmt.Sprintf("user-%d", r.IntN(4)),
		Conversation: fmt.Sprintf("conv-%d", r.IntN(20)), Agent: "agent", Skill: fmt.Sprintf("skill.%d", r.IntN(6)), Outcome: "allow",
	}
	switch r.IntN(12) {
	case 0:
		e.Outcome, e.Gate, e.Code = "deny", "guard", "guard.core"
	case 1:
		e.Outcome, e.Gate, e.Code = "ask", "permission", "permission.ask"
	case 2:
		e.Kind, e.Outcome, e.Decision = "outcome", "ok", ""
	case 3:
		e.Kind, e.Skill, e.Agent, e.Outcome, e.Call = "purge", "", "", "", ""
	}
	return e
}

// mixedLedger makes a ledger of 9,000 such records: three blocks of times.
func mixedLedger(t *testing.T) (*Reader, []Record) {
	t.Helper()
	st := openStore(t, filepath.Join(t.TempDir(), "l.db"))
	l, err := Open(t.Context(), st, newSigner(t), Options{})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // it must repeat
	var all []Record
	for len(all) < 9000 {
		require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
			for range 700 {
				e := mixedEntry(len(all), r)
				at, err := l.AppendTx(tx, e)
				if err != nil {
					return err
				}
				all = append(all, Record{at, e})
			}
			return nil
		}))
	}
	return &l.Reader, all
}

// expectedOf are the records that a query asks for, by reading all.
func expectedOf(all []Record, q Query, columns []Column) []int64 {
	out := []int64{}
	for i := range all {
		rec := all[i]
		if q.Newest {
			rec = all[len(all)-1-i]
		}
		fits := len(out) < q.Limit && !rec.Time.Before(q.Since) && (q.Until.IsZero() || rec.Time.Before(q.Until))
		if q.AfterIndex != nil {
			fits = fits && rec.Index != *q.AfterIndex && rec.Index > *q.AfterIndex != q.Newest
		}
		for _, c := range columns {
			for _, f := range rec.listTextFields() {
				fits = fits && (f.name != c.Name || slices.Contains(c.OneOf, *f.value))
			}
		}
		if fits {
			out = append(out, rec.Index)
		}
	}
	return out
}

// Whatever is asked for, and whichever index answers it, the records are those that a reading of all finds.
func TestListFindsWhatAScanFinds(t *testing.T) {
	r, all := mixedLedger(t)
	words := map[string][]string{
		"kind": {"decision", "outcome", "purge", "none"}, "user": {"user-0", "user-3", "x"}, "agent": {"agent", ""},
		"skill": {"skill.0", "skill.5", "", "skill.9"}, "outcome": {"allow", "deny", "ask", "ok", ""}, "gate": {"guard", "permission", ""},
		"code": {"guard.core", ""}, "conversation": {"conv-1", "conv-19"}, "decision": {"dec-7", "dec-4000", ""}, "call": {"call-9", ""},
		"id": {"rec-000007", "rec-008999"},
	}
	rapid.Check(t, func(rt *rapid.T) {
		q := Query{Newest: rapid.Bool().Draw(rt, "newest"), Limit: rapid.SampledFrom([]int{1, 7, 1000}).Draw(rt, "limit")}
		for column, values := range words {
			if rapid.IntRange(0, 4).Draw(rt, "with "+column) == 0 {
				q.Columns = append(q.Columns, Column{column, rapid.SliceOfN(rapid.SampledFrom(values), 0, 3).Draw(rt, column)})
			}
		}
		slices.SortFunc(q.Columns, func(a, b Column) int { return len(a.Name) - len(b.Name) })
		if rapid.Bool().Draw(rt, "bounds") {
			q.Since = epoch.Add(time.Duration(rapid.IntRange(-3000, 9900).Draw(rt, "since")) * time.Second)
			q.Until = epoch.Add(time.Duration(rapid.IntRange(-3000, 9900).Draw(rt, "until")) * time.Second)
		}
		if rapid.Bool().Draw(rt, "after") {
			at := int64(rapid.IntRange(-5, 9100).Draw(rt, "index"))
			q.AfterIndex = &at
		}
		list, err := r.List(context.Background(), q)
		require.NoError(rt, err)
		got := []int64{}
		for _, rec := range list {
			require.Equal(rt, all[rec.Index].ID, rec.ID)
			got = append(got, rec.Index)
		}
		require.Equal(rt, expectedOf(all, q, q.Columns), got)
	})
}

// The index with the fewest matches answers, the rare values of a column are found without reading the others, and
// times bound the places.
func TestPlanChoosesTheRarestIndex(t *testing.T) {
	r, _ := mixedLedger(t)
	late := epoch.Add(8900 * time.Second)
	for _, c := range []struct {
		q    Query
		by   string
		from int64
	}{
		{Query{User: "user-1", Gate: "guard"}, "gate", 0},
		{Query{User: "user-1", Conversation: "conv-2", Gate: "guard", Newest: true}, "conversation", 0},
		{Query{Outcome: "allow", Skill: "skill.2"}, "skill", 0},
		{Query{Outcome: "allow"}, "", 0},
		{Query{Kind: "decision", Agent: "agent"}, "agent", 0}, // the only one there is
		{Query{Agent: "agent", User: "none"}, "user", 0},
		{Query{Decision: "dec-7", User: "user-1", Kind: "purge"}, "decision", 0},
		{Query{Since: late, Gate: "guard"}, "gate", 8192},
		{Query{Columns: []Column{{"outcome", []string{"deny", "ask"}}, {"user", []string{"user-1", "user-2"}}}}, "outcome", 0},
		{Query{Columns: []Column{{"gate", []string{""}}, {"skill", []string{"", "skill.1"}}}}, "", 0},
	} {
		require.NoError(t, r.r.Snapshot(t.Context(), func(tx *sql.Tx) error {
			p, err := planQuery(t.Context(), tx, c.q)
			require.NoError(t, err)
			by := ""
			if p.by >= 0 {
				by = p.columns[p.by].Name
			}
			require.Equal(t, c.by, by, "%+v", c.q)
			require.Equal(t, c.from, p.span.from)
			return nil
		}))
	}
	_, err := r.List(t.Context(), Query{Columns: []Column{{"body", []string{"x"}}}})
	require.ErrorContains(t, err, "no column")
}

// Every index is used by SQLite for the column that it is on, with bounds of places, and alone: no record is read
// before the other columns' indexes have said that it matches.
func TestIndexesAreUsed(t *testing.T) {
	r, _ := mixedLedger(t)
	for name, x := range columnIndexes() {
		p := &plan{q: Query{Newest: true, Limit: 50, Since: epoch}, index: x, span: span{5, 900},
			columns: []Column{{name, []string{"x"}}, {"outcome", []string{"deny"}}}}
		if name != "id" && name != "outcome" {
			p.others = []int{1}
		}
		s := p.format("x")
		require.NoError(t, r.r.Snapshot(t.Context(), func(tx *sql.Tx) error {
			rows, err := tx.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+s.text, s.args...)
			require.NoError(t, err)
			var steps []string
			for rows.Next() {
				var id, parent, unused int
				var detail string
				require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
				steps = append(steps, detail)
			}
			require.NoError(t, errors.Join(rows.Err(), rows.Close())) //nolint:sqlclosecheck // in a loop
			said := strings.Join(steps, "; ")
			want := "COVERING INDEX ledger_records_" + name + " (" + name + "=? AND rowid>? AND rowid<?)"
			if name == "id" {
				want = "sqlite_autoindex_ledger_records_1 (id=?"
			}
			require.Contains(t, said, want)
			require.NotContains(t, said, "TEMP B-TREE")
			if len(p.others) > 0 {
				require.Contains(t, said, "USING COVERING INDEX ledger_records_outcome (outcome=? AND rowid=?)")
			}
			return nil
		}))
	}
}

func TestValuesOfAColumn(t *testing.T) {
	r, _ := mixedLedger(t)
	for column, want := range map[string][]string{
		"skill": {"skill.0", "skill.1", "skill.2", "skill.3", "skill.4", "skill.5", ""}, "outcome": {"ask", "deny", "", "allow", "ok"},
		"kind": {"purge", "decision", "outcome"}, "gate": {"guard", "permission", ""}, "user": {"user-0", "user-1", "user-2", "user-3"},
	} {
		got, complete, err := r.Values(t.Context(), column, 6)
		require.NoError(t, err)
		require.True(t, complete)
		require.Equal(t, want, got)
	}
	got, complete, err := r.Values(t.Context(), "skill", 3)
	require.NoError(t, err)
	require.False(t, complete)
	require.Equal(t, []string{"skill.0", "skill.1", "skill.2", ""}, got)
	_, _, err = r.Values(t.Context(), "body", 3)
	require.Error(t, err)
}
