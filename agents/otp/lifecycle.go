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

// kill ends the process and everything below it at once, from any goroutine.
// If a callback is running its goroutine cannot be ended: it is abandoned and
// counted until it returns.
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

func (p *proc) killChildren() {
	p.mu.Lock()
	kids := p.children
	p.children = nil
	p.mu.Unlock()
	for k := range kids {
		k.kill()
	}
}

// detachActor takes the actor out of the registry and releases its parent, which
// would otherwise wait for it for ever. The actor ends when its callback does.
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

// publishEnd publishes the end of the process, first to the supervisor. A process that learns
// of the end (by Down, an answered Call or Wait) finds the supervisor up to date.
func (p *proc) publishEnd() {
	p.mu.Lock()
	p.frozen = true
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
	p.closed = true
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

func (p *proc) setReason(r Reason, override bool) {
	p.mu.Lock()
	if !p.frozen && (override || !p.hasReason) {
		p.reason, p.hasReason = r, true
	}
	p.mu.Unlock()
}

func (p *proc) exitReason() Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reasonLocked()
}

func (p *proc) reasonLocked() Reason {
	if !p.hasReason {
		return Shutdown(nil)
	}
	return p.reason
}

// endContext cancels the process's context and its tasks'. Those are no
// children of it: a context that has had a child keeps a table for more, and
// most processes that wait for one task need no context of their own.
func (p *proc) endContext() {
	p.mu.Lock()
	p.asked = true
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

// openContext is made on first use: most idle processes never need one.
func (p *proc) openContext() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		p.ctx, p.cancel = context.WithCancel(context.Background())
		if p.asked {
			p.cancel()
		}
	}
	return p.ctx
}

func (p *proc) addChild(k *proc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.run.Load() == dead {
		return false
	}
	if p.children == nil {
		p.children = map[*proc]struct{}{}
	}
	p.children[k] = struct{}{}
	return true
}

func (p *proc) dropChild(k *proc) {
	p.mu.Lock()
	delete(p.children, k)
	p.mu.Unlock()
}

// holdUntilEnd keeps h until takeHolder or the end of the incarnation.
func (p *proc) holdUntilEnd(ref Ref, h holder) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.refs == nil {
		p.refs = map[Ref]holder{}
	}
	p.refs[ref] = h
	if t, ok := h.(*task); ok && p.asked {
		t.cancel(nil) // endContext ran before
	}
	return true
}

// takeHolder removes and returns what is held under ref, nil if it is gone.
func (p *proc) takeHolder(ref Ref) holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.refs[ref]
	delete(p.refs, ref)
	return h
}

func (p *proc) dropWaiter(c *call) {
	p.mu.Lock()
	delete(p.waiters, c)
	p.mu.Unlock()
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
