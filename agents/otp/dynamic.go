package otp

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// dynamic is the supervisor whose children come and go by request. Children
// start, restart and stop independently of each other.
type dynamic struct {
	core
	opts     DynamicSupervisorOptions
	kids     map[*child]struct{}
	stopping bool
	reason   Reason
}

var _ tree = (*dynamic)(nil)

// Init, Handle and Terminate are never called: see begin, message and request.
func (d *dynamic) Init(*Context) error        { return nil }
func (d *dynamic) Handle(*Context, any)       {}
func (d *dynamic) Terminate(*Context, Reason) {}

func (d *dynamic) begin(p *proc) {
	d.p, d.in, d.backoff = p, newIntensity(d.opts.MaxRestarts, d.opts.Period), d.opts.Backoff
	d.kids = map[*child]struct{}{}
	if d.opts.MaxChildren < 0 {
		p.failStart(fmt.Errorf("%w: supervisor %q: MaxChildren must not be negative", ErrBadSpec, p.spec.ID))
		return
	}
	p.ready()
}

func (d *dynamic) message(msg any) {
	switch m := msg.(type) {
	case childReady:
		d.onReady(m.p.slot, m.p)
	case childGone:
		d.onGone(m.p.slot, m.p)
	case startLate:
		d.onLate(m.p)
	case stopExpired:
		d.expire(m.procs)
	case retryChild:
		if m.k.state == pending && m.k.try == m.try && !d.stopping {
			d.retry(m.k)
		}
	case stopTree:
		d.shut(m.reason)
	}
	if d.stopping && len(d.kids) == 0 && !d.p.exiting {
		d.p.exit(d.reason)
	}
}

func (d *dynamic) onReady(k *child, p *proc) {
	if d.core.onReady(k, p) && !k.answerStart(nil) {
		d.halt(k, false)
	}
}

func (d *dynamic) onGone(k *child, p *proc) {
	if k.proc != p {
		return
	}
	if k.state == starting && p.init.Load() {
		d.onReady(k, p)
	}
	switch d.gone(k) {
	case starting:
		d.onStartFailed(k, p)
	case stopping:
		delete(d.kids, k)
		k.answerStart(ErrStopping)
		d.reportStop(k, p)
	case running:
		d.reportExit(k, p)
		if d.stopping || !k.spec.restarts(p.exitReason()) {
			delete(d.kids, k)
			return
		}
		d.restart(k)
	}
}

func (d *dynamic) onStartFailed(k *child, p *proc) {
	err := p.startError()
	if ignored(err) {
		delete(d.kids, k)
		k.answerStart(ErrIgnore)
		return
	}
	d.emit(StartFailed, p, Crash(err))
	if k.starts == 0 || d.stopping {
		delete(d.kids, k)
		k.answerStart(fmt.Errorf("start child %q: %w", k.spec.ID, err))
		return
	}
	d.again(k)
}

func (d *dynamic) restart(k *child) {
	granted, now := d.schedule(k)
	switch {
	case !granted:
		delete(d.kids, k)
		d.shut(d.giveUp())
	case now:
		d.launch(k)
	}
}

func (d *dynamic) retry(k *child) {
	if k.counted {
		k.stopTimer()
		d.launch(k)
		return
	}
	d.restart(k)
}

// shut asks all children to stop at once. Those with equal deadlines share a timer.
func (d *dynamic) shut(r Reason) {
	if d.stopping {
		return
	}
	d.stopping, d.reason = true, r
	groups := map[time.Duration][]*proc{}
	asked := 0
	for k := range d.kids {
		if asked++; asked%maxIdle == 0 {
			runtime.Gosched() // so that those asked end on goroutines that can be used again
		}
		if k.proc == nil {
			k.cancelPending()
			delete(d.kids, k)
			continue
		}
		p, after := k.proc, k.spec.shutdown()
		if k.state == stopping {
			continue // it has its own deadline
		}
		d.halt(k, true)
		if after > 0 {
			groups[after] = append(groups[after], p)
		}
	}
	for after, procs := range groups {
		d.p.hold(d.p.sys.nextRef(), timer{d.p.sys.after(after, func() { d.p.post(stopExpired{procs}) })})
	}
}

func (d *dynamic) request(c *call) {
	switch m := c.msg.(type) {
	case whichChildren:
		list := make([]ChildInfo, 0, len(d.kids))
		for _, k := range d.ordered() {
			list = append(list, k.info())
		}
		c.finish(list, nil)
	case countChildren:
		c.finish(count(d.ordered()), nil)
	case startChild:
		d.startChild(c, m.spec)
	case terminateChild:
		d.terminate(c, m.pid)
	default:
		c.finish(nil, fmt.Errorf("%w: a dynamic supervisor has no ids", ErrNoChild))
	}
}

func (d *dynamic) ordered() []*child {
	list := make([]*child, 0, len(d.kids))
	for k := range d.kids {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *child) int { return cmp.Compare(a.last.epoch, b.last.epoch) })
	return list
}

func (d *dynamic) startChild(c *call, spec ChildSpec) {
	err := spec.validate()
	switch {
	case d.stopping:
		err = ErrStopping
	case err != nil:
	case spec.Significant:
		err = fmt.Errorf("%w: child %q: a dynamic supervisor has no significant children", ErrBadSpec, spec.ID)
	case d.opts.MaxChildren > 0 && len(d.kids) >= d.opts.MaxChildren:
		err = ErrMaxChildren
	}
	if err != nil {
		c.finish(nil, err)
		return
	}
	k := &child{spec: spec, from: c, added: true}
	d.kids[k] = struct{}{}
	d.launch(k)
}

func (d *dynamic) terminate(c *call, pid PID) {
	if pid.p == nil || pid.p.parent != d.p {
		c.finish(nil, ErrNoChild)
		return
	}
	k := pid.p.slot
	if _, ok := d.kids[k]; !ok {
		c.finish(nil, ErrNoChild)
		return
	}
	if k.proc == nil {
		k.cancelPending()
		delete(d.kids, k)
		c.finish(nil, nil)
		return
	}
	k.stopped = append(k.stopped, c)
	if k.state != stopping {
		d.halt(k, false)
	}
}
