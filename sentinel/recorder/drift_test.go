package recorder_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/recorder"
)

// Each record is signed by a key of its agent, also after that was rotated and by a process that has started since; verify
// says so offline.
func TestRecordsAreSignedByTheirAgents(t *testing.T) {
	h := newHouse(t, time.Hour)
	ring, err := ledger.NewKeyring(h.ledger.PublicKey(), nil)
	require.NoError(t, err)
	n := 0
	record := func(agent string) string {
		t.Helper()
		n++
		rec := newRecord(sentinel.RecordDecision, fmt.Sprint("r", n))
		rec.Agent = agent
		require.NoError(t, h.Record(t.Context(), rec))
		got, err := h.ledger.Get(t.Context(), rec.ID)
		require.NoError(t, err)
		key, signed, err := ring.AgentSigner(got)
		require.NoError(t, err)
		require.Equal(t, agent != "", signed)
		return key
	}
	mail, files := record("mail"), record("files")
	require.NotEqual(t, mail, files)
	require.Equal(t, mail, record("mail"))
	require.Empty(t, record(""))
	rotated, err := h.agents.Rotate(t.Context(), "mail", "ann")
	require.NoError(t, err)
	require.Equal(t, mail, rotated.Old)
	require.Equal(t, rotated.New, record("mail"))
	require.Equal(t, files, record("files"))
	again, err := h.agents.Rotate(t.Context(), "mail", "ann")
	require.NoError(t, err)
	require.Equal(t, rotated.New, again.Old)
	h.restart()
	require.Equal(t, again.New, record("mail"))
	require.NoError(t, h.store.Checkpoint(t.Context()))
	report, err := ledger.Verify(t.Context(), h.path, ledger.VerifyOptions{PublicKey: h.ledger.PublicKey(), Agents: true})
	require.NoError(t, err)
	require.EqualValues(t, 6, report.AgentSigned)
	_, err = h.agents.Rotate(t.Context(), "", "ann")
	require.ErrorIs(t, err, ledger.ErrEntry)
}

// restart gives the house another recorder on the same database.
func (h *house) restart() {
	h.t.Helper()
	var err error
	h.agents, err = ledger.NewIdentities(h.t.Context(), h.store, h.ledger, h.secret)
	require.NoError(h.t, err)
	h.Recorder = recorder.New(recorder.Options{Store: h.store, Ledger: h.ledger, Journal: h.j, Identities: h.agents})
}

// The drift of a conversation follows the deviations of its decisions, apart from others', through a restart; a decision
// without a measure, and one that isn't durable, leave it.
func TestDriftOfConversations(t *testing.T) {
	h := newHouse(t, time.Hour)
	n := 0
	decide := func(conversation string, deviation int) (drift int) {
		t.Helper()
		n++
		rec := newRecord(sentinel.RecordDecision, fmt.Sprint("r", n))
		if rec.Conversation = conversation; deviation >= 0 {
			rec.Deviation = &deviation
		}
		require.NoError(t, h.Record(t.Context(), rec))
		got, err := h.ledger.Get(t.Context(), rec.ID)
		require.NoError(t, err)
		b := struct{ Deviation, Drift *int }{}
		require.NoError(t, json.Unmarshal(got.Body, &b))
		require.Equal(t, rec.Deviation, b.Deviation)
		if b.Drift == nil {
			return -1
		}
		return *b.Drift
	}
	require.Equal(t, 0, decide("c1", 0))
	require.Equal(t, []int{20, 36, 49}, []int{decide("c1", 100), decide("c1", 100), decide("c1", 100)})
	require.Equal(t, 6, decide("c2", 30))
	require.Equal(t, -1, decide("c1", -1))
	twice, far := newRecord(sentinel.RecordDecision, "r1"), 100 // its id is taken: nothing of it is kept
	twice.Deviation = &far
	require.ErrorIs(t, h.Record(t.Context(), twice), ledger.ErrDuplicate)
	h.restart()
	require.Equal(t, 59, decide("c1", 100))
	require.Equal(t, 47, decide("c1", 0))
	require.Equal(t, 5, decide("c2", 0))
}
