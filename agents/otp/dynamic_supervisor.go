package otp

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// dynamicSupervisor is the supervisor whose children come and go by request. Children
// start, restart and stop independently of each other.
type dynamicSupervisor struct {
	supervisorCore
	opts     DynamicSupervisorOptions
	children map[*child]struct{}
	stopping bool
	reason   Reason
}

var _ supervisorServer = (*dynamicSupervisor)(nil)

// Init, Handle and Terminate are never called: see beginStart, onMessage and onRequest.
func (d *dynamicSupervisor) Init(*Context) error        { return nil }
func (d *dynamicSupervisor) Handle(*Context, any)       {}
func (d *dynamicSupervisor) Terminate(*Context, Reason) {}

// beginStart checks the options and reports the supervisor ready: it starts without
// children.
func (d *dynamicSupervisor) beginStart(p *proc) {
	d.p, d.intensity, d.backoff = p, newIntensity(d.opts.MaxRestarts, d.opts.Period), d.opts.Backoff
	d.children = map[*child]struct{}{}
	if d.opts.MaxChildren < 0 {
		p.failStart(fmt.Errorf("%w: supervisor %q: MaxChildren must not be negative", ErrBadSpec, p.spec.ID))
		return
	}
	p.reportReady()
}

// onMessage handles one message of the package's own parts.
func (d *dynamicSupervisor) onMessage(msg any) {
	switch m := msg.(type) {
	case childReady:
		d.onChildReady(m.p.slot, m.p)
	case childGone:
		d.onChildGone(m.p.slot, m.p)
	case startLate:
		d.onStartLate(m.p)
	case stopExpired:
		d.killExpired(m.procs)
	case retryChild:
		if m.k.state == pending && m.k.try == m.try && !d.stopping {
			d.onRestartDue(m.k)
		}
	case stopTree:
		d.beginShutdown(m.reason)
	}
	if d.stopping && len(d.children) == 0 && !d.p.exiting {
		d.p.endWithReason(d.reason)
	}
}

// onChildReady marks the child running; a child whose StartChild caller gave up is
// stopped.
func (d *dynamicSupervisor) onChildReady(k *child, p *proc) {
	if d.markRunning(k, p) && !k.answerStart(nil) {
		d.askChildToStop(k, false)
	}
}

// onChildGone records the end of a child's process and restarts the child as its spec
// says.
func (d *dynamicSupervisor) onChildGone(k *child, p *proc) {
	if k.proc != p {
		return
	}
	if k.state == starting && p.init.Load() {
		d.onChildReady(k, p)
	}
	switch d.clearProcess(k) {
	case starting:
		d.onStartFailed(k, p)
	case stopping:
		delete(d.children, k)
		k.answerStart(ErrStopping)
		d.reportStop(k, p)
	case running:
		d.reportExit(k, p)
		if d.stopping || !k.spec.restartsAfter(p.exitReason()) {
			delete(d.children, k)
			return
		}
		d.restartOrGiveUp(k)
	}
}

// onStartFailed answers a failed first start, and retries a failed restart.
func (d *dynamicSupervisor) onStartFailed(k *child, p *proc) {
	err := p.startError()
	if isIgnored(err) {
		delete(d.children, k)
		k.answerStart(ErrIgnore)
		return
	}
	d.reportChild(StartFailed, p, Crash(err))
	if k.starts == 0 || d.stopping {
		delete(d.children, k)
		k.answerStart(fmt.Errorf("start child %q: %w", k.spec.ID, err))
		return
	}
	d.requeueRestart(k)
}

// restartOrGiveUp restarts a child within the intensity. Beyond it the supervisor gives
// up.
func (d *dynamicSupervisor) restartOrGiveUp(k *child) {
	granted, now := d.scheduleRestart(k)
	switch {
	case !granted:
		delete(d.children, k)
		d.beginShutdown(d.giveUpRestarts())
	case now:
		d.launchChild(k)
	}
}

// onRestartDue restarts a child whose delay is over or whose restart failed.
func (d *dynamicSupervisor) onRestartDue(k *child) {
	if k.counted {
		k.stopTimer()
		d.launchChild(k)
		return
	}
	d.restartOrGiveUp(k)
}

// beginShutdown asks all children to stop at once. Those with equal deadlines share a timer.
func (d *dynamicSupervisor) beginShutdown(r Reason) {
	if d.stopping {
		return
	}
	d.stopping, d.reason = true, r
	groups := map[time.Duration][]*proc{}
	asked := 0
	for k := range d.children {
		if asked++; asked%maxIdle == 0 {
			runtime.Gosched() // so that those asked end on goroutines that can be used again
		}
		if k.proc == nil {
			k.cancelRestart()
			delete(d.children, k)
			continue
		}
		p, after := k.proc, k.spec.shutdownTime()
		if k.state == stopping {
			continue // it has its own deadline
		}
		d.askChildToStop(k, true)
		if after > 0 {
			groups[after] = append(groups[after], p)
		}
	}
	for after, procs := range groups {
		d.p.holdUntilEnd(d.p.sys.nextRef(), timer{d.p.sys.startTimer(after, func() { d.p.postMessage(stopExpired{procs}) })})
	}
}

// onRequest answers a question at once and begins a change.
func (d *dynamicSupervisor) onRequest(c *call) {
	switch m := c.msg.(type) {
	case whichChildren:
		list := make([]ChildInfo, 0, len(d.children))
		for _, k := range d.listInOrder() {
			list = append(list, k.describeChild())
		}
		c.finish(list, nil)
	case countChildren:
		c.finish(countRecords(d.listInOrder()), nil)
	case startChild:
		d.startChild(c, m.spec)
	case terminateChild:
		d.terminateChild(c, m.pid)
	default:
		c.finish(nil, fmt.Errorf("%w: a dynamic supervisor has no ids", ErrNoChild))
	}
}

// listInOrder returns the children in the order of their newest starts.
func (d *dynamicSupervisor) listInOrder() []*child {
	list := make([]*child, 0, len(d.children))
	for k := range d.children {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *child) int { return cmp.Compare(a.last.epoch, b.last.epoch) })
	return list
}

// startChild launches a child for StartChild, or answers why not.
func (d *dynamicSupervisor) startChild(c *call, spec ChildSpec) {
	err := spec.validate()
	switch {
	case d.stopping:
		err = ErrStopping
	case err != nil:
	case spec.Significant:
		err = fmt.Errorf("%w: child %q: a dynamic supervisor has no significant children", ErrBadSpec, spec.ID)
	case d.opts.MaxChildren > 0 && len(d.children) >= d.opts.MaxChildren:
		err = ErrMaxChildren
	}
	if err != nil {
		c.finish(nil, err)
		return
	}
	k := &child{spec: spec, from: c, added: true}
	d.children[k] = struct{}{}
	d.launchChild(k)
}

// terminateChild stops a child for TerminateChild; its end answers the call.
func (d *dynamicSupervisor) terminateChild(c *call, pid PID) {
	if pid.p == nil || pid.p.parent != d.p {
		c.finish(nil, ErrNoChild)
		return
	}
	k := pid.p.slot
	if _, ok := d.children[k]; !ok {
		c.finish(nil, ErrNoChild)
		return
	}
	if k.proc == nil {
		k.cancelRestart()
		delete(d.children, k)
		c.finish(nil, nil)
		return
	}
	k.stopped = append(k.stopped, c)
	if k.state != stopping {
		d.askChildToStop(k, false)
	}
}
