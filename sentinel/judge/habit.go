package judge

import (
	"context"
	"slices"

	"github.com/vedette-dev/vedette/sentinel"
)

// SignalHabit makes up for doubts about a call that its user has had approved often. It never
// makes up for a hard signal, and a tainted call has none.
const SignalHabit = "habit"

// Habits tells whether a call is a habit of its user's. It must be quick, and answers false
// where it can't tell. *habit.Habits is one.
type Habits interface {
	IsHabit(ctx context.Context, c sentinel.Call) bool
}

// offsetByHabit adds the signal of a habit where the call is one: what the doubts took, and
// no more.
func offsetByHabit(ctx context.Context, habits Habits, c sentinel.Call, s sum) sum {
	if habits == nil || s.doubts == 0 || c.Tainted() {
		return s
	}
	taken := 0
	for _, e := range s.evidence {
		if e.Doubt {
			taken -= min(e.Amount, 0)
		}
	}
	if taken == 0 || !habits.IsHabit(ctx, c) {
		return s
	}
	return addUp(append(slices.Clip(s.evidence), sentinel.Evidence{Signal: SignalHabit, Amount: taken}))
}
