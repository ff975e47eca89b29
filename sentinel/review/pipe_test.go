package review_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// world is the servers of a bubble of fake time. They speak HTTP over pipes in
// memory: a goroutine that waits for one lets the bubble's clock run, one that
// waits for the network would not.
type world struct {
	t     *testing.T
	hosts map[string]*far
	hc    *http.Client
}

// far is one server of a world.
type far struct {
	conns chan net.Conn
	done  chan struct{}
	mu    sync.Mutex
	n     int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, hosts: map[string]*far{}}
	tr := &http.Transport{MaxIdleConnsPerHost: 1000, DialContext: w.dial}
	w.hc = &http.Client{Transport: tr}
	t.Cleanup(tr.CloseIdleConnections)
	return w
}

func (w *world) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(addr)
	f := w.hosts[host]
	if f == nil {
		return nil, errors.New("connection refused")
	}
	here, there := net.Pipe()
	select {
	case f.conns <- there:
		return here, nil
	case <-f.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept, Close and Addr make it a listener.
func (f *far) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

func (f *far) Close() error   { return nil }
func (f *far) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// asked is how many requests have come.
func (f *far) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// serve adds a server; h gets the number of the request from 1. An idle client
// that hangs up is seen at once, as over a network.
func (w *world) serve(name string, h func(w http.ResponseWriter, r *http.Request, n int)) *far {
	f := &far{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Header.Set("Body", string(body)) // for those who look
		f.mu.Lock()
		f.n++
		n := f.n
		f.mu.Unlock()
		h(rw, r, n)
	})}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = srv.Serve(f) }()
	w.hosts[name] = f
	w.t.Cleanup(func() {
		w.hc.CloseIdleConnections()
		close(f.done)
		_ = srv.Close()
		<-ended
	})
	return f
}

// gate is a gate whose models are the named servers; those after a "|" give
// second opinions.
func (w *world) gate(o review.Options, names ...string) *review.Gate {
	w.t.Helper()
	return w.quiet(o, names...).MetElsewhere()
}

// quiet is a gate of which no other user asks anything but in the test.
func (w *world) quiet(o review.Options, names ...string) *review.Gate {
	w.t.Helper()
	o.Doubts = cmp.Or(o.Doubts, review.DoubtsCount) // else forty more canaries are asked
	to := &o.Models
	for _, name := range names {
		if name == "|" {
			to = &o.Escalate.To
			continue
		}
		c, err := llm.New(llm.Config{Name: name, Model: "plain", BaseURL: "http://" + name + "/v1", Timeout: time.Hour}, w.hc)
		require.NoError(w.t, err)
		*to = append(*to, c)
	}
	g, err := review.New(o)
	require.NoError(w.t, err)
	return g
}

// The ways a server answers.
type handler = func(w http.ResponseWriter, r *http.Request, n int)

func saying(content string) handler {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, content) }
}

func status(status int, header ...string) handler {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

// hanging says nothing until the client goes.
func hanging(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() }

// reset breaks the connection.
func reset(w http.ResponseWriter, _ *http.Request, _ int) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

// slow answers after a while.
func slow(d time.Duration, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, n int) {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			h(w, r, n)
		case <-r.Context().Done():
		}
	}
}

// first answers the first n requests in one way and the rest in another.
func first(n int, a, b handler) handler {
	return func(w http.ResponseWriter, r *http.Request, i int) {
		if i <= n {
			a(w, r, i)
			return
		}
		b(w, r, i)
	}
}

// result is what became of a Check in another goroutine.
type result struct {
	v   sentinel.Verdict
	err error
}

// checking checks a call like c and no other's equal: equal calls at a time
// would be one question.
func checking(ctx context.Context, g *review.Gate, c sentinel.Call) <-chan result {
	out := make(chan result, 1)
	own, err := alike(c)
	go func() {
		if err != nil {
			out <- result{err: err}
			return
		}
		v, err := g.Check(ctx, own)
		out <- result{v, err}
	}()
	return out
}
