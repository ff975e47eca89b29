package orchestrator

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// History whose row is gone, as killed purges of earlier versions left it, is
// shown to no user, its own included, until an operator purges it.
func TestOrphanedHistory(t *testing.T) {
	o := with(outside(t))
	r := start(t, o, orch("go", "CANARY"), orch("hello", "hi"))
	require.Equal(t, "CANARY", r.send("go").Text)
	require.NoError(t, r.Parts().Store.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec("DELETE FROM history_conversations")
		return err
	}))
	r.restart(o)
	for _, user := range []string{"eve", "ann"} {
		_, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: user})
		require.ErrorIs(t, err, ErrRequest, user)
		require.ErrorContains(t, err, "no owner", user)
	}
	_, err := r.journal.Purge(context.Background(), history.Who{Conversation: "c1"}, "operator")
	require.NoError(t, err)
	r.restart(o)
	reply, err := r.open("c1", "eve").Send(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, "hi", reply.Text)
	require.False(t, reply.Tainted)
	require.Equal(t, sentinel.RecordPurge, history.RecordPurge, "one kind of record, by either name")
}

// A row that a crashed process was still writing when its conversation was read
// is found: the history is its owner's, and no operator has to purge anything.
func TestAWriteUnderWayIsNoOrphan(t *testing.T) {
	r := start(t, with(outside(t)), orch("go", "done"))
	require.Equal(t, "done", r.send("go").Text)
	late, err := r.restorer.recallUnknown(t.Context(), "c1", "eve", true) // it saw no row, a moment ago
	require.NoError(t, err)
	require.False(t, late.orphan)
	require.Equal(t, "ann", late.user)
	require.Len(t, late.earlier.messages, 2)
}
