package unfinished

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/recorder"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a database as a process opens it at its start.
type house struct {
	store    *store.Store
	ledger   *ledger.Ledger
	recorder *recorder.Recorder
}

func openHouse(t *testing.T, dir string) *house {
	t.Helper()
	k, err := keys.LoadOrCreate(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "v.db")})
	require.NoError(t, err)
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	l, err := ledger.Open(t.Context(), s, signer, ledger.Options{})
	require.NoError(t, err)
	j, err := journal.Open(t.Context(), s, journal.SingleKey(k.Journal()), journal.Options{Retention: time.Hour})
	require.NoError(t, err)
	return &house{s, l, recorder.New(recorder.Options{Store: s, Ledger: l, Journal: j, Retention: time.Hour})}
}

// More interrupted calls than fit one transaction are all told, each once, also
// by a start after one that came later; what was denied is not.
func TestManyInterruptedCalls(t *testing.T) {
	dir := t.TempDir()
	decide := func(h *house, from, n int, outcome string) {
		for i := from; i < from+n; i++ {
			id := fmt.Sprintf("%s-%d", outcome, i)
			require.NoError(t, h.recorder.Record(t.Context(), sentinel.Record{
				Kind: sentinel.RecordDecision, ID: id, At: time.Now(), CallID: "c-" + id, DecisionID: "d-" + id, Outcome: outcome,
			}))
		}
	}
	const n = 2*interruptedStep + 1
	start := func(then func(*house)) int64 {
		h := openHouse(t, dir)
		require.NoError(t, New(Options{Store: h.store, Ledger: h.ledger}).SettleInterrupted(t.Context()))
		s, err := h.ledger.Stats(t.Context(), ledger.Query{Kind: sentinel.RecordOutcome, Code: CodeInterrupted})
		require.NoError(t, err)
		then(h)
		require.NoError(t, h.store.Close())
		return s.Records
	}
	nothing := func(*house) {}
	require.Zero(t, start(func(h *house) {
		decide(h, 0, n, "allow")
		decide(h, 0, 3, "deny")
	}))
	require.EqualValues(t, n, start(nothing))
	require.EqualValues(t, n, start(func(h *house) { decide(h, n, 1, "allow") }))
	require.EqualValues(t, n+1, start(nothing))
	require.EqualValues(t, n+1, start(nothing))
	h := openHouse(t, dir)
	list := func(outcome string) []ledger.Record {
		found, err := h.ledger.List(t.Context(), ledger.Query{Kind: "decision", Outcome: outcome, Without: "outcome"})
		require.NoError(t, err)
		return found
	}
	require.Empty(t, list("allow"))
	require.Len(t, list("deny"), 3)
	require.NoError(t, h.store.Close())
}
