package stream

// release lets leave what waits, up to the first call that isn't decided.
func (m *Machine) release() {
	for !m.over && m.next < len(m.queue) {
		it := m.queue[m.next]
		if it.call != nil && it.call.state != decided {
			return
		}
		m.queue[m.next] = item{}
		m.next++
		if it.call == nil {
			m.buffered -= len(it.event.Raw) + itemSize
			m.leave(it.event)
			continue
		}
		m.settle(it.call)
	}
	if m.next == len(m.queue) {
		m.queue, m.next = m.queue[:0], 0
		if cap(m.queue) > maxSpare {
			m.queue = nil
		}
	}
}

// maxSpare is how many empty places a queue keeps.
const maxSpare = 64

// settle applies the word on the call whose turn it is.
func (m *Machine) settle(h *heldCall) {
	switch {
	case !h.allow:
		m.buffered -= h.size
		h.state = gone
		m.step.Out = append(m.step.Out, Output{Kind: Notice, Lane: h.call.Lane, Call: h.call, Text: h.text})
		if m.opts.OnBlock == Terminate {
			m.terminate()
		}
	case m.callsLast:
		h.state = kept
		m.last = append(m.last, h)
	default:
		m.forward(h)
	}
}

func (m *Machine) forward(h *heldCall) {
	m.buffered -= h.size
	h.state = gone
	m.step.Out = append(m.step.Out, Output{Kind: Forward, Lane: h.call.Lane, Call: h.call, Tail: h.tail, Mark: h.mark})
	h.call.Args, h.call.head, h.tail = nil, nil, nil
}

// forwardLast lets the calls leave that were kept for the end.
func (m *Machine) forwardLast() {
	for _, h := range m.last {
		m.forward(h)
	}
	m.last = nil
}

// leave writes an event whose turn it is.
func (m *Machine) leave(e Event) {
	switch e.Kind {
	case Finish:
		m.forwardLast()
	case End:
		m.end()
		return
	case Cut:
		if m.opts.Incomplete == JudgeIncomplete && len(m.calls) > 0 {
			m.end()
			return
		}
		m.fail(CodeCut)
		return
	}
	m.step.Out = append(m.step.Out, Output{Kind: e.Kind, Raw: e.Raw, Lane: e.Lane, Reason: e.Reason, Mark: e.Mark})
}

func (m *Machine) end() {
	m.forwardLast()
	m.step.Out = append(m.step.Out, Output{Kind: End})
	m.over, m.step.Done = true, true
}

// terminate ends the answer behind a blocked call. Of what waits only reasons and usage are used,
// and allowed calls that were kept leave: they came before the blocked one.
func (m *Machine) terminate() {
	rest := m.queue[m.next:]
	m.forwardLast()
	for _, kind := range []Kind{Finish, Usage} {
		for _, it := range rest {
			if e := it.event; it.call == nil && e.Kind == kind {
				m.step.Out = append(m.step.Out, Output{Kind: kind, Raw: e.Raw, Lane: e.Lane, Reason: e.Reason, Mark: e.Mark, Ended: true})
			}
		}
	}
	m.step.Out = append(m.step.Out, Output{Kind: End, Ended: true})
	m.drop()
	m.over, m.step.Done = true, true
}
