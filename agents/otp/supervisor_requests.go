package otp

// onRequest answers questions at once and queues changes behind the plan.
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

// findAbsentChild returns the child without a process and without a pending restart, or
// answers why there is none.
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
