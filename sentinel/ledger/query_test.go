package ledger

import (
	"fmt"
	"path/filepath"
	"testing"

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
