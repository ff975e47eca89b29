package api_test

import (
	"bufio"
	"context"
	"encoding/json"

	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Who answers is the token's principal, the call runs once, and a second answer is told who was first.
func TestAnswersAreThePrincipals(t *testing.T) {
	h := open(t, changes{})
	item, ended := h.ask("ann")
	var card approval.Card
	h.must("bob", "GET", "/v1/approvals/"+item.ID, nil, &card)
	require.Contains(t, string(card.Sheet.Args), "CANARY-to")
	path := "/v1/approvals/" + item.ID + "/answer"
	for name, c := range map[string]struct {
		who, code string
		body      any
	}{
		"a name in the body": {"bob", "invalid", map[string]any{"word": "yes", "digest": item.Digest, "by": "ann"}},
		"no digest":          {"bob", "invalid", map[string]any{"word": "yes"}},
		"another digest":     {"bob", "stale", map[string]any{"word": "yes", "digest": strings.Repeat("0", 64)}},
		"a short digest":     {"bob", "invalid", map[string]any{"word": "yes", "digest": item.Digest[:8]}},
		"another word":       {"bob", "invalid", map[string]any{"word": "maybe", "digest": item.Digest}},
		"no scope":           {"chat", "scope_missing", map[string]any{"word": "yes", "digest": item.Digest}},
	} {
		require.Equal(t, c.code, h.do(c.who, "POST", path, c.body).code(), name)
	}
	require.Empty(t, h.ran.String())
	yes := map[string]any{"word": "yes", "digest": item.Digest}
	var wg sync.WaitGroup
	codes := make(chan string, 8)
	for range cap(codes) {
		wg.Go(func() { codes <- h.do("bob", "POST", path, yes).code() })
	}
	wg.Wait()
	close(codes)
	counts := map[string]int{}
	for c := range codes {
		counts[c]++
	}
	require.Equal(t, map[string]int{"": 1, "already_decided": 7}, counts)
	require.NoError(t, <-ended)
	require.Equal(t, "mail.send CANARY-to\n", h.ran.String())
	h.must("ann", "GET", "/v1/approvals/"+item.ID, nil, &card)
	require.Equal(t, approval.StateConsumed, card.State)
	require.Equal(t, "bob", card.By)
	require.Equal(t, "api", card.Via)
	late := h.do("ann", "POST", path, map[string]any{"word": "no", "digest": item.Digest, "feedback": "too late"})
	require.Equal(t, "already_decided", late.code())
	require.Contains(t, string(late.body), "bob (api) said yes")
}

// Those who may not answer are shown no values, and the beginning of an id names nothing.
func TestSheetsAreForThoseWhoMayAnswer(t *testing.T) {
	h := open(t, changes{})
	item, _ := h.ask("carl")
	refused := h.do("ann", "GET", "/v1/approvals/"+item.ID, nil)
	require.Equal(t, "not_allowed", refused.code())
	require.NotContains(t, string(refused.body), "CANARY")
	require.Equal(t, "not_allowed", h.do("ann", "POST", "/v1/approvals/"+item.ID+"/answer", map[string]any{"word": "yes",
		"digest": item.Digest}).code())
	require.Equal(t, "not_found", h.do("bob", "GET", "/v1/approvals/"+item.ID[:13], nil).code())
	h.must("bob", "POST", "/v1/approvals/"+item.ID+"/answer", map[string]any{"word": "no", "digest": item.Digest, "feedback": "not today"},
		nil)
}

// Pages go on where the one before ended, and a cursor is for its list and principal alone.
func TestCursorsAreForTheirList(t *testing.T) {
	h := open(t, changes{})
	for range 5 {
		h.ask("ann")
	}
	type list struct {
		Data    []approval.Item
		HasMore bool   `json:"has_more"`
		Next    string `json:"next_cursor"`
	}
	seen := map[string]bool{}
	after, pages := "", 0
	for {
		var page list
		h.must("ann", "GET", "/v1/approvals?limit=2&after="+after, nil, &page)
		pages++
		for _, i := range page.Data {
			require.False(t, seen[i.ID])
			seen[i.ID] = true
		}
		if !page.HasMore {
			require.Empty(t, page.Next)
			break
		}
		after = page.Next
	}
	require.Len(t, seen, 5)
	require.Equal(t, 3, pages)
	var first list
	h.must("ann", "GET", "/v1/approvals?limit=2", nil, &first)
	for _, path := range []string{"/v1/approvals?user=ann&after=", "/v1/ledger/records?after=", "/v1/standing-approvals?after=",
		"/v1/conversations?after="} {
		require.Equal(t, "bad_request", h.do("ann", "GET", path+first.Next, nil).code(), path)
	}
	require.Equal(t, "bad_request", h.do("bob", "GET", "/v1/approvals?after="+first.Next, nil).code())
	changed := []byte(first.Next)
	changed[len(changed)-1] ^= 1
	require.Equal(t, "bad_request", h.do("ann", "GET", "/v1/approvals?after="+string(changed), nil).code())
}

// follow opens a stream and returns its lines until the test's end.
func (h *house) follow(who, path string, header ...string) (<-chan string, func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.server.URL+path, nil)
	require.NoError(h.t, err)
	r.Header.Set("Authorization", "Bearer "+h.tokens[who])
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := h.server.Client().Do(r)
	require.NoError(h.t, err)
	require.Equal(h.t, 200, res.StatusCode)
	require.Equal(h.t, "text/event-stream; charset=utf-8", res.Header.Get("Content-Type"))
	require.Equal(h.t, "no", res.Header.Get("X-Accel-Buffering"))
	lines, gone := make(chan string, 1000), make(chan struct{})
	go func() {
		defer close(gone)
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines, func() { cancel(); _ = res.Body.Close(); <-gone }
}

// awaitLine returns the next line that begins so.
func awaitLine(t *testing.T, lines <-chan string, begin string) string {
	t.Helper()
	for line := range lines {
		if strings.HasPrefix(line, begin) {
			return line
		}
	}
	require.Fail(t, "the stream ended before "+begin)
	return ""
}

// Changes of approvals are streamed, after a gap that says: list them.
func TestWatchApprovals(t *testing.T) {
	h := open(t, changes{})
	lines, leave := h.follow("bob", "/v1/approvals/events")
	defer leave()
	awaitLine(t, lines, "event: gap")
	item, ended := h.ask("ann")
	awaitLine(t, lines, "event: asked")
	require.Contains(t, awaitLine(t, lines, "data: "), item.ID)
	h.must("bob", "POST", "/v1/approvals/"+item.ID+"/answer", map[string]any{"word": "yes", "digest": item.Digest}, nil)
	awaitLine(t, lines, "event: answered")
	require.NoError(t, <-ended)
	awaitLine(t, lines, "event: ended")
	require.NotContains(t, awaitLine(t, lines, "data: "), "CANARY")
}

// A request under an Idempotency-Key is worked on once, also at the same time and over a restart.
func TestIdempotencyKeys(t *testing.T) {
	h := open(t, changes{})
	item, ended := h.ask("ann")
	path, body := "/v1/approvals/"+item.ID+"/answer", map[string]any{"word": "yes", "digest": item.Digest}
	first := h.must("bob", "POST", path, body, nil, "Idempotency-Key", "k1")
	require.Empty(t, first.Header.Get("Idempotency-Replayed"))
	require.NoError(t, <-ended)
	again := h.must("bob", "POST", path, body, nil, "Idempotency-Key", "k1")
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, string(first.body), string(again.body))
	require.Equal(t, "idempotency_key_reused", h.do("bob", "POST", path, map[string]any{"word": "no", "digest": item.Digest},
		"Idempotency-Key", "k1").code())
	require.Equal(t, "already_decided", h.do("ann", "POST", path, body, "Idempotency-Key", "k1").code(), "another principal's key")
	for _, bad := range []string{strings.Repeat("k", 256), "a b", "ä"} {
		require.Equal(t, "bad_request", h.do("bob", "POST", path, body, "Idempotency-Key", bad).code(), bad)
	}
	require.Equal(t, "bad_request", h.do("bob", "POST", path, body, "Idempotency-Key", "a", "Idempotency-Key", "b").code())

	h.stop()
	h.start(changes{})
	kept := h.must("bob", "POST", path, body, nil, "Idempotency-Key", "k1")
	require.Equal(t, "true", kept.Header.Get("Idempotency-Replayed"))
	require.Equal(t, string(first.body), string(kept.body))

	denied := h.do("chat", "POST", path, body, "Idempotency-Key", "k2")
	require.Equal(t, "scope_missing", denied.code())
	var made struct{ ID string }
	one := h.must("ann", "POST", "/v1/conversations", "{}", &made, "Idempotency-Key", "c")
	two := h.must("ann", "POST", "/v1/conversations", "{}", nil, "Idempotency-Key", "c")
	require.Equal(t, string(one.body), string(two.body))
	require.Equal(t, "/v1/conversations/"+made.ID, two.Header.Get("Location"))
	require.Equal(t, 201, two.StatusCode)
}

// A pause is begun and lifted in the principal's name.
func TestPauses(t *testing.T) {
	h := open(t, changes{})
	var begun struct {
		Pause struct{ By, Skill string }
	}
	h.must("ann", "POST", "/v1/pauses", map[string]any{"skill": "mail.*"}, &begun)
	require.Equal(t, "ann", begun.Pause.By)
	require.Len(t, h.o.Parts().Pauses.List(), 1)
	h.must("nobody", "GET", "/v1/pauses", nil, nil)
	require.Equal(t, "scope_missing", h.do("nobody", "POST", "/v1/pauses/lift", map[string]any{"skill": "mail.*"}).code())
	var lifted struct{ Lifted bool }
	h.must("ann", "POST", "/v1/pauses/lift", map[string]any{"skill": "mail.*"}, &lifted)
	require.True(t, lifted.Lifted)
	h.must("ann", "POST", "/v1/pauses/lift", map[string]any{"skill": "mail.*"}, &lifted)
	require.False(t, lifted.Lifted)
}

// Standing approvals are made, listed and revoked by those who may answer.
func TestStandingApprovals(t *testing.T) {
	h := open(t, changes{})
	item, ended := h.ask("ann")
	var made approval.Standing
	h.must("bob", "POST", "/v1/approvals/"+item.ID+"/stand", map[string]any{"digest": item.Digest, "uses": 2, "seconds": 60}, &made)
	require.NoError(t, <-ended)
	require.Equal(t, "bob", made.By)
	var list struct{ Data []approval.Standing }
	h.must("bob", "GET", "/v1/standing-approvals", nil, &list)
	require.Len(t, list.Data, 1)
	var over approval.Standing
	h.must("ann", "POST", "/v1/standing-approvals/"+made.ID+"/revoke", nil, &over)
	require.Equal(t, approval.StandingRevoked, over.State)
	require.Equal(t, "not_found", h.do("ann", "POST", "/v1/standing-approvals/nothing/revoke", nil).code())
	require.Equal(t, "invalid", h.do("bob", "POST", "/v1/approvals/"+item.ID+"/stand", map[string]any{"digest": item.Digest, "uses": 21,
		"seconds": 60}).code())
}

// A principal says yes to no call of its own: not by an answer, not by an edit, not by a standing approval.
func TestNoPrincipalApprovesItsOwnCall(t *testing.T) {
	h := open(t, changes{})
	var a handed
	h.must("ann", "POST", "/v1/calls", call("own", "vip"), &a)
	require.Equal(t, "pending", a.State)
	path := "/v1/approvals/" + a.Approval
	var card approval.Card
	require.Eventually(t, func() bool {
		r := h.do("ann", "GET", path, nil)
		return r.StatusCode == 200 && json.Unmarshal(r.body, &card) == nil
	}, eventually, tick)
	require.NotNil(t, card.Sheet.Standing, "the question is one that a standing approval could settle")
	for op, body := range map[string]map[string]any{
		"/answer": {"word": "yes", "digest": card.Digest},
		"/stand":  {"digest": card.Digest, "uses": 20, "seconds": 3600},
	} {
		r := h.do("ann", "POST", path+op, body)
		require.Equal(t, "not_allowed", r.code(), "%s: %s", op, r.body)
	}
	edit := map[string]any{"word": "yes", "digest": card.Digest, "edit": map[string]any{"id": "vip2"}}
	require.Equal(t, "not_allowed", h.do("ann", "POST", path+"/answer", edit).code())
	h.must("ann", "POST", "/v1/calls", call("own", "vip"), &a)
	require.Equal(t, "pending", a.State)
	require.Empty(t, a.Warrant)
	h.must("bob", "POST", path+"/stand", map[string]any{"digest": card.Digest, "uses": 1, "seconds": 60}, nil)
}

// What is erased is answered under no idempotency key either: of the conversation, and of a user whom the
// request named.
func TestPurgedAnswersAreNotRepeated(t *testing.T) {
	h := open(t, changes{})
	body := map[string]any{"text": "remember CANARY-said", "request_id": "r1"}
	h.must("ann", "POST", "/v1/conversations/c1/messages", body, nil, "Idempotency-Key", "k1")
	again := h.must("ann", "POST", "/v1/conversations/c1/messages", body, nil, "Idempotency-Key", "k1")
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	h.must("ann", "DELETE", "/v1/conversations/c1", nil, nil)
	require.Equal(t, "gone", h.do("ann", "POST", "/v1/conversations/c1/messages", body, "Idempotency-Key", "k1").code())

	path := "/v1/conversations/z1/messages?user=zed"
	h.must("gateway", "POST", path, body, nil, "Idempotency-Key", "k2")
	h.must("root", "DELETE", "/v1/users/zed/conversations", nil, nil)
	require.Equal(t, "gone", h.do("gateway", "POST", path, body, "Idempotency-Key", "k2").code())
}
