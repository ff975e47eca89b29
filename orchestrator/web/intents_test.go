package web_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// The pages of intents show a request's way through the stages as it goes on, and no value.
func TestIntentPages(t *testing.T) {
	h := open(t, changes{intent: `intent:
  isolation: goroutine
  actions:
    change: {words: [change], risk: low, skill: crm.update, arguments: {id: topic}, approve: true}
  policy: {actions: [change]}
`})
	pipe := h.o.Parts().Intake
	waits, err := pipe.Process(t.Context(), assembly.IntentRequest{User: "ann", Session: "s1", Text: "Change CANARYtopic"})
	require.NoError(t, err)
	require.EqualValues(t, "pending_approval", waits.Status)
	blocked, err := pipe.Process(t.Context(), assembly.IntentRequest{
		User: "<b>ann", Session: "s1", Text: "Change CANARY; rm -rf / --no-preserve-root",
	})
	require.NoError(t, err)
	require.Equal(t, 403, h.signIn("ann").get("/intents").StatusCode, "a token that reads no ledger")

	b := h.signIn("reader")
	list := b.get("/intents")
	require.Equal(t, 200, list.StatusCode)
	require.Contains(t, list.body, "/intents/"+waits.RequestID)
	require.Contains(t, list.body, "/intents/"+blocked.RequestID)
	require.NotContains(t, list.body, "<b>ann")
	only := b.get("/intents?show=blocked")
	require.Contains(t, only.body, "/intents/"+blocked.RequestID)
	require.NotContains(t, only.body, "/intents/"+waits.RequestID)

	p := b.get("/intents/" + blocked.RequestID)
	require.Contains(t, p.body, "command.rm_target")
	require.NotContains(t, p.body, "<strong>parsers</strong>", "nothing read it")
	require.NotContains(t, p.body, "hx-get", "nothing more comes")
	page := "/intents/" + waits.RequestID
	p = b.get(page)
	for _, stage := range []string{"detector", "parsers", "vote", "comparison", "approval"} {
		require.Contains(t, p.body, "<bdi>"+stage+"</bdi>")
	}
	require.Contains(t, p.body, page+"/way?seen=5")

	// What follows is shown once there is more.
	later := make(chan shown, 1)
	go func() { later <- b.get(page + "/way?seen=5") }()
	inbox := h.o.Parts().Inbox
	card, err := inbox.Show(t.Context(), waits.Approval)
	require.NoError(t, err)
	_, err = inbox.Answer(t.Context(), approval.Answer{
		Approval: waits.Approval, Word: approval.No, By: "bob", Via: "test", Digest: card.Digest,
	})
	require.NoError(t, err)
	more := <-later
	require.Equal(t, 200, more.StatusCode)
	require.Contains(t, more.body, "by bob, via test")
	require.NotContains(t, more.body, "seen=5")
	require.NotContains(t, list.body+p.body+more.body, "CANARY")
	require.Equal(t, 404, b.get("/intents/none").StatusCode)
	require.Equal(t, 404, b.get("/intents/none/way?seen=x").StatusCode)
}

// A blocked request is answered with a page that says so, and the conversation shows nothing of it.
func TestBlockedRequestIsShown(t *testing.T) {
	h := open(t, changes{intent: `intent:
  isolation: goroutine
  conversations: required
  actions:
    change: {words: [change], risk: low, grants: [crm.update]}
  policy: {actions: [change]}
`})
	b := h.signIn("ann")
	page := b.get("/chat/c1")
	sent := b.post("/chat/c1", url.Values{"csrf": {page.field("csrf")}, "request": {page.field("request")},
		"text": {"Change CANARY; rm -rf / --no-preserve-root"}})
	require.Equal(t, 403, sent.StatusCode)
	require.Contains(t, sent.text(), "The request was blocked")
	require.NotContains(t, sent.body, "CANARY")
	require.NotContains(t, b.get("/chat/c1").body, "CANARY")
}
