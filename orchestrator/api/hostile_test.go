package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/api"
)

// spaces is a body of so many bytes. The client may read on after it has an answer.
type spaces struct{ left atomic.Int64 }

func (s *spaces) Read(b []byte) (int, error) {
	left := s.left.Load()
	if left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), left)
	copy(b, bytes.Repeat([]byte{' '}, int(n)))
	s.left.Add(-n)
	return int(n), nil
}

// A body of 100 MB is refused before it is read, with its length and without.
func TestLargeBodies(t *testing.T) {
	h := open(t, changes{})
	for _, length := range []int64{100 << 20, -1} {
		body := &spaces{}
		body.left.Store(100 << 20)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.server.URL+"/v1/pauses", body)
		require.NoError(t, err)
		r.ContentLength = length
		r.Header.Set("Authorization", "Bearer "+h.tokens["ann"])
		res, err := h.server.Client().Do(r)
		if err != nil { // the server has hung up on what goes on writing
			require.ErrorContains(t, err, "write")
			continue
		}
		require.Equal(t, 413, res.StatusCode)
		require.NoError(t, res.Body.Close())
		require.Greater(t, body.left.Load(), int64(90<<20))
	}
	own := strings.Repeat(" ", 130<<10)
	require.Equal(t, "too_large", h.do("ann", "POST", "/v1/conversations/c1/messages", own).code(), "operations have bounds of their own")
}

// What a caller sends never begins a line of the log, a header or an event.
func TestNothingIsInjected(t *testing.T) {
	h := open(t, changes{})
	evil := "x\r\nSet-Cookie: a=b\r\n\r\nlevel=ERROR msg=forged"
	body, err := json.Marshal(map[string]any{"user": evil, evil: 1})
	require.NoError(t, err)
	for _, path := range []string{"/v1/pauses", "/v1/conversations", "/v1/calls", "/v1/check"} {
		r := h.do("ann", "POST", path, string(body))
		require.Less(t, r.StatusCode, 500)
		require.Empty(t, r.Header.Get("Set-Cookie"))
		require.NotContains(t, string(r.body), "\r")
	}
	r := h.do("ann", "GET", "/v1/approvals?conversation="+"%0d%0aSet-Cookie:%20a=b", nil)
	require.Equal(t, 200, r.StatusCode)
	require.Empty(t, r.Header.Get("Set-Cookie"))
	r = h.do("ann", "GET", "/v1/%0d%0aforged", nil)
	require.Equal(t, "not_found", r.code())
	for line := range strings.Lines(h.log.String()) {
		require.True(t, strings.HasPrefix(line, "time="), line)
		require.NotContains(t, line, "forged")
	}
}

// A body that stops half way is given up, and one that is no HTTP is too.
func TestBrokenBodies(t *testing.T) {
	h := open(t, changes{})
	head := "POST /v1/pauses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + h.tokens["ann"] +
		"\r\nContent-Type: application/json\r\n"
	for name, rest := range map[string]string{
		"a chunk that is none": "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "a short body": "Content-Length: 100\r\n\r\n{",
	} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.server.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(c, head+rest)
		require.NoError(t, err)
		if half, ok := c.(*net.TCPConn); ok {
			require.NoError(t, half.CloseWrite())
		}
		said, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Contains(t, string(said), "400 Bad Request", name)
		require.Contains(t, string(said), "bad_request", name)
		require.NoError(t, c.Close())
	}
	require.NotContains(t, h.log.String(), "level=ERROR")
}

// A reader that doesn't read, and one that leaves, hold up neither the others nor the end.
func TestSlowAndVanishingReaders(t *testing.T) {
	h := open(t, changes{})
	for range 4 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.server.Listener.Addr().String())
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "GET /v1/approvals/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", h.tokens["bob"])
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() }) // it never read a byte
	}
	lines, leave := h.follow("bob", "/v1/approvals/events")
	awaitLine(t, lines, "event: gap")
	item, _ := h.ask("ann")
	require.Contains(t, awaitLine(t, lines, "data: {\"kind\":\"asked\""), item.ID)
	leave()
	lines, leave = h.follow("bob", "/v1/approvals/events")
	defer leave()
	awaitLine(t, lines, "event: gap")
}

// A token that is revoked ends its streams and is let in no more.
func TestRevokedTokensEndStreams(t *testing.T) {
	h := open(t, changes{})
	lines, leave := h.follow("bob", "/v1/approvals/events")
	defer leave()
	awaitLine(t, lines, "event: gap")
	var id string
	for _, token := range h.all.List() {
		if token.Name == "bob" {
			id = token.ID
		}
	}
	_, err := h.all.Revoke(context.Background(), id, "local:test")
	require.NoError(t, err)
	for range lines { // it ends
	}
	require.Equal(t, "unauthenticated", h.do("bob", "GET", "/v1/approvals", nil).code())
}

// A token has its rate, and is told when to come again.
func TestRates(t *testing.T) {
	h := open(t, changes{usual: access.Limits{PerMinute: 60, Burst: 2}})
	codes := map[string]int{}
	for range 5 {
		r := h.do("ann", "GET", "/v1/pauses", nil)
		codes[r.code()]++
		if r.code() != "" {
			require.NotEmpty(t, r.Header.Get("Retry-After"))
		}
	}
	require.GreaterOrEqual(t, codes["rate_limited"], 2)
}

// Options that can't be are an error.
func TestOptions(t *testing.T) {
	_, err := api.New(t.Context(), api.Options{})
	require.ErrorContains(t, err, "needs an orchestrator")
	h := open(t, changes{})
	for _, bad := range []string{"vedette", "ftp://x", "://"} {
		_, err := api.New(t.Context(), api.Options{Orchestrator: h.o, PublicURL: bad})
		require.ErrorContains(t, err, "public URL", bad)
	}
}

// breaking is a writer that breaks in the middle of an answer.
type breaking struct{ http.ResponseWriter }

func (b breaking) Write(p []byte) (int, error) {
	_, _ = b.ResponseWriter.Write(p[:len(p)/2])
	panic("CANARY-value")
}

// An answer that broke in the middle doesn't look whole, and the log says so without a value.
func TestBrokenAnswers(t *testing.T) {
	h := open(t, changes{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.api.ServeHTTP(breaking{w}, r) }))
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/skills", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+h.tokens["ann"])
	res, err := s.Client().Do(r)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		require.NoError(t, res.Body.Close())
	}
	require.Error(t, err)
	require.Contains(t, h.log.String(), "a request broke its handler")
	require.NotContains(t, h.log.String(), "CANARY-value")
}

// A name that no conversation can have is the caller's mistake, with an Idempotency-Key too: no line of the log is.
func TestNamesThatNoConversationHasLeaveNoErrorInTheLog(t *testing.T) {
	h := open(t, changes{})
	for _, name := range []string{"%00", "%ff", "a%0Ab", strings.Repeat("a", 129)} {
		res := h.do("ann", "POST", "/v1/conversations/"+name+"/messages", map[string]any{"text": "hi"}, "Idempotency-Key", "k")
		require.Equal(t, 422, res.StatusCode, name)
	}
	require.NotContains(t, h.log.String(), "level=ERROR")
}
