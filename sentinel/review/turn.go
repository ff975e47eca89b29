package review

import (
	"time"
)

// turn is the time that one model has for one call.
type turn struct {
	end time.Time
	// fair is the least that a request has, for its timeout to say something of
	// the model.
	fair time.Duration
	// user and turn are the call's, and ahead says whether no call waits for the answer
	// yet.
	user, turn string
	prejudging *expected
	// canary says that the question is this package's own.
	canary bool
}

// waitLimit is until when a request waits for its turn: as long as would be left
// for the answer.
func (t turn) waitLimit() time.Time {
	now := time.Now()
	return now.Add(t.end.Sub(now) / 2)
}

// leavesTimeFor reports whether there is time for an answer after a wait.
func (t turn) leavesTimeFor(wait time.Duration) bool { return time.Until(t.end)-wait >= t.fair }
