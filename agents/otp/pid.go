package otp

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
