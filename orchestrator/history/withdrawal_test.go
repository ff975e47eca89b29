package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"

	"github.com/vedette-dev/vedette/sentinel/journal"
)

// A purge ends the questions about its calls that wait for a person, each once
// and on record, and those of no other.
func TestPurgeEndsHeldCalls(t *testing.T) {
	for name, row := range map[string]struct {
		who  history.Who
		ends []string
	}{
		"user":         {history.Who{User: "ann"}, []string{"q1", "q2"}},
		"conversation": {history.Who{Conversation: "c1"}, []string{"q1"}},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := store.Open(t.Context(), store.Options{Path: t.TempDir() + "/h.db"})
			require.NoError(t, err)
			defer func() { require.NoError(t, st.Close()) }()
			jr, err := journal.Open(t.Context(), st, journal.SingleKey([32]byte{1}), journal.Options{})
			require.NoError(t, err)
			k, err := keys.LoadOrCreate(t.TempDir() + "/keys")
			require.NoError(t, err)
			signer, err := ledger.NewSigner(k.Ledger())
			require.NoError(t, err)
			l, err := ledger.Open(t.Context(), st, signer, ledger.Options{})
			require.NoError(t, err)
			h, err := history.Open(t.Context(), st, jr, history.Options{Ledger: l})
			require.NoError(t, err)
			put := func(n int, kind, call, question, conversation, user string) {
				require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
					_, err := l.AppendTx(tx, ledger.Entry{
						ID: fmt.Sprintf("record-%d", n), Time: time.Unix(int64(n), 0), Kind: kind, Call: call, Decision: question,
						Conversation: conversation, User: user, Skill: "note.echo", Body: []byte(`{"turn":"t"}`),
					})
					return err
				}))
			}
			put(1, sentinel.RecordHeld, "k1", "q1", "c1", "ann")
			put(2, sentinel.RecordHeld, "k1", "q1", "c1", "ann") // asked again after a restart
			put(3, sentinel.RecordHeld, "k2", "q2", "c2", "ann")
			put(4, sentinel.RecordHeld, "k3", "q3", "c1", "ann")
			put(5, sentinel.RecordDecision, "k3", "q3", "c1", "ann")
			put(6, sentinel.RecordHeld, "k4", "q4", "c3", "bob")
			_, err = h.Purge(t.Context(), row.who, "operator")
			require.NoError(t, err)
			list, err := l.List(t.Context(), ledger.Query{Kind: sentinel.RecordDecision, Code: sentinel.CodeApprovalCanceled})
			require.NoError(t, err)
			var ends []string
			for _, r := range list {
				require.Equal(t, []string{"deny", sentinel.GateApproval, "ann"}, []string{r.Outcome, r.Gate, r.User})
				ends = append(ends, r.Decision)
			}
			require.Equal(t, row.ends, ends)
		})
	}
}
