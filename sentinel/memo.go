package sentinel

// Memo keeps what was worked out of one step of a Trace, so that it is worked out once for
// all calls that have the step behind them. It has one slot, which package sentinel/flow
// uses. It is safe for concurrent use.
type Memo struct{ slot lazy[any] }

// Keep returns what build made at the first call.
func (m *Memo) Keep(build func() any) any { return m.slot.get(build) }

func yieldStep(s Step, yield func(Step, *Memo) bool) bool {
	memo := &s.readingOf().memo
	s.read = nil
	return yield(s, memo)
}
