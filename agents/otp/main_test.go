package otp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a hand-driven clock. Timers fire inside Advance, in order.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*fakeTimer
	armed  chan time.Duration // every AfterFunc announces itself here
}

type fakeTimer struct {
	at time.Time
	f  func()
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), armed: make(chan time.Duration, 1<<16)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	t := &fakeTimer{c.now.Add(d), f}
	c.timers = append(c.timers, t)
	c.mu.Unlock()
	c.armed <- d
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, o := range c.timers {
			if o == t {
				c.timers = append(c.timers[:i], c.timers[i+1:]...)
				return true
			}
		}
		return false
	}
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []*fakeTimer
	var rest []*fakeTimer
	for _, t := range c.timers {
		if t.at.After(c.now) {
			rest = append(rest, t)
		} else {
			due = append(due, t)
		}
	}
	c.timers = rest
	c.mu.Unlock()
	for _, t := range due {
		t.f()
	}
}

// waitArmed blocks until a timer of exactly d was set.
func (c *clock) waitArmed(t testing.TB, d time.Duration) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		select {
		case got := <-c.armed:
			if got == d {
				return
			}
		case <-limit:
			require.FailNow(t, "timer was never set", "%s", d)
		}
	}
}

// rig is a system under test with its clock and its events.
type rig struct {
	*System
	t      testing.TB
	clock  *clock
	events chan Event
	ctx    context.Context
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, clock: newClock(), events: make(chan Event, 1<<16)}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	r.ctx = ctx
	r.System = NewSystem(SystemOptions{Now: r.clock.Now, AfterFunc: r.clock.AfterFunc,
		OnEvent: func(e Event) { r.events <- e }})
	t.Cleanup(func() {
		defer cancel()
		require.NoError(t, r.Stop(ctx))
	})
	return r
}

func (r *rig) start(spec ChildSpec) PID {
	r.t.Helper()
	pid, err := r.Start(r.ctx, spec)
	require.NoError(r.t, err)
	return pid
}

// await returns the next event of this type and child, dropping those before it.
func (r *rig) await(typ EventType, child string) Event {
	r.t.Helper()
	for {
		select {
		case e := <-r.events:
			if e.Type == typ && e.ChildID == child {
				return e
			}
		case <-r.ctx.Done():
			require.FailNow(r.t, "event never came", "%s of %s", typ, child)
		}
	}
}

func (r *rig) call(pid PID, msg any) any {
	r.t.Helper()
	v, err := Call(r.ctx, pid, msg)
	require.NoError(r.t, err)
	return v
}

func (r *rig) ended(pid PID) Reason {
	r.t.Helper()
	reason, err := Wait(r.ctx, pid)
	require.NoError(r.t, err)
	return reason
}

func (r *rig) children(sup PID) map[string]ChildInfo {
	r.t.Helper()
	list, err := WhichChildren(r.ctx, sup)
	require.NoError(r.t, err)
	m := map[string]ChildInfo{}
	for _, c := range list {
		m[c.ID] = c
	}
	return m
}

// log records what happened in which order, from any goroutine.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(s string) {
	l.mu.Lock()
	l.lines = append(l.lines, s)
	l.mu.Unlock()
}

func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.lines
	l.lines = nil
	return out
}

// fake is a server of functions; nil ones do nothing.
type fake struct {
	init   func(c *Context) error
	handle func(c *Context, msg any)
	term   func(c *Context, r Reason)
}

func (f *fake) Init(c *Context) error {
	if f.init == nil {
		return nil
	}
	return f.init(c)
}

// Handle understands functions: func(*Context) is run, panics and all.
func (f *fake) Handle(c *Context, msg any) {
	if do, ok := msg.(func(*Context)); ok {
		do(c)
		return
	}
	if f.handle != nil {
		f.handle(c, msg)
	}
}

func (f *fake) Terminate(c *Context, r Reason) {
	if f.term != nil {
		f.term(c, r)
	}
}

func worker(id string, restart Restart) ChildSpec {
	return ChildSpec{ID: id, Restart: restart, Start: func() Server { return &fake{} }}
}

// logged is a worker that writes "+id" and "-id" when it starts and ends.
func logged(l *log, id string, restart Restart) ChildSpec {
	return ChildSpec{ID: id, Restart: restart, Start: func() Server {
		return &fake{
			init: func(*Context) error { l.add("+" + id); return nil },
			term: func(*Context, Reason) { l.add("-" + id) },
		}
	}}
}

// boom makes a fake panic.
func boom(*Context) { panic("boom") }

// end makes a fake stop with r.
func end(r Reason) func(*Context) { return func(c *Context) { c.Stop(r) } }

var errFlaky = errors.New("flaky")

// flakyInit is an Init that succeeds ok times and then fails.
type flakyInit struct {
	ok int64
	n  atomic.Int64
}

func (f *flakyInit) next(*Context) error {
	if f.n.Add(1) <= f.ok {
		return nil
	}
	return errFlaky
}

func (f *flakyInit) calls() int64 { return f.n.Load() }
