package llm

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fickle answers the first request of a connection and closes it at the second
// without a word, as a server does whose patience with an idle connection ends
// while a request is on its way.
type fickle struct {
	mu     sync.Mutex
	seen   map[string]int // requests, by connection
	bodies []string
	// half sends the beginning of an answer before it closes.
	half bool
}

func (f *fickle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.seen[r.RemoteAddr]++
	n := f.seen[r.RemoteAddr]
	f.bodies = append(f.bodies, string(body))
	f.mu.Unlock()
	if n == 1 {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}`)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if f.half {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	}
	_ = conn.Close()
}

func fickleClient(t *testing.T, f *fickle) *Client {
	t.Helper()
	f.seen = map[string]int{}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	c, err := New(Config{Name: "m", Model: "m", BaseURL: s.URL}, nil)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdle)
	now := time.Now()
	c.now = func() time.Time { return now } // however long it takes, a closed connection shows at once
	return c
}

// asked are the bodies that came.
func (f *fickle) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.bodies)
}

var hello = Request{Messages: []Message{{Role: RoleUser, Content: "hello"}}}

// A request that meets a connection which the server has just closed is sent
// again, as it was, on another, and its caller notices nothing.
func TestClosedConnectionIsNoFailure(t *testing.T) {
	f := &fickle{}
	c := fickleClient(t, f)
	for range 3 {
		_, err := c.Chat(t.Context(), hello)
		require.NoError(t, err)
	}
	require.Len(t, f.asked(), 5, "two of three met a closed connection first")
	for _, b := range f.asked() {
		require.Equal(t, f.asked()[0], b)
	}
}

// What may have been read is sent once: on a connection of its own, after half an
// answer, and where the connection ended later than one that was closed before.
func TestRequestThatMayHaveBeenReadIsSentOnce(t *testing.T) {
	connect := func(t *testing.T, err error) {
		t.Helper()
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, KindConnect, e.Kind)
	}
	t.Run("a new connection", func(t *testing.T) {
		f := &fickle{}
		c := fickleClient(t, f)
		c.http.Transport.(*http.Transport).DisableKeepAlives = true
		hang := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			f.mu.Lock()
			f.bodies = append(f.bodies, "")
			f.mu.Unlock()
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
		}))
		defer hang.Close()
		c.lib.BaseURL = strings.TrimRight(hang.URL, "/")
		_, err := c.Chat(t.Context(), hello)
		connect(t, err)
		require.Len(t, f.asked(), 1)
	})
	t.Run("half an answer", func(t *testing.T) {
		f := &fickle{half: true}
		c := fickleClient(t, f)
		_, err := c.Chat(t.Context(), hello)
		require.NoError(t, err)
		_, err = c.Chat(t.Context(), hello)
		connect(t, err)
		require.Len(t, f.asked(), 2)
	})
	t.Run("later", func(t *testing.T) {
		f := &fickle{}
		c := fickleClient(t, f)
		var mu sync.Mutex
		at := time.Now()
		c.now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			at = at.Add(staleWithin)
			return at
		}
		_, err := c.Chat(t.Context(), hello)
		require.NoError(t, err)
		_, err = c.Chat(t.Context(), hello)
		connect(t, err)
		require.Len(t, f.asked(), 2)
	})
	t.Run("a reset after the first byte", func(t *testing.T) {
		now := time.Now()
		var l connectionTrace
		l.kept.Store(true)
		l.taken.Store(now.UnixNano())
		require.True(t, l.isStale(syscall.ECONNRESET, now))
		require.False(t, l.isStale(http.ErrHandlerTimeout, now), "what says nothing of the connection")
		l.answered.Store(true)
		require.False(t, l.isStale(syscall.ECONNRESET, now))
	})
}
