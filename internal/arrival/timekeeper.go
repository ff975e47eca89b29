package arrival

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Timekeeper is a transport that also keeps the time of its requests, as agents/llm lets
// a transport do. A request's time begins when OnArrival is told of the request. So a
// test decides which requests can be late. All others end with their answer, however
// long the machine stands still. It is safe for concurrent use.
type Timekeeper struct {
	// Next sends the requests.
	Next http.RoundTripper

	mu     sync.Mutex
	number int
	spans  map[string]*span
}

// span is the time of one request: a context that is over when the time is, or with the
// context that it was made of.
type span struct {
	context.Context
	id       string
	length   time.Duration
	end      context.CancelCauseFunc
	deadline time.Time // the end of the other context, or a moment before it
	bounded  bool
	timer    *time.Timer // nil before the request has arrived
}

// ofRequest is the key of a span among a context's values.
type ofRequest struct{}

// WithTimeout returns a context whose time of d begins when its request has arrived.
func (k *Timekeeper) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	s := &span{Context: ctx, length: d, end: end}
	if s.deadline, s.bounded = parent.Deadline(); s.bounded {
		s.deadline = s.deadline.Add(-1) // the time is the request's own, and no other's
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.spans == nil {
		k.spans = map[string]*span{}
	}
	k.number++
	s.id = strconv.Itoa(k.number)
	k.spans[s.id] = s
	return s, func() { k.endSpan(s) }
}

// RoundTrip sends the request with the name of its span.
func (k *Timekeeper) RoundTrip(req *http.Request) (*http.Response, error) {
	if s, ok := req.Context().Value(ofRequest{}).(*span); ok {
		req = req.Clone(req.Context())
		req.Header.Set(header, s.id)
	}
	return k.Next.RoundTrip(req)
}

// OnArrival takes the header of a request that has arrived and that may be late.
func (k *Timekeeper) OnArrival(h http.Header) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.spans[h.Get(header)]; s != nil && s.timer == nil {
		s.timer = time.AfterFunc(s.length, func() { s.end(context.DeadlineExceeded) })
	}
}

// CloseIdleConnections closes those of Next.
func (k *Timekeeper) CloseIdleConnections() { (&http.Client{Transport: k.Next}).CloseIdleConnections() }

func (k *Timekeeper) endSpan(s *span) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.spans, s.id)
	if s.timer != nil {
		s.timer.Stop()
	}
	s.end(context.Canceled)
}

// Deadline is not that of the time, which no clock knows before the request has arrived.
func (s *span) Deadline() (time.Time, bool) { return s.deadline, s.bounded }

// Err tells the end of the time from a cancellation.
func (s *span) Err() error {
	if err := s.Context.Err(); err == nil || !errors.Is(context.Cause(s.Context), context.DeadlineExceeded) {
		return err
	}
	return context.DeadlineExceeded
}

// Value finds the span itself among its values.
func (s *span) Value(key any) any {
	if key == (ofRequest{}) {
		return s
	}
	return s.Context.Value(key)
}
