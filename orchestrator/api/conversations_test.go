package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/api"
	"github.com/vedette-dev/vedette/sentinel"
)

func says(words, reply string) map[string]any {
	return map[string]any{"when": map[string]any{"last_user_contains": words}, "reply": map[string]any{"content": reply}}
}

type state struct {
	Request string `json:"request_id"`
	State   string
	Reply   *struct{ Text string }
}

// A message is answered with 200, or with 202 once it is written down, and can be asked for again.
func TestMessages(t *testing.T) {
	h := open(t, changes{rules: []map[string]any{
		says("hello", "Good day."), {"when": map[string]any{"last_user_contains": "wait for ever"}, "reply": map[string]any{"hang": true}},
	}})
	var made struct{ ID, User string }
	h.must("ann", "POST", "/v1/conversations", nil, &made)
	require.Equal(t, "ann", made.User)
	base := "/v1/conversations/" + made.ID
	require.Equal(t, "not_found", h.do("ann", "GET", base, nil).code(), "it is kept from its first message on")
	var got state
	h.must("ann", "POST", base+"/messages", map[string]any{"text": "hello CANARY-text", "request_id": "r1"}, &got)
	require.Equal(t, "answered", got.State)
	require.Equal(t, "Good day.", got.Reply.Text)
	require.Len(t, h.model.Requests(), 1)
	h.must("ann", "POST", base+"/messages", map[string]any{"text": "hello CANARY-text", "request_id": "r1"}, &got)
	require.Len(t, h.model.Requests(), 1, "it is not worked on again")
	require.Equal(t, "conflict", h.do("ann", "POST", base+"/messages", map[string]any{"text": "something else", "request_id": "r1"}).code())

	later := h.must("ann", "POST", base+"/messages", map[string]any{"text": "wait for ever", "request_id": "r2", "wait_seconds": 0}, &got)
	require.Equal(t, 202, later.StatusCode)
	require.Equal(t, "begun", got.State)
	require.Equal(t, base+"/requests/r2", later.Header.Get("Location"))
	h.must("ann", "GET", base+"/requests/r2", nil, &got)
	require.Equal(t, "begun", got.State)
	require.Equal(t, 204, h.must("ann", "POST", base+"/requests/r2/cancel", nil, nil).StatusCode)
	require.Equal(t, "conflict", h.do("ann", "GET", base+"/requests/r2?wait_seconds=5", nil).code())
	require.Equal(t, "not_found", h.do("ann", "GET", base+"/requests/r9", nil).code())

	var list struct{ Data []struct{ Role, Text string } }
	h.must("ann", "GET", base+"/messages", nil, &list)
	require.Len(t, list.Data, 4)
	require.Equal(t, "hello CANARY-text", list.Data[0].Text)
	var all struct{ Data []struct{ ID string } }
	h.must("ann", "GET", "/v1/conversations", nil, &all)
	require.Len(t, all.Data, 1)
	require.NotContains(t, h.log.String(), "CANARY")

	var gone struct{ Values, Conversations int }
	h.must("ann", "DELETE", base, nil, &gone)
	require.Equal(t, 1, gone.Conversations)
	require.Positive(t, gone.Values)
	require.Equal(t, "not_found", h.do("ann", "GET", base+"/messages", nil).code())
	require.Equal(t, "not_found", h.do("ann", "DELETE", base, nil).code())
}

// What two users call by one name are two conversations. Neither user's answers tell of the other, and what
// a user calls by a name is listed, shown and erased under it.
func TestNamesAreTheUsers(t *testing.T) {
	h := open(t, changes{rules: []map[string]any{says("hello", "Good day.")}})
	said := func(who, path, text string) {
		t.Helper()
		var got struct {
			Conversation string
			state
		}
		sent := h.must(who, "POST", path+"/messages", map[string]any{"text": text, "request_id": "r1", "wait_seconds": 60}, &got,
			"Idempotency-Key", "k-"+who)
		require.Equal(t, "/v1/conversations/"+got.Conversation+"/requests/r1", sent.Header.Get("Location"))
		require.Equal(t, path, "/v1/conversations/"+got.Conversation)
	}
	said("ann", "/v1/conversations/c1", "hello of ann")
	said("bob", "/v1/conversations/c1", "hello of bob")
	for who, other := range map[string]string{"ann": "bob", "bob": "ann"} {
		var page struct {
			Data []struct{ ID, User, Text string }
		}
		require.NotContains(t, string(h.must(who, "GET", "/v1/conversations/c1/messages", nil, &page).body), "of "+other)
		require.Equal(t, "hello of "+who, page.Data[0].Text)
		h.must(who, "GET", "/v1/conversations", nil, &page)
		require.Len(t, page.Data, 1)
		require.Equal(t, "c1", page.Data[0].ID)
		lines, leave := h.follow(who, "/v1/conversations/c1/events")
		require.Contains(t, awaitLine(t, lines, "data: "), `"conversation":"c1"`)
		leave()
	}
	taken, err := h.o.Conversations(t.Context(), orchestrator.ConversationQuery{User: "bob"})
	require.NoError(t, err)
	kept := taken.Conversations[0].ID
	require.Regexp(t, `^c1\.u[0-9a-f]{24}$`, kept)
	h.must("bob", "GET", "/v1/conversations/"+kept, nil, nil)
	require.Equal(t, "not_found", h.do("ann", "GET", "/v1/conversations/"+kept, nil).code(), "another user's id is none of ann's names")
	var gone struct{ Conversations int }
	h.must("ann", "DELETE", "/v1/conversations/c1", nil, &gone)
	require.Equal(t, 1, gone.Conversations)
	require.Equal(t, "not_found", h.do("ann", "GET", "/v1/conversations/c1", nil).code())
	require.Equal(t, "gone", h.do("ann", "POST", "/v1/conversations/c1/messages", map[string]any{"text": "hello of ann", "request_id": "r1",
		"wait_seconds": 60}, "Idempotency-Key", "k-ann").code(), "what was kept under a key went with it")
	h.must("bob", "GET", "/v1/conversations/c1", nil, nil)
}

// A conversation that the program or the pages began is reached by its id, and the user's own name for another
// doesn't hide it.
func TestIDsOfOtherDoors(t *testing.T) {
	h := open(t, changes{rules: []map[string]any{says("hello", "Good day.")}})
	for user, id := range map[string]string{"ann": "c7", "bob": "c8"} {
		c, err := h.o.Open(t.Context(), orchestrator.ConversationOptions{ID: id, User: user})
		require.NoError(t, err)
		_, err = c.Send(t.Context(), "hello")
		require.NoError(t, err)
	}
	var info struct{ ID, User string }
	h.must("ann", "GET", "/v1/conversations/c7", nil, &info)
	require.Equal(t, "c7", info.ID)
	require.Equal(t, "not_found", h.do("ann", "GET", "/v1/conversations/c8", nil).code())
	h.must("ann", "POST", "/v1/conversations/c8/messages", map[string]any{"text": "hello"}, nil)
	h.must("ann", "GET", "/v1/conversations/c8", nil, &info)
	require.Equal(t, "ann", info.User)
	made := sentinel.NewID()
	h.must("ann", "POST", "/v1/conversations/"+made+"/messages", map[string]any{"text": "hello"}, nil)
	_, err := h.o.Conversation(t.Context(), "ann", made)
	require.NoError(t, err, "what has the form of an id made here is kept under it")
}

// Another user's conversation is not there, whatever is asked of it; naming another user needs act_as.
func TestOthersConversationsAreNotThere(t *testing.T) {
	h := open(t, changes{rules: []map[string]any{says("hello", "Good day.")}})
	h.must("ann", "POST", "/v1/conversations/c1/messages", map[string]any{"text": "hello"}, nil)
	text := map[string]any{"text": "hello"}
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/v1/conversations/c1", nil}, {"GET", "/v1/conversations/c1/messages", nil},
		{"DELETE", "/v1/conversations/c1", nil}, {"GET", "/v1/conversations/c1/requests/r1", nil},
		{"POST", "/v1/conversations/c1/requests/r1/cancel", nil},
	} {
		others := h.do("bob", c.method, c.path, c.body)
		require.Equal(t, "not_found", others.code(), "%s %s: %s", c.method, c.path, others.body)
	}
	require.Equal(t, "scope_missing", h.do("bob", "GET", "/v1/conversations?user=ann", nil).code())
	require.Equal(t, "scope_missing", h.do("bob", "GET", "/v1/conversations/c1?user=ann", nil).code())
	require.Equal(t, "invalid", h.do("gateway", "GET", "/v1/conversations", nil).code(), "it has to name a user")
	require.Equal(t, "invalid", h.do("gateway", "GET", "/v1/conversations?user=token:ann", nil).code())
	h.must("gateway", "GET", "/v1/conversations/c1?user=ann", nil, nil)
	require.Equal(t, "forbidden", h.do("check", "POST", "/v1/conversations/c2/messages", text).codeOr("scope_missing", "forbidden"))
	require.Equal(t, "invalid", h.do("narrow", "POST", "/v1/conversations/c3/messages", map[string]any{"text": "hello",
		"skills": []string{"mail.send"}}).code())
}

// codeOr returns the second where the code is the first.
func (a answer) codeOr(one, other string) string {
	if a.code() == one {
		return other
	}
	return a.code()
}

type told struct {
	ID    int64
	Kind  string
	Text  string
	Reply *struct{ Text string }
}

// Events come as they happen, and a reader that comes back goes on where it was.
func TestEventsResume(t *testing.T) {
	h := open(t, changes{rules: []map[string]any{says("hello", "Good day to you all."), says("bye", "So long.")}})
	lines, leave := h.follow("ann", "/v1/conversations/c1/events")
	h.must("ann", "POST", "/v1/conversations/c1/messages", map[string]any{"text": "hello"}, nil)
	read := func(lines <-chan string) (text string, last told) {
		for {
			last = told{}
			require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(awaitLine(t, lines, "data: "), "data: ")), &last))
			text += last.Text
			if last.Kind == "reply" {
				return text, last
			}
		}
	}
	text, last := read(lines)
	require.Equal(t, "Good day to you all.", text)
	require.Equal(t, text, last.Reply.Text)
	leave()
	h.must("ann", "POST", "/v1/conversations/c1/messages", map[string]any{"text": "bye"}, nil)
	lines, leave = h.follow("ann", "/v1/conversations/c1/events", "Last-Event-ID", fmt.Sprint(last.ID))
	text, again := read(lines)
	leave()
	require.Contains(t, again.Reply.Text, "So long.")
	require.Contains(t, []string{"So long.", ""}, text, "what an earlier text said is not told again")
	require.Greater(t, again.ID, last.ID)
	for _, bad := range []string{"x", "-1", "1.5", strings.Repeat("9", 20)} {
		require.Equal(t, "bad_request", h.do("ann", "GET", "/v1/conversations/c1/events", nil, "Last-Event-ID", bad).code(), bad)
	}
}

// An idle stream has comments, there are as many streams as may be, and closing the API ends them.
func TestStreamsAreBounded(t *testing.T) {
	h := open(t, changes{api: api.Options{Beat: 5 * time.Millisecond, Streams: 1}})
	lines, leave := h.follow("ann", "/v1/conversations/c1/events")
	defer leave()
	awaitLine(t, lines, "retry: ")
	awaitLine(t, lines, ": open")
	full := h.do("ann", "GET", "/v1/conversations/c1/events", nil)
	require.Equal(t, "overloaded", full.code())
	require.Equal(t, "10", full.Header.Get("Retry-After"))
	h.api.Close()
	for range lines { // it ends
	}
}

// One principal's streams leave room for those of others, and a place comes back with the end of its stream.
func TestOnePrincipalsStreams(t *testing.T) {
	h := open(t, changes{api: api.Options{Beat: 5 * time.Millisecond, Streams: 4}})
	first, leave := h.follow("ann", "/v1/approvals/events")
	awaitLine(t, first, "event: gap")
	second, leaveSecond := h.follow("ann", "/v1/approvals/events")
	defer leaveSecond()
	awaitLine(t, second, "event: gap")
	require.Equal(t, "overloaded", h.do("ann", "GET", "/v1/approvals/events", nil).code())
	others, leaveOthers := h.follow("bob", "/v1/approvals/events")
	defer leaveOthers()
	awaitLine(t, others, "event: gap")
	leave()
	require.Eventually(t, func() bool {
		status, _ := h.tryOperation("ann", "GET", "/v1/approvals/events")
		return status == 200
	}, eventually, tick)
}
