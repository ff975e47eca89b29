package sentinel

import "iter"

// Memo keeps what was worked out of one step of a Trace, so that it is worked out once for
// all calls that have the step behind them. It has one slot, which package sentinel/flow
// uses. It is safe for concurrent use.
type Memo struct{ slot lazy[any] }

// Keep returns what build made at the first call.
func (m *Memo) Keep(build func() any) any { return m.slot.get(build) }

// LearntSteps returns every step that the agent may have learnt of, in order: those of its
// desk, and those of other desks whose results came up. Calls that never ran are none.
func (t Trace) LearntSteps() iter.Seq2[Step, *Memo] {
	return func(yield func(Step, *Memo) bool) {
		h := 0
		for i := 0; i <= len(t.steps); i++ {
			for ; h < len(t.heard) && t.heard[h].at <= i; h++ {
				if e := t.heard[h].entry; e.step.CallID != "" && !yieldStep(e.step, yield) {
					return
				}
			}
			if i < len(t.steps) && !yieldStep(t.steps[i], yield) {
				return
			}
		}
	}
}

func yieldStep(s Step, yield func(Step, *Memo) bool) bool {
	memo := &s.readingOf().memo
	s.read = nil
	return yield(s, memo)
}

// LearntSomething reports whether LearntSteps has a step.
func (t Trace) LearntSomething() bool { return len(t.steps)+len(t.heard) > 0 }
