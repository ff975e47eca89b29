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

// CodeRevoked is the code of a call whose principal may act no more: its token was revoked, or has expired.
const CodeRevoked = "limits.revoked"

// CodeOutcomePaused is the code of the outcome of a call that was allowed, on record, and
// that a pause caught before it began. Its status is StatusFailed: nothing ran.
const CodeOutcomePaused = "paused"

// stoppedError is why a call that was allowed did not begin: a pause, a policy that came since, or that its principal or
// approver may act no more.
type stoppedError struct {
	code string   // of the outcome
	no   Decision // what the call is refused with
}

// Error says in the record why the call was not started.
func (e *stoppedError) Error() string { return "not started: " + e.no.Reason }

// outcomeOfStop is the code of the outcome of an allowed call that stopVerdict kept from starting.
func outcomeOfStop(v Verdict) string {
	if v.Code == CodePaused {
		return CodeOutcomePaused
	}
	return CodeWithdrawn
}

// stopOf returns what stopped a call before it began, nil for any other end.
func stopOf(err error) *stoppedError {
	var e *stoppedError
	_ = errors.As(err, &e)
	return e
}
