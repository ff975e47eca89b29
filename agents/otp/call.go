package otp

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// States of a call. A call leaves waiting exactly once.
const (
	waiting uint32 = iota
	answered
	givenUp
)

// call is one request and the only place its answer can go.
type call struct {
	msg    any
	target *proc
	state  atomic.Uint32
	taken  bool // From was called; touched by the target's goroutine alone
	value  any
	err    error
	done   chan struct{} // for Call
	notify func(*call)   // for Context.Request
}

// finish answers the call. It reports false if the caller gave up or has an answer.
func (c *call) finish(value any, err error) bool {
	if !c.state.CompareAndSwap(waiting, answered) {
		return false
	}
	c.value, c.err = value, err
	c.target.dropWaiter(c)
	if c.notify != nil {
		c.notify(c)
	} else {
		c.done <- struct{}{}
	}
	return true
}

// giveUp ends the caller's wait. It reports false if an answer is there or on its way.
func (c *call) giveUp() bool {
	if !c.state.CompareAndSwap(waiting, givenUp) {
		return false
	}
	c.target.dropWaiter(c)
	return true
}

// isWaiting reports whether the caller still waits.
func (c *call) isWaiting() bool { return c.state.Load() == waiting }

// postToTarget registers the call with its target and posts it. The target's end then
// answers the call.
func (c *call) postToTarget() {
	p := c.target
	p.mu.Lock()
	if p.phase == phaseClosed {
		reason := p.reasonLocked()
		p.mu.Unlock()
		c.finish(nil, &DownError{PID: PID{p}, Reason: reason})
		return
	}
	if p.waiters == nil {
		p.waiters = map[*call]struct{}{}
	}
	p.waiters[c] = struct{}{}
	p.mu.Unlock()
	p.postMessage(c)
}

// Call sends msg and waits for the reply. ctx must have a deadline
// (ErrNoDeadline). A process that is dead or ends before it replied gives a
// *DownError at once, which matches ErrNoProcess; a passed deadline gives
// ErrTimeout, a cancelled ctx its error. After ErrTimeout the server may still
// have done the work. Inside a server use Context.Call.
func Call(ctx context.Context, pid PID, msg any) (any, error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, ErrNoDeadline
	}
	if pid.p == nil {
		return nil, ErrNoProcess
	}
	c := &call{msg: msg, target: pid.p, done: make(chan struct{}, 1)}
	c.postToTarget()
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
	}
	if !c.giveUp() {
		<-c.done
		return c.value, c.err
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil, ErrTimeout
	}
	return nil, ctx.Err()
}

// From is the address of one Call's answer. It may be kept and used from any
// goroutine; the first Reply wins.
type From struct{ c *call }

// Valid reports whether there is a call to answer, that is, false for a Send.
func (f From) Valid() bool { return f.c != nil }

// Reply answers the call. It reports false when the caller no longer waits.
func (f From) Reply(value any, err error) bool {
	return f.c != nil && f.c.finish(value, err)
}

// Reply is the answer to a Context.Request, delivered as a message.
type Reply struct {
	Ref   Ref
	Value any
	Err   error
}

// request is the asking side of a Context.Request.
type request struct {
	c    *call
	stop func() bool
}

func (r *request) release() {
	r.stop()
	r.c.giveUp()
}

// sendRequest sends a call whose answer comes back to p as a Reply message.
func (p *proc) sendRequest(pid PID, msg any, timeout time.Duration) Ref {
	ref := p.sys.nextRef()
	answer := func(v any, err error) { p.postMessage(replyMsg{Reply{ref, v, err}}) }
	r := &request{stop: func() bool { return false }}
	switch {
	case timeout <= 0:
		p.holdUntilEnd(ref, noop{})
		answer(nil, ErrNoDeadline)
		return ref
	case pid.p == nil:
		p.holdUntilEnd(ref, noop{})
		answer(nil, ErrNoProcess)
		return ref
	}
	r.c = &call{msg: msg, target: pid.p, notify: func(c *call) { answer(c.value, c.err) }}
	r.stop = p.sys.startTimer(timeout, func() {
		if r.c.giveUp() {
			answer(nil, ErrTimeout)
		}
	})
	if !p.holdUntilEnd(ref, r) {
		r.release()
		return ref
	}
	r.c.postToTarget()
	return ref
}

// noop holds the place of a request that ended before it was sent.
type noop struct{}

func (noop) release() {}
