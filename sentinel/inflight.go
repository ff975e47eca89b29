package sentinel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
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
}

// CodeOutcomePaused is the code of the outcome of a call that was allowed, on record, and
// that a pause caught before it began. Its status is StatusFailed: nothing ran.
const CodeOutcomePaused = "paused"

// stop is why a call that was allowed did not begin.
type stop struct{ v Verdict }

// Error says in the record why the call was not started.
func (s *stop) Error() string { return "not started: " + s.v.Reason }

// stopped reports whether err is a pause's.
func stopped(err error) bool {
	var s *stop
	return errors.As(err, &s)
}

// caught records that a pause kept an allowed call from starting, and refuses
// it. It left no trace and says nothing about its skill.
func (d *Desk) caught(ctx context.Context, g granted, b outcomeBody, err error) error {
	d.p.release(ctx, g.c.Name(), g.c.Proposed().ID())
	b.Status, b.Code = StatusFailed, CodeOutcomePaused
	d.p.ended(ctx, g, b, []Value{{"error", []byte(err.Error())}})
	no := g.d
	var s *stop
	if errors.As(err, &s) {
		no.put(s.v)
	}
	return refusal(no)
}

// The phases of a call in flight.
const (
	PhaseApproval = "awaiting_approval" // for a person
	PhaseQueued   = "queued"            // allowed; others of its skill come first
	PhaseRunning  = "running"
)

// InFlight is a call that waits for a person, waits for its skill, or runs.
// Only one that runs has an effect whatever is paused from now on.
type InFlight struct {
	CallID       string `json:"call"`
	Conversation string `json:"conversation"`
	User         string `json:"user"`
	Agent        string `json:"agent"`
	Skill        string `json:"skill"`
	Phase        string `json:"phase"`
	// Since is when the phase began.
	Since time.Time `json:"since"`
}

// InFlight returns the calls that wait for a person or for their skill, or run,
// the oldest first. After a pause began, a call that it stops and that is not
// among them does not run.
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

// seat is a call's place in the list.
type seat struct {
	f *flight
	n int
}

// enter adds a call.
func (f *flight) enter(c Call, phase string, now time.Time) seat {
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
	f.calls[f.last] = in
	return seat{f, f.last}
}

// turn says that the call is in another phase.
func (s seat) turn(phase string, now time.Time) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if in, ok := s.f.calls[s.n]; ok {
		in.Phase, in.Since = phase, now
		s.f.calls[s.n] = in
	}
}

// leave takes the call out again.
func (s seat) leave() {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	delete(s.f.calls, s.n)
}
