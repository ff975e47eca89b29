package sentinel

import (
	"errors"
	"time"
)

// Pauser says whether an operator has paused what a call would be part of. It
// is asked when a call is proposed, again before its decision is written down,
// and a last time when nothing stands between the call and its start but the
// start, so it must answer at once and can't fail.
type Pauser interface {
	Paused(user, skill string) (Pause, bool)
}

// Pause is why a call is refused for now.
type Pause struct {
	// Scope is what was paused: "all", "user" or "skill".
	Scope string
	Since time.Time
}

// CodePaused is the code of a call that an operator's pause refuses.
const CodePaused = "limits.paused"

// CodeOutcomePaused is the code of the outcome of a call that was allowed, on record, and
// that a pause caught before it began. Its status is StatusFailed: nothing ran.
const CodeOutcomePaused = "paused"

// pausedError is why a call that was allowed did not begin.
type pausedError struct{ v Verdict }

// Error says in the record why the call was not started.
func (e *pausedError) Error() string { return "not started: " + e.v.Reason }

// isPaused reports whether err is a pause's.
func isPaused(err error) bool {
	var e *pausedError
	return errors.As(err, &e)
}
