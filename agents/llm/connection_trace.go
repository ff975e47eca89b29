package llm

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Servers close idle connections, llama.cpp's after five seconds. A request that is on
// its way then ends without a byte of an answer, and the server never read the request.
// The client sends such a request again, on another connection.
const (
	// staleWithin is how soon after it was taken a connection that was closed
	// before shows it. What ends later may be the request's own doing.
	staleWithin = 500 * time.Millisecond
	// staleTries is how many kept connections may turn out to be closed.
	staleTries = 3
)

// connectionTrace is what is known of the connection that one request went out on.
type connectionTrace struct {
	kept     atomic.Bool  // it went out on a connection that had lain idle
	taken    atomic.Int64 // when, in nanoseconds
	answered atomic.Bool  // a byte of an answer came
}

// attachTrace returns the request with the trace as its witness.
func (l *connectionTrace) attachTrace(req *http.Request, now func() time.Time) *http.Request {
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			l.kept.Store(i.Reused && i.WasIdle)
			l.taken.Store(now().UnixNano())
		},
		GotFirstResponseByte: func() { l.answered.Store(true) },
	}))
}

// isStale reports whether the connection was closed before the request was read.
func (l *connectionTrace) isStale(err error, now time.Time) bool {
	return l.kept.Load() && !l.answered.Load() && now.UnixNano()-l.taken.Load() < int64(staleWithin) && isClosedByPeer(err)
}

// isClosedByPeer reports whether an error says that the other end has closed the
// connection.
func isClosedByPeer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "server closed idle connection") // net/http has no name for it
}
