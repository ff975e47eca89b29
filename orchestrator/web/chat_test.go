package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// approve is the form of a yes.
var approve = url.Values{"do": {"approve"}}

// mailRules play a conversation in which an agent mails, after a person said yes.
func mailRules() []map[string]any {
	call := func(name string, args map[string]any) map[string]any {
		return map[string]any{"tool_calls": []any{map[string]any{"name": name, "arguments": args}}}
	}
	return []map[string]any{
		{"when": map[string]any{"has_tool": "dispatch_agent", "tool_results": 0}, "reply": call("dispatch_agent",
			map[string]any{"agent_id": "mailer", "mission": "mail the report to john@example.com", "skills": []string{"mail.send"}})},
		{"when": map[string]any{"has_tool": "dispatch_agent", "tool_results": 1}, "reply": call("get_agent_results",
			map[string]any{"mode": "wait_all", "timeout_seconds": 60})},
		{"when": map[string]any{"has_tool": "dispatch_agent", "min_tool_results": 2}, "reply": map[string]any{"content": "The mail has left."}},
		{"when": map[string]any{"has_tool": "use_skill", "tool_results": 0}, "reply": call("use_skill",
			map[string]any{"skill": "mail.send", "arguments": map[string]any{"to": "john@example.com", "text": "the report"}})},
		{"when": map[string]any{"has_tool": "use_skill", "min_tool_results": 1}, "reply": map[string]any{"content": "Sent."}},
	}
}

func (h *house) listPending() []approval.Item {
	h.t.Helper()
	list, err := h.o.Parts().Inbox.List(context.Background(), approval.Filter{})
	require.NoError(h.t, err)
	return list
}

// What a person sends is worked on without the browser, once, and its events and its answer are shown.
func TestChat(t *testing.T) {
	h := open(t, changes{rules: mailRules()})
	b := h.signIn("ann")
	page := b.get("/chat")
	form := url.Values{"csrf": {page.field("csrf")}, "request": {page.field("request")}, "text": {"mail john@example.com the report <b>"}}
	sent := b.post("/chat/c1", form)
	require.Equal(t, 200, sent.StatusCode, sent.text())
	require.Contains(t, sent.body, "mail john@example.com the report &lt;b&gt;")
	require.Equal(t, 200, b.post("/chat/c1", form).StatusCode, "the same form again is the same request")
	require.Eventually(t, func() bool { return len(h.listPending()) == 1 }, eventually, tick)
	events := make(chan shown, 1)
	go func() { events <- b.get("/chat/c1/events", "Accept", "text/event-stream") }()
	h.signIn("bob").answer(h.listPending()[0].ID, approve)
	require.Eventually(t, func() bool { return strings.Contains(b.get("/chat/c1").text(), "The mail has left.") }, eventually, tick)
	require.Equal(t, "mail.send john@example.com the report\n", h.ran.String())
	require.Contains(t, b.get("/chat").text(), "c1")
	require.Contains(t, b.get("/chat/c1/messages", "HX-Request", "true").body, `id="turns"`)
	b.post("/logout", url.Values{"csrf": {page.field("csrf")}})
	stream := <-events // the session's end is the stream's
	for _, want := range []string{`"kind":"agent"`, `"kind":"approval"`, `"kind":"outcome"`, `"kind":"reply"`} {
		require.Contains(t, stream.body, want)
	}
	require.NotContains(t, stream.body, "the report", "events hold no arguments")
}

// A conversation is its user's, and what can't be sent is refused with a reason.
func TestChatIsTheUsers(t *testing.T) {
	h := open(t, changes{})
	ann, bob := h.signIn("ann"), h.signIn("bob")
	page := ann.get("/chat")
	form := func(text, request string) url.Values {
		return url.Values{"csrf": {page.field("csrf")}, "request": {request}, "text": {text}}
	}
	require.Equal(t, 200, ann.post("/chat/c1", form("CANARY", "r1")).StatusCode)
	for _, path := range []string{"/chat/c1", "/chat/c1/messages", "/chat/c1/events"} {
		p := bob.get(path)
		require.Equal(t, 404, p.StatusCode, path)
		require.NotContains(t, p.body, "CANARY")
	}
	conv, err := h.o.Open(t.Context(), orchestrator.ConversationOptions{ID: "c1", User: "ann"})
	require.NoError(t, err)
	_, err = conv.Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, 422, ann.post("/chat/c1", form("", "r2")).StatusCode)
	require.Equal(t, 422, ann.post("/chat/c1", form(strings.Repeat("x", 70_000), "r3")).StatusCode)
	require.Equal(t, 422, ann.post("/chat/c1", form("another text", "r1")).StatusCode)
	require.Equal(t, 422, ann.post("/chat/c1", form("x", "../r")).StatusCode)
	require.Equal(t, 403, ann.post("/chat/c1", url.Values{"request": {"r4"}, "text": {"x"}}).StatusCode)
}
