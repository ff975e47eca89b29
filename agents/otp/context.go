package otp

import (
	"context"
	"log/slog"
	"time"
)

// Context is a server's view of its own process. Use it only inside the three
// callbacks; Self, Context, Logger and From values may leave them.
type Context struct {
	p   *proc
	cur *call
}

// Self returns the PID of this incarnation.
func (c *Context) Self() PID { return PID{c.p} }

// Parent returns the supervisor's PID, zero for a root.
func (c *Context) Parent() PID { return c.p.supervisorPID() }

// System returns the system the process belongs to.
func (c *Context) System() *System { return c.p.sys }

// Context is cancelled as soon as this incarnation is asked to stop, crashes or
// is killed. In Terminate use context.WithoutCancel for what must still be done.
func (c *Context) Context() context.Context { return c.p.openContext() }

// Logger returns the system's logger with the process's PID.
func (c *Context) Logger() *slog.Logger {
	return c.p.sys.log.With(slog.String("pid", c.p.processName()))
}

// Stop ends this process with reason after the callback returns. Waiting
// messages are dropped.
func (c *Context) Stop(reason Reason) { c.p.endWithReason(reason) }

// From returns the address of the answer to the Call being handled, and promises that a
// Reply will come. Without From or Reply the caller gets ErrNoReply when Handle returns.
// For a Send it is not Valid.
func (c *Context) From() From {
	if c.cur != nil {
		c.cur.taken = true
	}
	return From{c.cur}
}

// Reply answers the Call being handled; for a Send it does nothing. It reports
// false when the caller no longer waits.
func (c *Context) Reply(value any, err error) bool { return From{c.cur}.Reply(value, err) }

// Call is Call with a timeout, ended also by this process's own stop. It blocks
// the server: prefer Request. Two servers that call each other wait for the timeout.
func (c *Context) Call(pid PID, msg any, timeout time.Duration) (any, error) {
	if pid.p == c.p {
		return nil, ErrCallSelf
	}
	ctx, cancel := context.WithTimeout(c.Context(), timeout)
	defer cancel()
	return Call(ctx, pid, msg)
}

// Request is Call without waiting: the answer arrives as a Reply with the
// returned Ref, exactly once. The timeout is mandatory.
func (c *Context) Request(pid PID, msg any, timeout time.Duration) Ref {
	return c.p.sendRequest(pid, msg, timeout)
}

// StartChild asks the supervisor sup to start a child without waiting. The
// Reply's Value is the PID. If this process ends first, or the timeout passes,
// a child that came up meanwhile is stopped again.
func (c *Context) StartChild(sup PID, spec ChildSpec, timeout time.Duration) Ref {
	return c.p.sendRequest(sup, startChild{spec}, timeout)
}

// SendAfter delivers msg to this process's Handle after d, unless CancelTimer
// comes first or the incarnation ends.
func (c *Context) SendAfter(d time.Duration, msg any) Ref {
	p, ref := c.p, c.p.sys.nextRef()
	t := timer{p.sys.startTimer(d, func() { p.postMessage(timerFired{ref, msg}) })}
	if !p.holdUntilEnd(ref, t) {
		t.release()
	}
	return ref
}

// CancelTimer ends a timer; its message will not be handled, even if it is
// queued already. It reports false when the message was handled before.
func (c *Context) CancelTimer(ref Ref) bool {
	h := c.p.takeHolder(ref)
	if h == nil {
		return false
	}
	h.release()
	return true
}

// timer is a timer that a process set for itself.
type timer struct{ stop func() bool }

func (t timer) release() { t.stop() }

// Monitor makes the end of pid a Down message with the returned Ref. The message comes
// exactly once, also when pid has ended already.
func (c *Context) Monitor(pid PID) Ref {
	p, ref := c.p, c.p.sys.nextRef()
	if !p.holdUntilEnd(ref, &monitor{pid, ref}) {
		return ref
	}
	deliver := func(d Down) { p.postMessage(downMsg{d}) }
	if pid.p == nil {
		deliver(Down{Ref: ref, Reason: Crash(ErrNoProcess)})
		return ref
	}
	pid.p.addWatcher(ref, deliver)
	return ref
}

// Demonitor ends a monitor; its Down will not be handled, even if it is queued.
func (c *Context) Demonitor(ref Ref) bool { return c.CancelTimer(ref) }
