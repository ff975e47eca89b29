package sentinel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// halt denies a call that was allowed, also by a person, and that a pause
// caught before it could start.
func (p *Checkpoint) halt(c Call, d *Decision) {
	v, ok := p.paused(c.Grant().User(), c.Name())
	if !ok {
		return
	}
	d.put(v)
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
