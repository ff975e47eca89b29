package otp

import (
	"errors"
	"time"
)

// supervisorCore is what both supervisors share: starting, stopping and reporting one child.
type supervisorCore struct {
	p         *proc
	intensity intensity
	backoff   Backoff
}

// reportChild reports an event about a child's process.
func (t *supervisorCore) reportChild(typ EventType, p *proc, r Reason) {
	t.p.sys.reportProcess(typ, p, r)
}

// launchChild spawns a new incarnation of k. childReady or childGone tells the outcome.
func (t *supervisorCore) launchChild(k *child) {
	p := newProc(t.p.sys, t.p, &k.spec)
	p.slot, p.restarts = k, k.starts
	if k.last != nil {
		p.lastEnd = k.last.exitReason().briefText()
	}
	k.proc, k.last, k.state = p, p, starting
	k.try++
	if !t.p.addChild(p) {
		p.kill() // the supervisor itself was killed
		return
	}
	if err := p.spawnActor(t.p.actorContext); err != nil {
		p.mu.Lock()
		p.initErr = err
		p.mu.Unlock()
		p.kill()
		return
	}
	if d := k.spec.startTimeout(); d > 0 {
		k.timer = t.p.sys.startTimer(d, func() { t.p.postMessage(startLate{p}) })
	}
}

// markRunning makes a starting child a running one. It reports false for a stale message.
func (t *supervisorCore) markRunning(k *child, p *proc) bool {
	if k.proc != p || k.state != starting {
		return false
	}
	k.stopTimer()
	k.state = running
	k.starts++
	if k.starts == 1 {
		t.reportChild(ChildStarted, p, Reason{})
	} else {
		t.reportChild(ChildRestarted, p, Reason{})
	}
	return true
}

// onStartLate kills a child whose Init hangs.
func (t *supervisorCore) onStartLate(p *proc) {
	k := p.slot
	if k.proc != p || k.state != starting {
		return
	}
	p.mu.Lock()
	p.initErr = ErrStartTimeout
	p.mu.Unlock()
	p.kill()
}

// askChildToStop asks a child to stop and sets its deadline; childGone follows. With
// group set the caller sets the deadline.
func (t *supervisorCore) askChildToStop(k *child, group bool) {
	k.stopTimer()
	k.state = stopping
	d := k.spec.shutdownTime()
	if d == BrutalKill {
		k.proc.kill()
		return
	}
	p := k.proc
	p.requestStop(Shutdown(nil))
	if !group && d != Infinity {
		k.timer = t.p.sys.startTimer(d, func() { t.p.postMessage(stopExpired{[]*proc{p}}) })
	}
}

// killExpired kills those processes that are still stopping. All others have ended.
func (t *supervisorCore) killExpired(procs []*proc) {
	for _, p := range procs {
		if p.slot.proc == p && p.slot.state == stopping {
			p.kill()
		}
	}
}

// clearProcess clears the record after the end of its process and returns the state that
// the child was in.
func (t *supervisorCore) clearProcess(k *child) childState {
	k.stopTimer()
	was := k.state
	k.proc, k.state = nil, absent
	return was
}

// reportStop reports a child that crashed while it stopped, and answers those who asked
// for the stop.
func (t *supervisorCore) reportStop(k *child, p *proc) {
	r := p.exitReason()
	if r.Kind == KindCrash {
		t.reportChild(ChildCrashed, p, r)
	}
	calls := k.stopped
	k.stopped = nil
	for _, c := range calls {
		c.finish(nil, nil)
	}
}

// reportExit reports a child's end, as R13 says. The wanted ends of transient and
// temporary children are not news, all other ends are.
func (t *supervisorCore) reportExit(k *child, p *proc) {
	r := p.exitReason()
	switch {
	case r.Failed():
		t.reportChild(ChildCrashed, p, r)
	case k.spec.Restart == Permanent:
		t.reportChild(ChildExited, p, r)
	}
}

// scheduleRestart enters one restart in the intensity. It reports granted false when the
// intensity is spent; now is true when the restart is due at once.
func (t *supervisorCore) scheduleRestart(k *child) (granted, now bool) {
	if !t.intensity.grantRestart(t.p.sys.now()) {
		return false, false
	}
	d := t.backoff.drawDelay(len(t.intensity.times))
	if d == 0 {
		return true, true
	}
	t.delayRestart(k, d)
	return true, false
}

// delayRestart makes the restart of k pending for d.
func (t *supervisorCore) delayRestart(k *child, d time.Duration) {
	k.state, k.counted = pending, true
	k.try++
	msg := retryChild{k, k.try}
	k.timer = t.p.sys.startTimer(d, func() { t.p.postMessage(msg) })
}

// requeueRestart retries a failed restart by a message to the supervisor itself. Requests
// that wait in the mailbox come first (R6).
func (t *supervisorCore) requeueRestart(k *child) {
	k.state, k.counted = pending, false
	k.try++
	t.p.postMessage(retryChild{k, k.try})
}

// giveUpRestarts reports that the supervisor gives up, and returns the reason for its
// end.
func (t *supervisorCore) giveUpRestarts() Reason {
	r := Shutdown(ErrMaxRestarts)
	t.p.sys.reportProcess(GaveUp, t.p, r)
	return r
}

// isIgnored reports whether an Init answered ErrIgnore. The Is and Unwrap methods of a
// child's own error may panic, which the supervisor must survive.
func isIgnored(err error) (yes bool) {
	defer func() { _ = recover() }()
	return errors.Is(err, ErrIgnore)
}
