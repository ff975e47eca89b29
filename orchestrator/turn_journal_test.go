package orchestrator

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// heldHouse is a process whose agent's call waits for a person.
func heldHouse(t *testing.T) (*rig, ledger.Record) {
	t.Helper()
	r, _, person := slowHouse(t, "approvals: {timeout: 1h}\n"+asksAlways, use("note.echo", "x"), "a is done")
	r.begins()
	<-person.asked
	held := r.list(ledger.Query{Kind: sentinel.RecordHeld})
	require.Len(t, held, 1)
	return r, held[0]
}

// The look for calls that were left held finds those of the turn alone, and ends
// each once.
func TestEndHeldCalls(t *testing.T) {
	r, held := heldHouse(t)
	row, known, err := r.journal.Get(t.Context(), "c1")
	require.NoError(t, err)
	require.True(t, known)
	about := history.Turn{Conversation: "c1", User: "ann", Turn: row.Turn}
	other := about
	other.Turn = "another"
	r.journal.endHeldCalls(t.Context(), other, nil, "", "its turn has ended")
	r.journal.endHeldCalls(t.Context(), about, nil, "another", "its agent crashed")
	require.Empty(t, r.list(ledger.Query{Call: held.Call, Kind: sentinel.RecordDecision}))
	require.NoError(t, r.Close(context.Background()))
	r.requireHeldEnded() // its turn is still to be gone on with
}
