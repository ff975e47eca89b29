package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// reviewers are two tokens that label, in whose names the API takes labels.
func (h *house) reviewers() {
	h.t.Helper()
	for _, name := range []string{"rita", "rob"} {
		w := access.Wanted{Name: name, User: name, Scopes: []access.Scope{access.Review, access.Label}}
		made, err := h.all.Create(h.t.Context(), w, "local:test")
		require.NoError(h.t, err)
		h.tokens[name] = made.Secret
	}
}

// deny has the checkpoint deny a call of ann's, and returns its record's id.
func (h *house) deny() string {
	h.t.Helper()
	h.must("ann", "POST", "/v1/calls", map[string]any{"conversation": "c", "call_id": "denied", "skill_name": "crm.update",
		"arguments": map[string]any{"id": "no"}, "granted_skills": []string{"crm.update"}}, nil)
	var list struct{ Data []ledger.Record }
	h.must("ann", "GET", "/v1/ledger/records?q=kind:decision+skill:crm.update", nil, &list)
	require.NotEmpty(h.t, list.Data)
	return list.Data[0].ID
}

// Two reviewers label a decision over HTTP, the second blind to the first, and see that they disagree.
func TestLabels(t *testing.T) {
	h := open(t, changes{})
	h.reviewers()
	id := h.deny()
	var queue struct{ Data []label.Queued }
	h.must("rita", "GET", "/v1/ledger/queue?why=denied", nil, &queue)
	require.Len(t, queue.Data, 1)
	require.Equal(t, id, queue.Data[0].Record.ID)
	path := "/v1/ledger/records/" + id + "/labels"
	var made label.Label
	r := h.must("rita", "POST", path, `{"word":"wrong","should":"allow","note":"CANARY: it was her own"}`, &made, "Idempotency-Key", "k1")
	require.Equal(t, 201, r.StatusCode)
	require.Equal(t, []string{"rita", "api", "deny", "allow"}, []string{made.By, made.Via, made.Decided, made.Should})
	again := h.must("rita", "POST", path, `{"word":"wrong","should":"allow","note":"CANARY: it was her own"}`, nil, "Idempotency-Key", "k1")
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	h.must("rita", "GET", "/v1/ledger/queue?why=denied", nil, &queue)
	require.Empty(t, queue.Data)

	var list struct{ Data []label.Label }
	h.must("rob", "GET", "/v1/ledger/labels", nil, &list)
	require.Empty(t, list.Data, "blind")
	var records struct{ Data []ledger.Record }
	h.must("rob", "GET", "/v1/ledger/records?kind=labelled", nil, &records)
	require.Empty(t, records.Data)
	var found struct{ Related []ledger.Record }
	h.must("rob", "GET", "/v1/ledger/records/"+id, nil, &found)
	require.Empty(t, found.Related)
	require.Equal(t, "not_found", h.do("rob", "GET", "/v1/ledger/records/"+made.ID, nil).code())
	h.must("nobody", "GET", "/v1/ledger/labels", nil, &list)
	require.Len(t, list.Data, 1, "a token that only reads sees all")

	h.must("rob", "POST", path, `{"word":"right"}`, nil)
	h.must("rob", "GET", "/v1/ledger/labels?limit=1", nil, &list)
	require.Equal(t, "rob", list.Data[0].By)
	h.must("rob", "GET", "/v1/ledger/records/"+id, nil, &found)
	require.Len(t, found.Related, 2)
	var disputes struct{ Data []label.Dispute }
	h.must("rob", "GET", "/v1/ledger/disputes", nil, &disputes)
	require.Len(t, disputes.Data, 1)
	require.Equal(t, "CANARY: it was her own", disputes.Data[0].Labels[0].Note)
	require.NotContains(t, h.log.String(), "CANARY: it was")
}

// What can't be said, or isn't theirs to say, is a problem.
func TestLabelProblems(t *testing.T) {
	h := open(t, changes{})
	h.reviewers()
	path := "/v1/ledger/records/" + h.deny() + "/labels"
	for name, c := range map[string]struct{ who, path, body, code string }{
		"who only reads":  {"nobody", path, `{"word":"right"}`, "scope_missing"},
		"another word":    {"rita", path, `{"word":"maybe"}`, "invalid"},
		"what it was":     {"rita", path, `{"word":"wrong","should":"deny"}`, "invalid"},
		"wrong alone":     {"rita", path, `{"word":"wrong"}`, "invalid"},
		"as another":      {"rita", path, `{"word":"right","by":"rob"}`, "invalid"},
		"no decision":     {"rita", "/v1/ledger/records/none/labels", `{"word":"right"}`, "not_found"},
		"foreign cursors": {"rita", "/v1/ledger/labels?after=x", "", "bad_request"},
	} {
		method := "POST"
		var body any = c.body
		if c.body == "" {
			method, body = "GET", nil
		}
		require.Equal(t, c.code, h.do(c.who, method, c.path, body).code(), name)
	}
}
