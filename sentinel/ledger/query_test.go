package ledger

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// Without finds the decisions that nothing followed. What another decision of
// the same call has does not count.
func TestQueryWithout(t *testing.T) {
	st := openStore(t, filepath.Join(t.TempDir(), "l.db"))
	l, err := Open(t.Context(), st, newSigner(t), Options{})
	require.NoError(t, err)
	appendOne(t, st, l, 0, 3)
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		for i, e := range []Entry{entry(0), entry(1)} {
			e.ID, e.Kind = fmt.Sprintf("out-%d", i), "outcome"
			if i == 1 {
				e.Decision = "dec-other"
			}
			if _, err := l.AppendTx(tx, e); err != nil {
				return err
			}
		}
		return nil
	}))
	list, err := l.List(t.Context(), Query{Kind: "decision", Without: "outcome"})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"call-1", "call-2"}, []string{list[0].Call, list[1].Call})
	s, err := l.Stats(t.Context(), Query{Kind: "decision", Without: "held"})
	require.NoError(t, err)
	require.EqualValues(t, 3, s.Records)
}

// By finds the decisions that one person gave, by the body that the tree covers.
// It finds no other kind of record, no other name, and no decision from before
// there were names.
func TestQueryBy(t *testing.T) {
	st := openStore(t, filepath.Join(t.TempDir(), "l.db"))
	l, err := Open(t.Context(), st, newSigner(t), Options{})
	require.NoError(t, err)
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		for i, e := range []struct{ kind, body string }{
			{"decision", `{"approver":"ann"}`}, {"decision", `{"approver":"bob"}`}, {"held", `{"approver":"ann"}`},
			{"decision", `{"reason":"\"approver\":\"ann\""}`}, {"decision", ""}, {"decision", `{"approver":"ann"}`}, {"decision", `["ann"]`},
		} {
			_, err := l.AppendTx(tx, Entry{ID: fmt.Sprintf("r-%d", i), Time: at.Add(time.Duration(i) * time.Minute), Kind: e.kind,
				Body: []byte(e.body)})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	for want, q := range map[string]Query{
		"[r-0 r-5]": {By: "ann"}, "[r-1]": {By: "bob"}, "[]": {By: "an"}, "[r-5]": {By: "ann", Since: at.Add(time.Minute)},
		"[r-0]": {By: "ann", Until: at.Add(time.Minute)},
	} {
		list, err := l.List(t.Context(), q)
		require.NoError(t, err)
		ids := []string{}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		require.Equal(t, want, fmt.Sprint(ids))
	}
	s, err := l.Stats(t.Context(), Query{By: "ann"})
	require.NoError(t, err)
	require.EqualValues(t, 2, s.Records)
}
