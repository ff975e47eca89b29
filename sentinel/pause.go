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

// pauseVerdict returns the verdict of the pause in force, if one is. It goes by the
// name of the limits, as all that is refused without being judged does.
func (p *Checkpoint) pauseVerdict(user, skill string) (Verdict, bool) {
	if p.o.Pauser == nil {
		return Verdict{}, false
	}
	by, ok := p.o.Pauser.Paused(user, skill)
	if !ok {
		return Verdict{}, false
	}
	v := Refuse(CodePaused, "an operator has paused "+pausedWhat[by.Scope])
	v.Gate = GateLimits
	v.WhatYouCanDo = "Stop here and tell the user that work was paused; don't try again until told."
	return v, true
}

var pausedWhat = map[string]string{
	"all": "all work", "user": "this user's work", "skill": "this skill", "": "the work",
}

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
