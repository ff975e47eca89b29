package proxy_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/proxy"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

// careful is an answer whose call the rules ask about.
func careful(more string) string {
	return textChunk("I look. ") + callChunk(0, "call_1", "Bash", `{"command":"careful`+more+`"}`) + chunk("{}", "tool_calls") + doneChunk
}

// asked waits for so many questions, and returns them.
func (h *house) asked(n int) (list []approval.Item) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		var err error
		list, err = h.o.Parts().Inbox.List(context.Background(), approval.Filter{Limit: 100})
		return err == nil && len(list) >= n
	}, eventually, tick, "%s", h.log)
	require.Len(h.t, list, n)
	return list
}

// answer answers a question in bob's name.
func (h *house) answer(id string, word approval.Word) {
	h.t.Helper()
	_, err := h.o.Parts().Inbox.Answer(context.Background(), approval.Answer{Approval: id, Word: word, By: "bob", Via: "test"})
	require.NoError(h.t, err)
}

// follow sends a request and returns the lines of its answer as they come. rest reads what is left.
func (h *house) follow(path, body string) (lines *bufio.Scanner, end func()) {
	h.t.Helper()
	res := h.send(path, body)
	require.Equal(h.t, 200, res.StatusCode)
	return bufio.NewScanner(res.Body), func() { _ = res.Body.Close() }
}

// readUntil reads lines until one holds a text, and returns all that was read.
func readUntil(t *testing.T, lines *bufio.Scanner, text string) string {
	t.Helper()
	var all strings.Builder
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), text) {
			return all.String()
		}
	}
	require.FailNow(t, "the answer ended", "before %q: %s", text, all.String())
	return ""
}

// A call that a person is asked about holds its stream, with something sent now and then, and leaves after the yes.
func TestHeldAndApproved(t *testing.T) {
	h := openWith(t, proxy.Options{Hold: eventually, KeepAlive: tick})
	h.up.streams(careful(""))
	lines, end := h.follow(chatPath, ask(true, ""))
	defer end()
	readUntil(t, lines, "I look.")
	id := h.asked(1)[0].ID
	for range 3 { // chunks with an empty delta
		require.NotContains(t, readUntil(t, lines, `"delta":{}`), "call_1")
	}
	h.answer(id, approval.Yes)
	require.Contains(t, readUntil(t, lines, "[DONE]"), `"id":"call_1"`)
	require.Equal(t, sentinel.StatusForwarded, h.awaitRecords(sentinel.RecordOutcome, 1)[0].Outcome)
	d := h.records(sentinel.RecordDecision)[0]
	require.Equal(t, []string{"allow", id}, []string{d.Outcome, d.Decision})
}

// A no is told in the stream that is held, and so is a time that is over, with the approval's name.
func TestHeldAndNotApproved(t *testing.T) {
	h := openWith(t, proxy.Options{Hold: eventually, KeepAlive: tick})
	h.up.streams(careful(""))
	lines, end := h.follow(chatPath, ask(true, ""))
	defer end()
	h.answer(h.asked(1)[0].ID, approval.No)
	require.NotContains(t, readUntil(t, lines, "[DONE]"), "call_1")

	h = openWith(t, proxy.Options{Hold: tick, KeepAlive: tick})
	h.up.streams(careful(""))
	a := h.post(chatPath, ask(true, ""))
	id := h.asked(1)[0].ID
	require.Contains(t, a.body, "a person is asked; once that is approved, the same call passes once: https://vedette.example/approvals/"+id)
	require.NotContains(t, a.body, "call_1")
	require.Empty(t, h.records(sentinel.RecordDecision), "the question stays open")
}

// After the yes the identical call passes once, in whatever answer it comes; another call, key or conversation doesn't.
func TestApprovedCallPassesOnce(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		h := openWith(t, proxy.Options{Hold: tick, KeepAlive: tick})
		send := func(command string, headers ...string) string {
			h.t.Helper()
			if streamed {
				h.up.streams(careful(command))
			} else {
				h.up.replies(200, whole("", [3]string{"call_1", "Bash", `{ "command" : "careful` + command + `" }`}))
			}
			words := strings.Replace(ask(streamed, ""), "list the files", "try again, "+sentinel.NewID(), 1)
			return h.post(chatPath, words, headers...).body
		}
		require.NotContains(t, send(""), "call_1")
		id := h.asked(1)[0].ID
		require.Contains(t, send(""), id, "the same question goes on")
		h.asked(1)
		h.answer(id, approval.Yes)
		require.NotContains(t, send(" other"), "call_1")
		require.NotContains(t, send("", "X-Vedette-Conversation", "c2"), "call_1")
		h.key("second", nil)
		require.NotContains(t, send("", "Authorization", "Bearer "+h.tokens["second"]), "call_1")
		require.Eventually(t, func() bool { return strings.Contains(send(""), "call_1") }, eventually, tick,
			"the yes has its effect soon behind the answer")
		require.NotContains(t, send(""), "call_1", "it passes once")
		h.asked(4) // one of each that did not pass
	}
}

// A person's yes outlives the process, and ends with the approval's time. The rules are asked again.
func TestApprovalOverRestartAndTime(t *testing.T) {
	h := openWith(t, proxy.Options{Hold: tick, KeepAlive: tick})
	h.up.streams(careful(""))
	h.post(chatPath, ask(true, ""))
	id := h.asked(1)[0].ID
	h.stop()
	h.start()
	h.answer(id, approval.Yes)
	require.Contains(t, h.post(chatPath, ask(true, "")).body, "call_1")

	require.NotContains(t, h.post(chatPath, ask(true, "")).body, "call_1")
	h.answer(h.asked(1)[0].ID, approval.Yes)
	_, err := h.o.Parts().Pauses.Pause(t.Context(), pause.Target{All: true}, "test")
	require.NoError(t, err)
	require.NotContains(t, h.post(chatPath, ask(true, "")).body, "call_1", "a pause began meanwhile")
}

// Rules of who may approve find a tool by its name while its call waits, also where the ledger doesn't hold the name.
func TestWhoApprovesAToolThatAPatternNames(t *testing.T) {
	h := openWith(t, proxy.Options{Hold: eventually, KeepAlive: tick},
		"approvals: {inbox: true, timeout: 10m}", `approvals: {inbox: true, timeout: 10m, who: [{skill: "tool.*", approvers: [carol]}]}`,
		"permissions:\n", "permissions:\n  - {skill: \"tool.*\", then: ask, reason: \"all needs a person\"}\n")
	const tool = "mcp__git__push"
	h.up.streams(callChunk(0, "call_1", tool, `{"command":"origin"}`) + chunk("{}", "tool_calls") + doneChunk)
	lines, end := h.follow(chatPath, strings.ReplaceAll(ask(true, ""), `"Bash"`, quote(tool)))
	defer end()
	item := h.asked(1)[0]
	require.Empty(t, item.Skill)
	inbox := h.o.Parts().Inbox
	require.False(t, inbox.May("bob", item))
	_, err := inbox.Answer(t.Context(), approval.Answer{Approval: item.ID, Word: approval.Yes, By: "bob", Via: "test"})
	var no *approval.NotAllowedError
	require.ErrorAs(t, err, &no)
	_, err = inbox.Answer(t.Context(), approval.Answer{Approval: item.ID, Word: approval.Yes, By: "carol", Via: "test"})
	require.NoError(t, err)
	require.Contains(t, readUntil(t, lines, "[DONE]"), "call_1")
}

// As many streams of a key are held as the configuration says; others are told at once.
func TestBoundOfHeldStreams(t *testing.T) {
	h := openWith(t, proxy.Options{Hold: eventually, KeepAlive: tick}, "proxy:\n", "proxy:\n  limits: {held: 1}\n")
	h.up.streams(careful(""))
	lines, end := h.follow(chatPath, ask(true, ""))
	defer end()
	id := h.asked(1)[0].ID
	require.Eventually(t, func() bool { return h.door.Held() == 1 }, eventually, tick)
	h.up.streams(careful(" other"))
	require.Contains(t, h.post(chatPath, ask(true, "")).body, "a person is asked")
	h.answer(id, approval.Yes)
	require.Contains(t, readUntil(t, lines, "[DONE]"), "call_1")
}

// A client that leaves while a person is asked leaves the question, and its answer is the next request's.
func TestClientLeavesWhileHeld(t *testing.T) {
	h := openWith(t, proxy.Options{Hold: eventually, KeepAlive: tick})
	h.up.streams(careful(""))
	lines, end := h.follow(chatPath, ask(true, ""))
	readUntil(t, lines, "I look.")
	id := h.asked(1)[0].ID
	end()
	h.answer(id, approval.Yes)
	lines, end = h.follow(chatPath, ask(true, ""))
	defer end()
	require.Contains(t, readUntil(t, lines, "[DONE]"), "call_1")
}

// n calls are judged beside each other: the time of one is the time of all.
func TestCallsAreJudgedTogether(t *testing.T) {
	h := open(t, withReview...)
	const n = 4
	var waiting sync.WaitGroup
	waiting.Add(n)
	calls := make([][3]string, n)
	for i := range calls {
		calls[i] = [3]string{"call_" + string(rune('a'+i)), "Bash", `{"command":"` + string(rune('a'+i)) + `"}`}
	}
	h.up.says(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasPrefix(r.URL.Path, "/judge/") {
			_, _ = io.WriteString(w, whole("", calls...))
			return
		}
		waiting.Done()
		waiting.Wait() // until all of them are under review
		_, _ = io.WriteString(w, whole(`{"decision":"approve","reason":"fits"}`))
	})
	a := h.post(chatPath, ask(false, ""))
	for _, c := range calls {
		require.Contains(t, a.body, c[0])
	}
	require.Len(t, strings.Split(a.header.Get("X-Vedette-Decisions"), ", "), n)
}
