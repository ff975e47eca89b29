package otp

import (
	"context"
)

// Ref names one request, timer, task or monitor of this process. Refs are
// never reused; the zero Ref names nothing.
type Ref uint64

// PID names one incarnation of a process, as id#epoch. It is comparable and is
// never reused: after a restart the old PID stays dead. The zero PID is no process.
type PID struct{ p *proc }

// IsZero reports whether the PID names no process.
func (pid PID) IsZero() bool { return pid.p == nil }

// String returns id#epoch, or "none" for the zero PID.
func (pid PID) String() string {
	if pid.p == nil {
		return "none"
	}
	return pid.p.processName()
}

// ID returns the ID of the child spec the process was started from.
func (pid PID) ID() string {
	if pid.p == nil {
		return ""
	}
	return pid.p.spec.ID
}

// Alive reports whether the process has not ended. It may end at any moment
// after; use a monitor to act on it.
func (pid PID) Alive() bool { return pid.p != nil && pid.p.run.Load() != dead }

// Send puts msg into the process's unbounded mailbox and returns at once. A
// message to a dead process is dropped, and one that is queued when the process
// ends is lost: journal what must not be.
func (pid PID) Send(msg any) {
	if pid.p != nil {
		pid.p.postMessage(cast{msg})
	}
}

// Kill ends the process at once, a supervisor with all below it. Terminate is not
// called, and if a callback runs its goroutine is abandoned. The process's supervisor
// counts a failure and restarts the child as the spec says. Kill is for operators and
// tests of faults: the owner of a child calls TerminateChild.
func Kill(pid PID) {
	if pid.p != nil {
		pid.p.kill()
	}
}

// Down is the message of a monitor: the process ended, and why.
type Down struct {
	Ref    Ref
	PID    PID
	Reason Reason
}

// Monitor calls fn once with the end of pid, at once if it has ended already.
// fn runs in another process's goroutine: it must not block. cancel reports
// whether it came before the call of fn.
func Monitor(pid PID, fn func(Down)) (cancel func() bool) {
	if pid.p == nil {
		fn(Down{Reason: Crash(ErrNoProcess)})
		return func() bool { return false }
	}
	ref := pid.p.sys.nextRef()
	pid.p.addWatcher(ref, fn)
	return func() bool { return pid.p.dropWatcher(ref) }
}

// Wait returns the reason of pid's end, waiting for it until ctx is done.
func Wait(ctx context.Context, pid PID) (Reason, error) {
	ended := make(chan Reason, 1)
	cancel := Monitor(pid, func(d Down) { ended <- d.Reason })
	select {
	case r := <-ended:
		return r, nil
	case <-ctx.Done():
		if !cancel() {
			return <-ended, nil
		}
		return Reason{}, ctx.Err()
	}
}

func (p *proc) addWatcher(ref Ref, fn func(Down)) {
	p.mu.Lock()
	if p.closed {
		reason := p.reasonLocked()
		p.mu.Unlock()
		fn(Down{Ref: ref, PID: PID{p}, Reason: reason})
		return
	}
	if p.watchers == nil {
		p.watchers = map[Ref]func(Down){}
	}
	p.watchers[ref] = fn
	p.mu.Unlock()
}

func (p *proc) dropWatcher(ref Ref) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.watchers[ref]
	delete(p.watchers, ref)
	return ok
}
