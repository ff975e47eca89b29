package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/policies"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// recordRead makes a call that runs, and returns its decision's record.
func (h *house) recordRead(user, conversation string) ledger.Record {
	h.t.Helper()
	parts := h.o.Parts()
	_, err := parts.Checkpoint.Desk(h.grant(user, conversation)).Invoke(h.calls, "note.read", json.RawMessage(`{"text":"CANARY-text"}`))
	require.NoError(h.t, err)
	list, err := parts.Ledger.List(h.t.Context(), ledger.Query{Conversation: conversation, Kind: sentinel.RecordDecision})
	require.NoError(h.t, err)
	require.NotEmpty(h.t, list)
	return list[len(list)-1]
}

// readings counts the records of readings.
func (h *house) readings() int {
	h.t.Helper()
	list, err := h.o.Parts().Ledger.List(h.t.Context(), ledger.Query{Kind: sentinel.RecordValuesRead})
	require.NoError(h.t, err)
	return len(list)
}

// A story without values is for those who read the ledger. Values are for the scope values alone, each
// time on record; on another server there is neither.
func TestStoryAndValues(t *testing.T) {
	h, other := open(t, changes{}), open(t, changes{})
	first := h.recordRead("ann", "c-1")
	rec := h.recordRead("ann", "c-1")
	path := "/v1/ledger/records/" + rec.Decision
	var told story.Story
	res := h.must("nobody", http.MethodGet, path+"/story", nil, &told)
	require.NotContains(t, string(res.body), "CANARY")
	require.Equal(t, "note.read", told.About.Skill)
	require.Len(t, told.Gates, len(sentinel.GateNames()))
	require.Equal(t, story.Sealed, told.Values.Arguments.State)
	require.Len(t, told.Steps, 1)
	require.Equal(t, first.ID, told.Steps[0].Record)

	res = h.do("nobody", http.MethodPost, path+"/values", nil)
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	require.NotContains(t, string(res.body), "CANARY")
	require.Zero(t, h.readings())

	h.must("ann", http.MethodPost, path+"/values", nil, &told)
	require.Equal(t, "send the mail CANARY-request to CANARY-to", told.Values.Request.Text)
	require.Equal(t, "CANARY-mission", told.Values.Mission.Text)
	require.JSONEq(t, `{"text":"CANARY-text"}`, told.Values.Arguments.Text)
	require.JSONEq(t, `{"text":"CANARY-text"}`, told.Steps[0].Arguments.Text)
	require.Equal(t, []string{"ann", "api"}, []string{told.Opened.By, told.Opened.Via})
	require.Equal(t, 1, h.readings())
	require.NotContains(t, h.log.String(), "CANARY")

	// The command line asks the server of its own database, and no other.
	told, err := control.Dial(control.SocketPath(h.o.Parts().Config.Ledger.Path)).ReadStory(t.Context(), rec.ID)
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"CANARY-text"}`, told.Values.Arguments.Text)
	require.Equal(t, []string{control.NameLocal(os.Getuid()), "cli"}, []string{told.Opened.By, told.Opened.Via})
	require.Len(t, told.Readings, 1)
	_, err = control.Dial(control.SocketPath(other.o.Parts().Config.Ledger.Path)).ReadStory(t.Context(), rec.ID)
	require.ErrorIs(t, err, control.ErrRecordUnknown)

	require.Equal(t, http.StatusNotFound, other.do("ann", http.MethodPost, path+"/values", nil).StatusCode)
	require.Zero(t, other.readings())
	h.must("ann", http.MethodDelete, "/v1/users/ann/conversations", nil, nil)
	h.must("ann", http.MethodPost, path+"/values", nil, &told)
	require.Equal(t, story.Erased, told.Values.Arguments.State)
}

// What a decision's policy stands for is told under its digest.
func TestPolicies(t *testing.T) {
	h := open(t, changes{})
	digest := h.o.Parts().Checkpoint.PolicyDigest()
	var list struct{ Data []policies.Item }
	h.must("nobody", http.MethodGet, "/v1/ledger/policies", nil, &list)
	require.Len(t, list.Data, 1)
	require.Equal(t, digest, list.Data[0].Digest)
	var one struct {
		Digest string
		Policy struct{ Configuration map[string]any }
	}
	for _, name := range []string{digest, digest[7:19]} {
		h.must("nobody", http.MethodGet, "/v1/ledger/policies/"+name+"?against="+digest, nil, &one)
		require.Equal(t, digest, one.Digest)
		require.Contains(t, one.Policy.Configuration, "permissions")
	}
	require.Equal(t, http.StatusNotFound, h.do("nobody", http.MethodGet, "/v1/ledger/policies/ffff00000000", nil).StatusCode)
	require.Equal(t, http.StatusForbidden, h.do("chat", http.MethodGet, "/v1/ledger/policies/"+digest, nil).StatusCode)
}
