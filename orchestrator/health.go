package orchestrator

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// The states of a Check.
const (
	CheckOK       = "ok"
	CheckDegraded = "degraded" // it works, with less
	CheckFailed   = "failed"   // no work can be taken
)

// Check is how one part is. It holds no value and no address: callers without a token read it.
type Check struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

const (
	// tryEvery is how often the store is tried at most: each try is a write to the disk.
	tryEvery = 5 * time.Second
	// tryTime bounds one try.
	tryTime = 2 * time.Second
)

// health says how the parts of an Orchestrator are.
type health struct {
	now func() time.Time

	mu    sync.Mutex
	tried time.Time
	state string // of the store, when it was tried
}

// look returns how each part is.
func (h *health) look(ctx context.Context, o *Orchestrator) []Check {
	select {
	case <-o.Done():
		return []Check{{"supervision", CheckFailed}}
	default:
	}
	list := []Check{
		{"store", h.tryStore(ctx, o)}, {"review", lookAtReview(o)}, {"approvals", lookAtApprovals(o)}, {"pause", lookAtPauses(o)},
		{"configuration", lookAtConfiguration(o)},
	}
	if len(o.parts.Anchors()) > 0 {
		list = append(list, Check{"anchors", lookAtAnchors(o)})
	}
	return list
}

// lookAtAnchors says whether every anchor takes the ledger's heads.
func lookAtAnchors(o *Orchestrator) string {
	for _, a := range o.parts.Anchors() {
		if a.Failures > 0 {
			return CheckDegraded
		}
	}
	return CheckOK
}

// tryStore writes a row, unless one was written a moment ago. Callers meanwhile wait for that try.
func (h *health) tryStore(ctx context.Context, o *Orchestrator) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); h.state == "" || now.Sub(h.tried) >= tryEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryTime)
		defer cancel()
		err := o.parts.TryStore(ctx, now)
		if h.tried, h.state = now, CheckOK; err != nil {
			h.state = CheckFailed
		}
	}
	return h.state
}

// lookAtReview says whether every model of the review may be asked: without one, calls are decided by the
// tables for that.
func lookAtReview(o *Orchestrator) string {
	r := o.parts.Review
	if r == nil {
		return "off"
	}
	for _, m := range r.State().Models {
		if m.Breaker != "closed" {
			return CheckDegraded
		}
	}
	if len(o.parts.CanaryFailed()) > 0 {
		return CheckDegraded
	}
	return CheckOK
}

// lookAtApprovals says whether one more call may wait for a person.
func lookAtApprovals(o *Orchestrator) string {
	held := 0
	for _, c := range o.parts.Checkpoint.InFlight() {
		if c.Phase == sentinel.PhaseApproval {
			held++
		}
	}
	if held >= o.parts.Running().Approvals.Pending.Process {
		return CheckDegraded
	}
	return CheckOK
}

// lookAtPauses says whether an operator has paused all work.
func lookAtPauses(o *Orchestrator) string {
	for _, p := range o.parts.Pauses.List() {
		if p.All {
			return CheckDegraded
		}
	}
	return CheckOK
}

// lookAtConfiguration says whether the files say what is in force, as far as the last reload knows.
func lookAtConfiguration(o *Orchestrator) string {
	if last, _ := o.reloads.newest(); last.keepsOld() {
		return CheckDegraded
	}
	return CheckOK
}
