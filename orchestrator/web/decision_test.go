package web_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// recordQuestion makes a call that a person is asked about, and returns the record of the question.
func (h *house) recordQuestion(request, mission string, args map[string]any) ledger.Record {
	h.t.Helper()
	item, _ := h.askWith("ann", request, mission, args)
	list, err := h.o.Parts().Ledger.List(h.t.Context(), ledger.Query{Decision: item.ID, Limit: 1})
	require.NoError(h.t, err)
	require.Len(h.t, list, 1)
	return list[0]
}

// readings counts the records of readings.
func (h *house) readings() int {
	h.t.Helper()
	list, err := h.o.Parts().Ledger.List(h.t.Context(), ledger.Query{Kind: sentinel.RecordValuesRead})
	require.NoError(h.t, err)
	return len(list)
}

// The page of one decision shows its gates as a ladder, and values to a visitor with the scope who asks
// for them, on record.
func TestDecisionPage(t *testing.T) {
	h := open(t, changes{})
	rec := h.recordQuestion("send CANARY-request", "CANARY-mission", map[string]any{"to": "bob@CANARY.test", "pass": "CANARY-secret"})
	page := "/log/" + rec.ID
	require.Equal(t, 403, h.signIn("ann").get(page).StatusCode, "a token that reads no ledger")

	reader := h.signIn("reader")
	p := reader.get(page)
	require.Equal(t, 200, p.StatusCode)
	require.NotContains(t, p.body, "CANARY")
	require.Contains(t, p.body, `<ol class="ladder">`)
	require.Contains(t, p.body, "A token with the scope values is shown them.")
	require.Equal(t, 403, reader.post(page, url.Values{"csrf": {"x"}}).StatusCode)

	allowed := h.signIn("values")
	p = allowed.get(page)
	require.NotContains(t, p.body, "CANARY")
	token := p.field("csrf")
	require.Equal(t, 403, allowed.post(page, url.Values{"csrf": {"x"}}).StatusCode)
	require.Equal(t, 403, allowed.post(page, url.Values{"csrf": {token}}, "Sec-Fetch-Site", "cross-site").StatusCode)
	require.Zero(t, h.readings())
	p = allowed.post(page, url.Values{"csrf": {token}})
	require.Equal(t, 200, p.StatusCode)
	for _, value := range []string{"send CANARY-request", "CANARY-mission", "bob@CANARY.test"} {
		require.Contains(t, p.body, value)
	}
	require.NotContains(t, p.body, "CANARY-secret")
	require.Equal(t, 1, h.readings())
	require.Contains(t, reader.get(page).body, "vera")
	require.NotContains(t, h.log.String(), "CANARY")
	require.Equal(t, 404, reader.get("/log/nothing").StatusCode)
}

// Hostile text in request, mission and arguments stands on the page as text.
func TestDecisionPageIsHostileProof(t *testing.T) {
	h := open(t, changes{})
	const bad = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e\x1b[2J"
	rec := h.recordQuestion(bad, bad, map[string]any{"to": bad, "text": bad})
	b := h.signIn("values")
	p := b.post("/log/"+rec.Call, url.Values{"csrf": {b.get("/log/" + rec.ID).field("csrf")}})
	require.Equal(t, 200, p.StatusCode)
	for _, raw := range []string{"<script>alert", "<img", "\u202e", "\x1b"} {
		require.NotContains(t, p.body, raw)
	}
	require.Contains(t, p.body, "&lt;script&gt;alert(1)")
	raw, err := json.Marshal(bad)
	require.NoError(t, err)
	require.NotContains(t, p.body, string(raw))
}

// A record that is about no call has a page too.
func TestPageOfAnotherRecord(t *testing.T) {
	h := open(t, changes{})
	list, err := h.o.Parts().Ledger.List(t.Context(), ledger.Query{Kind: "token_created", Limit: 1})
	require.NoError(t, err)
	p := h.signIn("reader").get("/log/" + list[0].ID)
	require.Equal(t, 200, p.StatusCode)
	require.Contains(t, p.body, "It is about no call.")
}
