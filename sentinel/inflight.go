package sentinel

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// The phases of a call in flight.
const (
	PhaseApproval = "awaiting_approval" // for a person
	PhasePlaces   = "awaiting_places"   // a person said yes; its turn and agent wait for their places
	PhaseQueued   = "queued"            // allowed; others of its skill come first
	PhaseRunning  = "running"
	PhaseHanded   = "handed_over" // a program elsewhere has its warrant and has not reported it
)

// InFlight is a call that waits for a person, for its places or for its skill, or runs.
// Only one that runs or was handed over has an effect whatever is paused from now on.
type InFlight struct {
	CallID       string `json:"call"`
	Conversation string `json:"conversation"`
	User         string `json:"user"`
	Agent        string `json:"agent"`
	Skill        string `json:"skill"`
	// Remote is the principal who runs the call in a program elsewhere; empty where it runs here.
	Remote string `json:"remote,omitempty"`
	Phase  string `json:"phase"`
	// Since is when the phase began.
	Since time.Time `json:"since"`
}

// AwaitsOthers reports whether a call that runs elsewhere waits for a person, or for its program to come
// back for it. It stays held without this process, which therefore need not wait for it.
func (f InFlight) AwaitsOthers() bool {
	return f.Remote != "" && (f.Phase == PhaseApproval || f.Phase == PhasePlaces)
}

// flightList holds the calls in flight by a number of their own: a call id may be
// there twice for a moment, when it is proposed again.
type flightList struct {
	mu    sync.Mutex
	last  int
	calls map[int]InFlight
}

// flightEntry is a call's place in the list.
type flightEntry struct {
	f *flightList
	n int
}

// addCall adds a call.
func (f *flightList) addCall(c Call, phase string, now time.Time) flightEntry {
	g := c.Grant()
	in := InFlight{
		CallID: c.Proposed().ID(), Conversation: g.Conversation(), User: g.User(), Agent: g.Agent(), Skill: c.Name(),
		Remote: g.Remote(), Phase: phase, Since: now,
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[int]InFlight{}
	}
	f.last++
	f.calls[f.last] = in
	return flightEntry{f, f.last}
}

// setPhase says that the call is in another phase.
func (e flightEntry) setPhase(phase string, now time.Time) {
	e.f.mu.Lock()
	defer e.f.mu.Unlock()
	if in, ok := e.f.calls[e.n]; ok {
		in.Phase, in.Since = phase, now
		e.f.calls[e.n] = in
	}
}

// removeCall takes the call out again.
func (e flightEntry) removeCall() {
	e.f.mu.Lock()
	defer e.f.mu.Unlock()
	delete(e.f.calls, e.n)
}

// list returns the calls, the oldest first.
func (f *flightList) list() []InFlight {
	f.mu.Lock()
	out := make([]InFlight, 0, len(f.calls))
	for _, in := range f.calls {
		out = append(out, in)
	}
	f.mu.Unlock()
	slices.SortFunc(out, func(a, b InFlight) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.CallID, b.CallID))
	})
	return out
}
