package otp

import (
	"fmt"
	"slices"
)

// mode is what a static supervisor is doing.
type mode uint8

const (
	modeStarting mode = iota
	modeRunning
	modeStopping
)

// step is one entry of a plan: stop or start one child and wait for it.
type step struct {
	k    *child
	stop bool
}

// exited is a child's end that came while a plan was under way.
type exited struct {
	k *child
	p *proc
}

// staticSupervisor is the supervisor with listed children. It is a state machine: what
// takes time is a plan of steps, each awaited by message, so that it answers
// questions and stop requests at any moment. Requests that change children and
// ends of children not in the plan wait until the plan is done, as they would
// wait in an OTP supervisor's mailbox.
type staticSupervisor struct {
	supervisorCore
	opts     SupervisorOptions
	children []*child
	mode     mode
	plan     []step
	exits    []exited
	calls    []*call
	reason   Reason
	failed   error // why the initial start failed
}

var _ supervisorServer = (*staticSupervisor)(nil)

// Init, Handle and Terminate are never called: see beginStart, onMessage and onRequest.
func (s *staticSupervisor) Init(*Context) error        { return nil }
func (s *staticSupervisor) Handle(*Context, any)       {}
func (s *staticSupervisor) Terminate(*Context, Reason) {}

// beginStart checks the options and plans the start of every listed child.
func (s *staticSupervisor) beginStart(p *proc) {
	s.p, s.intensity, s.backoff = p, newIntensity(s.opts.MaxRestarts, s.opts.Period), s.opts.Backoff
	if s.opts.Strategy > RestForOne || s.opts.AutoShutdown > AutoShutdownAll {
		p.failStart(fmt.Errorf("%w: supervisor %q: unknown Strategy or AutoShutdown", ErrBadSpec, p.spec.ID))
		return
	}
	for _, spec := range s.opts.Children {
		if err := s.checkSpec(&spec); err != nil {
			p.failStart(fmt.Errorf("supervisor %q: %w", p.spec.ID, err))
			return
		}
		k := &child{spec: spec}
		s.children = append(s.children, k)
		s.plan = append(s.plan, step{k: k})
	}
	s.opts.Children = nil
	s.runUntilWaiting()
}

// checkSpec returns why the supervisor can't have a child of this spec, nil if it can.
func (s *staticSupervisor) checkSpec(spec *ChildSpec) error {
	if err := spec.validate(); err != nil {
		return err
	}
	if spec.Significant && s.opts.AutoShutdown == AutoShutdownNever {
		return fmt.Errorf("%w: child %q: significant needs AutoShutdown", ErrBadSpec, spec.ID)
	}
	if s.findChild(spec.ID) != nil {
		return fmt.Errorf("child %q: %w", spec.ID, ErrDuplicate)
	}
	return nil
}

// findChild returns the child of that id, nil if there is none.
func (s *staticSupervisor) findChild(id string) *child {
	for _, k := range s.children {
		if k.spec.ID == id {
			return k
		}
	}
	return nil
}

// onMessage handles one message of the package's own parts and goes on with the plan.
func (s *staticSupervisor) onMessage(msg any) {
	switch m := msg.(type) {
	case childReady:
		s.onChildReady(m.p.slot, m.p)
	case childGone:
		s.onChildGone(m.p.slot, m.p)
	case startLate:
		s.onStartLate(m.p)
	case stopExpired:
		s.killExpired(m.procs)
	case retryChild:
		if m.k.state == pending && m.k.try == m.try && s.mode == modeRunning {
			s.exits = append(s.exits, exited{k: m.k})
		}
	case stopTree:
		s.beginShutdown(m.reason)
	}
	s.runUntilWaiting()
}

// onChildReady marks the child running. A child whose StartChild caller gave up must not
// stay.
func (s *staticSupervisor) onChildReady(k *child, p *proc) {
	if s.markRunning(k, p) && !k.answerStart(nil) {
		if k.added {
			k.spec.Restart = Temporary // so that the stop forgets it
		}
		s.plan = append(s.plan, step{k: k, stop: true})
	}
}

// onChildGone records the end of a child's process; onChildExit decides on a restart once the
// plan is done.
func (s *staticSupervisor) onChildGone(k *child, p *proc) {
	if k.proc != p {
		return
	}
	if k.state == starting && p.init.Load() {
		s.onChildReady(k, p) // its ready message is still under way, or was lost to a kill
	}
	switch s.clearProcess(k) {
	case starting:
		s.onStartFailed(k, p)
	case stopping:
		k.answerStart(ErrStopping)
		s.reportStop(k, p)
	case running:
		s.reportExit(k, p)
		s.exits = append(s.exits, exited{k, p})
	}
}

// runUntilWaiting works through plan, exits and requests until something has to be waited
// for.
func (s *staticSupervisor) runUntilWaiting() {
	for !s.p.exiting {
		switch {
		case len(s.plan) > 0:
			if !s.advancePlan() {
				return
			}
		case s.mode == modeStarting:
			s.mode = modeRunning
			s.p.reportReady()
		case s.mode == modeStopping:
			s.endProcess()
		case len(s.exits) > 0:
			e := s.exits[0]
			s.exits = s.exits[1:]
			s.onChildExit(e.k, e.p)
		case len(s.calls) > 0:
			c := s.calls[0]
			s.calls = s.calls[1:]
			s.carryOutChange(c)
		default:
			return
		}
	}
}

// advancePlan works on the first step of the plan and reports whether the step is done.
func (s *staticSupervisor) advancePlan() bool {
	st := s.plan[0]
	k := st.k
	switch {
	case st.stop && k.proc == nil:
		k.cancelRestart()
		k.last = nil // its end, if queued, is part of this plan
		if k.spec.Restart == Temporary && s.mode != modeStopping {
			s.forgetChild(k)
		}
	case st.stop:
		if k.state != stopping {
			s.askChildToStop(k, false)
		}
		return false
	case k.state == running || !slices.Contains(s.children, k):
	case k.proc != nil:
		return false
	default:
		k.stopTimer()
		s.launchChild(k)
		return false
	}
	s.plan = s.plan[1:]
	return true
}

// onStartFailed handles a failed start. An initial start takes the supervisor down, a
// requested one is answered, and one of a restart is counted and tried again.
func (s *staticSupervisor) onStartFailed(k *child, p *proc) {
	err := p.startError()
	s.plan = slices.DeleteFunc(s.plan, func(st step) bool { return st.k == k && !st.stop })
	asked := k.from != nil
	if isIgnored(err) {
		k.answerStart(ErrIgnore)
		if k.spec.Restart == Temporary {
			s.forgetChild(k)
		}
		return
	}
	s.reportChild(StartFailed, p, Crash(err))
	err = fmt.Errorf("start child %q: %w", k.spec.ID, err)
	switch {
	case s.mode == modeStarting:
		s.failed = err
		s.beginShutdown(Shutdown(err))
	case asked:
		k.answerStart(err)
		if k.added {
			s.forgetChild(k)
		}
	case s.mode == modeRunning:
		s.plan = nil
		s.requeueRestart(k)
	}
}

// onChildExit applies the restart rules to a child that ended by itself. A nil p is a
// pending restart that is due.
func (s *staticSupervisor) onChildExit(k *child, p *proc) {
	due := p == nil
	switch {
	case due && k.state != pending, !due && (k.last != p || k.proc != nil):
		return // stopped or started again meanwhile
	case !due && !k.spec.restartsAfter(p.exitReason()):
		if k.spec.Restart == Temporary {
			s.forgetChild(k)
		}
		s.applyAutoShutdown(k)
		return
	case due && k.counted:
		s.planGroupRestart(k) // counted when it was scheduled
		return
	}
	granted, now := s.scheduleRestart(k)
	switch {
	case !granted:
		s.beginShutdown(s.giveUpRestarts())
	case now:
		s.planGroupRestart(k)
	}
}

// planGroupRestart plans the restart of the strategy's group: stop in reverse, start in
// order.
func (s *staticSupervisor) planGroupRestart(k *child) {
	k.cancelRestart()
	from, to := slices.Index(s.children, k), slices.Index(s.children, k)+1
	switch s.opts.Strategy {
	case OneForAll:
		from, to = 0, len(s.children)
	case RestForOne:
		to = len(s.children)
	}
	group := s.children[from:to]
	for i := len(group) - 1; i >= 0; i-- {
		if group[i] != k {
			s.plan = append(s.plan, step{k: group[i], stop: true})
		}
	}
	for _, g := range group {
		s.plan = append(s.plan, step{k: g})
	}
}

// applyAutoShutdown ends the supervisor with its significant children (R12).
func (s *staticSupervisor) applyAutoShutdown(k *child) {
	if !k.spec.Significant || s.mode != modeRunning {
		return
	}
	if s.opts.AutoShutdown == AutoShutdownAll {
		for _, o := range s.children {
			if o.spec.Significant && (o.proc != nil || o.state == pending) {
				return
			}
		}
	}
	s.beginShutdown(Shutdown(ErrAutoShutdown))
}

// beginShutdown begins the supervisor's own end: stop all in reverse, each awaited.
func (s *staticSupervisor) beginShutdown(r Reason) {
	if s.mode == modeStopping {
		return
	}
	s.mode, s.reason = modeStopping, r
	s.plan, s.exits = nil, nil
	for _, c := range s.calls {
		c.finish(nil, ErrStopping)
	}
	s.calls = nil
	for i := len(s.children) - 1; i >= 0; i-- {
		s.plan = append(s.plan, step{k: s.children[i], stop: true})
	}
}

// endProcess ends the supervisor's process, all its children being gone.
func (s *staticSupervisor) endProcess() {
	if s.failed != nil {
		s.p.failStart(s.failed)
		return
	}
	s.p.endWithReason(s.reason)
}

// forgetChild removes the child and its spec.
func (s *staticSupervisor) forgetChild(k *child) {
	s.children = slices.DeleteFunc(s.children, func(o *child) bool { return o == k })
}

// onRequest answers a question at once and queues a change behind the plan.
func (s *staticSupervisor) onRequest(c *call) {
	switch c.msg.(type) {
	case whichChildren:
		list := make([]ChildInfo, len(s.children))
		for i, k := range s.children {
			list[i] = k.describeChild()
		}
		c.finish(list, nil)
	case countChildren:
		c.finish(countRecords(s.children), nil)
	default:
		if s.mode == modeStopping {
			c.finish(nil, ErrStopping)
			return
		}
		s.calls = append(s.calls, c)
		s.runUntilWaiting()
	}
}

// carryOutChange carries out one change; no plan is under way.
func (s *staticSupervisor) carryOutChange(c *call) {
	if !c.isWaiting() {
		return
	}
	switch m := c.msg.(type) {
	case startChild:
		if err := s.checkSpec(&m.spec); err != nil {
			c.finish(nil, err)
			return
		}
		k := &child{spec: m.spec, from: c, added: true}
		s.children = append(s.children, k)
		s.plan = append(s.plan, step{k: k})
	case terminateChild:
		s.terminateChild(c, m)
	case restartChild:
		if k := s.findAbsentChild(c, m.id); k != nil {
			k.from, k.added = c, false
			s.plan = append(s.plan, step{k: k})
		}
	case deleteChild:
		if k := s.findAbsentChild(c, m.id); k != nil {
			s.forgetChild(k)
			c.finish(nil, nil)
		}
	}
}

// findAbsentChild returns the child of that id if it has neither a process nor a pending
// restart. Otherwise it answers the call with the cause.
func (s *staticSupervisor) findAbsentChild(c *call, id string) *child {
	k := s.findChild(id)
	switch {
	case k == nil:
		c.finish(nil, ErrNoChild)
	case k.state != absent:
		c.finish(nil, ErrRunning)
	default:
		return k
	}
	return nil
}

// terminateChild plans the stop of a child for TerminateChild; its end answers the call.
func (s *staticSupervisor) terminateChild(c *call, m terminateChild) {
	k := s.findChild(m.id)
	if m.pid.p != nil && m.pid.p.parent == s.p {
		k = s.findChild(m.pid.p.spec.ID)
		if k != m.pid.p.slot {
			k = nil
		}
	}
	switch {
	case k == nil:
		c.finish(nil, ErrNoChild)
	case k.proc != nil:
		k.stopped = append(k.stopped, c)
		s.plan = append(s.plan, step{k: k, stop: true})
	default:
		k.cancelRestart()
		if k.spec.Restart == Temporary {
			s.forgetChild(k)
		}
		c.finish(nil, nil)
	}
}
