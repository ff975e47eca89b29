package otp

// request answers questions at once and queues changes behind the plan.
func (s *static) request(c *call) {
	switch c.msg.(type) {
	case whichChildren:
		list := make([]ChildInfo, len(s.kids))
		for i, k := range s.kids {
			list[i] = k.info()
		}
		c.finish(list, nil)
	case countChildren:
		c.finish(count(s.kids), nil)
	default:
		if s.mode == modeStopping {
			c.finish(nil, ErrStopping)
			return
		}
		s.calls = append(s.calls, c)
		s.pump()
	}
}

// serve carries out one change; no plan is under way.
func (s *static) serve(c *call) {
	if !c.waiting() {
		return
	}
	switch m := c.msg.(type) {
	case startChild:
		if err := s.check(&m.spec); err != nil {
			c.finish(nil, err)
			return
		}
		k := &child{spec: m.spec, from: c, added: true}
		s.kids = append(s.kids, k)
		s.plan = append(s.plan, step{k: k})
	case terminateChild:
		s.terminate(c, m)
	case restartChild:
		if k := s.idle(c, m.id); k != nil {
			k.from, k.added = c, false
			s.plan = append(s.plan, step{k: k})
		}
	case deleteChild:
		if k := s.idle(c, m.id); k != nil {
			s.forget(k)
			c.finish(nil, nil)
		}
	}
}

// idle returns the child without a process and without a pending restart, or
// answers why there is none.
func (s *static) idle(c *call, id string) *child {
	k := s.find(id)
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

func (s *static) terminate(c *call, m terminateChild) {
	k := s.find(m.id)
	if m.pid.p != nil && m.pid.p.parent == s.p {
		k = s.find(m.pid.p.spec.ID)
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
		k.cancelPending()
		if k.spec.Restart == Temporary {
			s.forget(k)
		}
		c.finish(nil, nil)
	}
}
