package proxy_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/proxy"
	"github.com/vedette-dev/vedette/orchestrator/proxy/report"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// In shadow mode every byte goes through as it came, and what enforcing would have done is on record. No person is asked.
func TestShadow(t *testing.T) {
	h := open(t, "proxy:\n", "proxy:\n  mode: shadow\n")
	answers := map[string]string{
		"allow": textChunk("I look.") + callChunk(0, "call_1", "Bash", `{"command":"ls"}`) + chunk("{}", "tool_calls") + doneChunk,
		"deny":  textChunk("I look.") + callChunk(0, "call_2", "Bash", `{"command":"forbidden x"}`) + chunk("{}", "tool_calls") + doneChunk,
		"ask":   careful(""),
	}
	n := 0
	for _, outcome := range []string{"allow", "deny", "ask"} {
		n++
		h.up.streams(answers[outcome])
		a := h.post(chatPath, ask(true, ""))
		require.Equal(t, answers[outcome], a.body)
		r := h.awaitRecords(sentinel.RecordShadow, n)[0]
		require.Equal(t, []string{outcome, "tool.b-uash"}, []string{r.Outcome, r.Skill})
		require.Equal(t, sentinel.StatusForwarded, h.awaitRecords(sentinel.RecordOutcome, n)[0].Outcome)
	}
	bad := callChunk(0, "call_3", "Bash", `{"command":1,"command":2}`) + chunk("{}", "tool_calls") + doneChunk
	h.up.streams(bad)
	require.Equal(t, bad, h.post(chatPath, ask(true, "")).body)
	require.Equal(t, "stream.arguments", h.awaitRecords(sentinel.RecordRefused, 1)[0].Code)
	h.up.replies(201, whole("", [3]string{"call_4", "Bash", `{"command":"forbidden y"}`})+"\n")
	a := h.post(chatPath, ask(false, ""))
	require.Equal(t, []any{201, whole("", [3]string{"call_4", "Bash", `{"command":"forbidden y"}`}) + "\n"}, []any{a.status, a.body})
	h.awaitRecords(sentinel.RecordShadow, 4)
	require.Empty(t, h.records(sentinel.RecordDecision))
	list, err := h.o.Parts().Inbox.List(context.Background(), approval.Filter{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, list)

	result := `,{"role":"assistant","tool_calls":[{"id":"call_2","type":"function",` +
		`"function":{"name":"Bash","arguments":"{\"command\":\"forbidden x\"}"}}]},` +
		`{"role":"tool","tool_call_id":"call_2","content":"done"}`
	h.awaitRecords(sentinel.RecordOutcome, 4)
	h.up.streams(answers["allow"])
	h.post(chatPath, strings.Replace(ask(true, ""), `"list the files"}]`, `"list the files"}`+result+`]`, 1))
	ok := 0
	for _, r := range h.awaitRecords(sentinel.RecordOutcome, 6) {
		if r.Outcome == sentinel.StatusOK {
			ok++
		}
	}
	require.Equal(t, 1, ok, "a result closes a call that was watched too")
	tainted := h.records(sentinel.RecordShadow)[0]
	require.Contains(t, string(tainted.Body), `"tainted":true`)
}

// After a while of watching the report says what enforcing would have stopped, by tool and reason, and which lines of the
// configuration may be missing.
func TestReport(t *testing.T) {
	h := open(t, "proxy:\n", "proxy:\n  mode: shadow\n")
	call := func(tool, args string) {
		h.up.replies(200, whole("", [3]string{"call_1", tool, args}))
		h.post(chatPath, strings.Replace(ask(false, ""), "["+bash+"]", "["+bash+","+strings.ReplaceAll(bash, "Bash", tool)+"]", 1))
	}
	for range 3 {
		call("Bash", `{"command":"ls"}`)
	}
	call("Bash", `{"command":"forbidden x"}`)
	for range 5 {
		call("Bash", `{"command":"careful"}`)
	}
	call("mcp__shop__listOrders", `{"command":"x"}`)
	call("CANARY\u202e[31m", `{"more":"x"}`)
	h.awaitRecords(sentinel.RecordShadow, 11)
	h.stop()
	src := records.Source{Database: filepath.Join(filepath.Dir(h.file), "v.db"), Keys: filepath.Join(filepath.Dir(h.file), "vedette-keys")}
	r, err := report.Read(t.Context(), src, report.Options{Since: h.clock().Add(-time.Hour)})
	require.NoError(t, err)
	require.Equal(t, []int{11, 4, 5, 2}, []int{r.Calls, r.Allowed, r.Asked, r.Denied})
	require.Equal(t, report.Tool{Name: "Bash", Skill: "tool.b-uash", Effect: "modify", Named: true, Calls: 9, Stops: 6}, r.Tools[0])
	require.Equal(t, []string{"ask", "permission.ask"}, []string{r.Stops[0].Outcome, r.Stops[0].Code})
	require.Len(t, r.Stops[0].Examples, 3)
	var lines []string
	for _, s := range r.Suggestions {
		lines = append(lines, s.Key+": "+s.Line)
	}
	require.Contains(t, lines, `proxy.tools: - {tool: "mcp__shop__listOrders", effect: read, reaches: self}`)
	var out strings.Builder
	require.NoError(t, r.WriteText(&out, false))
	require.Contains(t, out.String(), "enforcing would have let 4 (36.4%) through, asked a person 5 (45.5%), and stopped 2 (18.2%)")
	require.NotContains(t, out.String(), "\u202e", "names of tools are a client's")
	none, err := report.Read(t.Context(), src, report.Options{Since: h.clock().Add(time.Hour)})
	require.NoError(t, err)
	require.Zero(t, none.Calls)
	_, err = report.Read(t.Context(), records.Source{Database: src.Database, Keys: t.TempDir()}, report.Options{})
	require.ErrorContains(t, err, "there is no journal.key")
	h.start() // for the cleanup
}

// Callers on this machine need no token where the configuration says so, and their provider's own key goes through.
func TestLocalCallers(t *testing.T) {
	h := open(t, "proxy:\n", "proxy:\n  local: true\n", ", api_key: upstream-secret", "")
	h.up.replies(200, whole("", [3]string{"call_1", "Bash", `{"command":"ls"}`}))
	a := h.post(chatPath, ask(false, ""), "Authorization", "Bearer sk-own")
	require.Contains(t, a.body, "call_1")
	require.Equal(t, "Bearer sk-own", h.up.last().header.Get("Authorization"))
	d := h.records(sentinel.RecordDecision)[0]
	require.Equal(t, "ann", d.User)
	require.NotContains(t, string(d.Body), "sk-own")
	require.Contains(t, string(d.Body), `"remote":"local:proxy-`)

	h.up.streams(toolUse("I look.", [3]string{"call_1", "Bash", `{"command":"ls"}`}))
	a = h.post(messagesPath, askMessages(true, ""), "Authorization", "", "X-Api-Key", "sk-ant-own")
	require.Contains(t, a.body, "call_1")
	require.Equal(t, []string{"sk-ant-own", ""}, []string{h.up.last().header.Get("X-Api-Key"), h.up.last().header.Get("Authorization")})
	require.Len(t, listConversations(h.records(sentinel.RecordDecision)), 2, "each provider's key is a caller")

	// A token of Vedette's has its own header beside the provider's key, and none of Vedette's leaves.
	a = h.post(messagesPath, askMessages(true, ""), "Authorization", "Bearer oauth", "X-Vedette-Key", h.key("key", nil))
	require.Contains(t, a.body, "call_1")
	last := h.up.last().header
	require.Equal(t, []string{"Bearer oauth", ""}, []string{last.Get("Authorization"), last.Get("X-Vedette-Key")})
	require.Equal(t, 200, h.post(messagesPath, askMessages(true, ""), "Authorization", "", "X-Api-Key", h.key("key", nil)).status)
	last = h.up.last().header
	require.Empty(t, last.Get("X-Api-Key")+last.Get("Authorization"))
	require.Equal(t, 401, h.post(chatPath, ask(false, ""), "X-Vedette-Key", "vdt_wrong").status)
	require.Equal(t, 403, h.post(chatPath, ask(false, ""), "Origin", "https://evil.example").status, "a page of another site can't call")
}

// Where the client's own key would go to an upstream without one, a key of Vedette's doesn't go in its place.
func TestNoKeyOfVedettesLeaves(t *testing.T) {
	h := open(t, ", api_key: upstream-secret", "")
	h.up.replies(200, whole("text"))
	for _, headers := range [][]string{{}, {"Authorization", "", "X-Api-Key", h.key("key", nil)}} {
		require.Equal(t, 200, h.post(chatPath, ask(false, ""), headers...).status)
		last := h.up.last().header
		require.Empty(t, last.Get("X-Api-Key")+last.Get("Authorization"))
	}
	h.post(chatPath, ask(false, ""), "X-Vedette-Key", h.key("key", nil), "Authorization", "Bearer sk-own")
	require.Equal(t, "Bearer sk-own", h.up.last().header.Get("Authorization"))
}

// reload has the running process take up other text in its configuration.
func (h *house) reload(old, next string) error {
	h.t.Helper()
	raw, err := os.ReadFile(h.file)
	require.NoError(h.t, err)
	require.Contains(h.t, string(raw), old)
	require.NoError(h.t, os.WriteFile(h.file, []byte(strings.Replace(string(raw), old, next, 1)), 0o600))
	cfg, err := config.Load(h.file, config.Options{})
	require.NoError(h.t, err)
	_, err = h.o.Parts().Reload(context.Background(), cfg, "test")
	return err
}

// A rule that comes in force while the process runs holds for the next call, and for one that waits for a person.
// Watching becomes enforcing without a restart, and not the other way round.
func TestReload(t *testing.T) {
	h := openWith(t, proxy.Options{Hold: eventually, KeepAlive: tick}, "proxy:\n", "proxy:\n  mode: shadow\n")
	h.up.streams(careful(""))
	require.Contains(t, h.post(chatPath, ask(true, "")).body, "call_1")
	require.NoError(t, h.reload("mode: shadow", "mode: enforce"))
	lines, end := h.follow(chatPath, ask(true, ""))
	defer end()
	id := h.asked(1)[0].ID
	require.NoError(t, h.reload("'careful')\", then: ask", "'careful')\", then: deny"))
	h.answer(id, approval.Yes)
	require.NotContains(t, readUntil(t, lines, "[DONE]"), "call_1")
	require.Error(t, h.reload("mode: enforce", "mode: shadow"))
	require.NotContains(t, h.post(chatPath, ask(true, "")).body, "call_1")
}

// What is told of an answer when it is over.
func TestEvents(t *testing.T) {
	h := open(t)
	h.up.streams(callChunk(0, "call_1", "Bash", `{"command":"ls"}`) + callChunk(1, "call_2", "Bash", `{"command":"forbidden x"}`) +
		chunk("{}", "tool_calls") + doneChunk)
	h.post(chatPath, ask(true, ""))
	h.up.replies(500, `{"error":{"message":"no"}}`)
	h.post(messagesPath, askMessages(false, ""))
	h.post(chatPath, `[]`)
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Len(t, h.events, 3)
	one := h.events[0]
	require.Equal(t, []any{"chat", true, "", 1, 1, 0}, []any{one.Format, one.Stream, one.Failure, one.Forwarded, one.Blocked, one.Refused})
	require.Equal(t, []string{"messages", "upstream_5xx"}, []string{h.events[1].Format, h.events[1].Failure})
	require.Equal(t, "invalid_request", h.events[2].Failure)
}
