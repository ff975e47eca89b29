package assembly_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// A warrant is spent once whatever record carries it, and every allowed call
// spends one. (Invariant 1.)
func TestRecorderSpends(t *testing.T) {
	n := &notes{}
	p := build(t, write(t, ""), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
	_, err := p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"milk"}`))
	require.NoError(t, err)
	require.Equal(t, 1, spent(t, p))
	var id string
	require.NoError(t, p.Store.Reader().QueryRow(t.Context(), "SELECT id FROM store_spent").Scan(&id))
	rec := sentinel.Record{Kind: sentinel.RecordDecision, ID: "again", At: time.Now(), CallID: "c", DecisionID: "d", Spend: id,
		SpendExpires: farAway()}
	require.ErrorIs(t, p.Recorder().Record(t.Context(), rec), store.ErrSpent)
	rec.Spend = "another"
	require.NoError(t, p.Recorder().Record(t.Context(), rec))
	rec.ID = "once-more"
	require.ErrorIs(t, p.Recorder().Record(t.Context(), rec), store.ErrSpent)
	require.Len(t, records(t, p.Config, ledger.Query{}), 3, "a record whose warrant was spent is not written")
}
