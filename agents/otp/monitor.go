package otp

import "context"

// Down is the message of a monitor: the process ended, and why.
type Down struct {
	Ref    Ref
	PID    PID
	Reason Reason
}

// Monitor calls fn once with the end of pid, at once if pid has ended already. The call
// comes from another process's goroutine: fn must not block. Function cancel reports
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

// monitor is what a process holds of a process that it monitors.
type monitor struct {
	pid PID
	ref Ref
}

func (m *monitor) release() {
	if m.pid.p != nil {
		m.pid.p.dropWatcher(m.ref)
	}
}
