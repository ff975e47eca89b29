package sentinel

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Pauser says whether an operator has paused what a call would be part of. It
// is asked when a call is proposed and again right before it would start, so
// it must answer at once and can't fail.
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

// paused returns the verdict of the pause in force, if one is. It goes by the
// name of the limits, as all that is refused without being judged does.
func (p *Checkpoint) paused(user, skill string) (Verdict, bool) {
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

// halt denies a call that was allowed, also by a person, and that a pause
// caught before it could start.
func (p *Checkpoint) halt(c Call, d *Decision) {
	v, ok := p.paused(c.Grant().User(), c.Name())
	if !ok {
		return
	}
	d.put(v)
	d.Outcome, d.BlockedBy, d.Code, d.Reason = Deny, v.Gate, v.Code, v.Reason
}

// The phases of a call in flight.
const (
	PhaseApproval = "awaiting_approval"
	PhaseRunning  = "running"
)

// InFlight is a call that waits for a person or runs.
type InFlight struct {
	CallID       string    `json:"call"`
	Conversation string    `json:"conversation"`
	User         string    `json:"user"`
	Agent        string    `json:"agent"`
	Skill        string    `json:"skill"`
	Phase        string    `json:"phase"`
	Since        time.Time `json:"since"`
}

// InFlight returns the calls that wait for a person or run, the oldest first.
func (p *Checkpoint) InFlight() []InFlight {
	p.flight.mu.Lock()
	out := make([]InFlight, 0, len(p.flight.calls))
	for _, f := range p.flight.calls {
		out = append(out, f)
	}
	p.flight.mu.Unlock()
	slices.SortFunc(out, func(a, b InFlight) int {
		if n := a.Since.Compare(b.Since); n != 0 {
			return n
		}
		return strings.Compare(a.CallID, b.CallID)
	})
	return out
}

// flight holds the calls in flight by a number of their own: a call id may be
// there twice for a moment, when it is proposed again.
type flight struct {
	mu    sync.Mutex
	last  int
	calls map[int]InFlight
}

// enter adds a call; leave takes it out again.
func (f *flight) enter(c Call, phase string, now time.Time) (leave func()) {
	g := c.Grant()
	in := InFlight{
		CallID: c.Proposed().ID(), Conversation: g.Conversation(), User: g.User(), Agent: g.Agent(), Skill: c.Name(),
		Phase: phase, Since: now,
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[int]InFlight{}
	}
	f.last++
	n := f.last
	f.calls[n] = in
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.calls, n)
	}
}
