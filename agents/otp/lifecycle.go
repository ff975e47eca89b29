package otp

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"
)

// endWithReason ends the process from inside. A crash replaces the reason of a stop
// that was requested from outside.
func (p *proc) endWithReason(r Reason) {
	p.exiting = true
	p.setReason(r, r.Kind == KindCrash)
	p.endContext()
	p.actorContext.Stop(p.actorContext.Self())
}

// requestStop asks the process to end, from any goroutine. A worker's pending
// messages are dropped; a supervisor first stops its children.
func (p *proc) requestStop(r Reason) {
	if p.spec.Type == Supervisor {
		p.postMessage(stopTree{r})
		return
	}
	p.setReason(r, false)
	if apid := p.actorPID.Load(); apid != nil && p.run.Load() != dead {
		p.sys.actors.Root.Stop(apid)
	}
	// Only now: a Handle that this releases must find the stop before the next message.
	p.endContext()
}

// kill ends the process and everything below it at once, from any goroutine. A callback
// that runs can't be ended: its goroutine is abandoned, and counted until the callback
// returns.
func (p *proc) kill() {
	old := p.run.Swap(dead)
	if old == dead {
		return
	}
	p.setReason(Reason{Kind: KindKilled}, true)
	if old == busy && p.spec.Type == Worker {
		p.sys.onAbandoned(p) // a supervisor runs no foreign code and returns at once
	}
	// Before the runtime, which stops the children of what it stops: they were
	// killed, and their Terminate must not run.
	p.killChildren()
	p.detachActor()
	p.publishEnd()
}

// killChildren kills every child of the process.
func (p *proc) killChildren() {
	p.mu.Lock()
	kids := p.children
	p.children = nil
	p.mu.Unlock()
	for k := range kids {
		k.kill()
	}
}

// detachActor takes the actor out of the registry and releases its parent, which would
// otherwise wait for ever. The actor ends when its callback does.
func (p *proc) detachActor() {
	apid, as := p.actorPID.Load(), p.sys.actors
	if apid == nil {
		return
	}
	if proc, ok := as.ProcessRegistry.Get(apid); ok {
		proc.Stop(apid)
		as.ProcessRegistry.Remove(apid)
	}
	if p.parent == nil {
		return
	}
	if up := p.parent.actorPID.Load(); up != nil {
		if proc, ok := as.ProcessRegistry.Get(up); ok {
			proc.SendSystemMessage(up, &actor.Terminated{Who: apid})
		}
	}
}

// publishEnd publishes the end of the process, to the supervisor first. A process that
// learns of the end (by Down, an answered Call or Wait) finds the supervisor up to date.
func (p *proc) publishEnd() {
	p.mu.Lock()
	p.phase = phaseFrozen
	p.mu.Unlock()
	p.endContext()
	if p.spec.Name != "" {
		p.sys.unregisterName(p.spec.Name, p)
	}
	if p.parent != nil {
		p.parent.dropChild(p)
		p.parent.postMessage(childGone{p})
	}
	p.mu.Lock()
	p.phase = phaseClosed
	reason := p.reasonLocked()
	refs, watchers, waiters := p.refs, p.watchers, p.waiters
	p.refs, p.watchers, p.waiters = nil, nil, nil
	p.mu.Unlock()
	for _, h := range refs {
		h.release()
	}
	down := DownError{PID: PID{p}, Reason: reason}
	for c := range waiters {
		c.finish(nil, &down)
	}
	for ref, deliver := range watchers {
		p.sys.runSafely(func() { deliver(Down{Ref: ref, PID: PID{p}, Reason: reason}) })
	}
}

// setReason sets the reason of the end, unless the reason is final. Without override the
// first reason stays.
func (p *proc) setReason(r Reason, override bool) {
	p.mu.Lock()
	if p.phase < phaseFrozen && (override || !p.hasReason) {
		p.reason, p.hasReason = r, true
	}
	p.mu.Unlock()
}

// exitReason returns why the process ended, shutdown where no reason was set.
func (p *proc) exitReason() Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reasonLocked()
}

// reasonLocked is exitReason for a caller that holds mu.
func (p *proc) reasonLocked() Reason {
	if !p.hasReason {
		return Shutdown(nil)
	}
	return p.reason
}

// endContext cancels the contexts of the process and of its tasks. A task's context is no
// child of the process's: a context that has had a child keeps a table for more, and most
// processes that wait for one task need no context of their own.
func (p *proc) endContext() {
	p.mu.Lock()
	p.phase = max(p.phase, phaseEnding)
	cancel := p.cancel
	var tasks []*task
	for _, h := range p.refs {
		if t, ok := h.(*task); ok {
			tasks = append(tasks, t)
		}
	}
	p.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	for _, t := range tasks {
		t.cancel(nil)
	}
}

// openContext returns the process's context and makes it on first use: most idle
// processes never need one.
func (p *proc) openContext() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		p.ctx, p.cancel = context.WithCancel(context.Background())
		if p.phase >= phaseEnding {
			p.cancel()
		}
	}
	return p.ctx
}

// addChild notes a child that a kill must reach. It reports false once the process is
// dead.
func (p *proc) addChild(k *proc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == phaseClosed || p.run.Load() == dead {
		return false
	}
	if p.children == nil {
		p.children = map[*proc]struct{}{}
	}
	p.children[k] = struct{}{}
	return true
}

// dropChild forgets a child that has ended.
func (p *proc) dropChild(k *proc) {
	p.mu.Lock()
	delete(p.children, k)
	p.mu.Unlock()
}

// holdUntilEnd keeps h until takeHolder takes h or the process ends. It reports false
// once the process is closed.
func (p *proc) holdUntilEnd(ref Ref, h holder) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == phaseClosed {
		return false
	}
	if p.refs == nil {
		p.refs = map[Ref]holder{}
	}
	p.refs[ref] = h
	if t, ok := h.(*task); ok && p.phase >= phaseEnding {
		t.cancel(nil) // endContext ran before
	}
	return true
}

// takeHolder removes and returns what the process holds under ref, nil if there is none.
func (p *proc) takeHolder(ref Ref) holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.refs[ref]
	delete(p.refs, ref)
	return h
}

// dropWaiter forgets a call that was answered or given up.
func (p *proc) dropWaiter(c *call) {
	p.mu.Lock()
	delete(p.waiters, c)
	p.mu.Unlock()
}

// addWatcher has fn called with the end of the process, at once if the process has ended.
func (p *proc) addWatcher(ref Ref, fn func(Down)) {
	p.mu.Lock()
	if p.phase == phaseClosed {
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

// dropWatcher forgets a watcher. It reports false for a watcher that was called or never
// added.
func (p *proc) dropWatcher(ref Ref) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.watchers[ref]
	delete(p.watchers, ref)
	return ok
}
