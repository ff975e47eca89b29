package serve

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/store"
)

const (
	// writeEvery is how often the store is tried at most: each try is a write to the disk.
	writeEvery = 5 * time.Second
	// tryTime bounds one try.
	tryTime = 2 * time.Second
)

var schema = []string{`CREATE TABLE serve_health (one INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT`}

const sqlTouch = `INSERT INTO serve_health (one, at) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET at = excluded.at`

// health says how the parts of an Orchestrator are.
type health struct {
	o   *orchestrator.Orchestrator
	now func() time.Time

	mu    sync.Mutex
	tried time.Time
	state string // of the store, when it was tried
}

// newHealth makes the row that tries write to.
func newHealth(ctx context.Context, o *orchestrator.Orchestrator) (*health, error) {
	if err := o.Parts().Store.Migrate(ctx, "serve", schema); err != nil {
		return nil, err
	}
	return &health{o: o, now: time.Now}, nil
}

// look returns how each part is.
func (h *health) look(ctx context.Context) []Check {
	select {
	case <-h.o.Done():
		return []Check{{"supervision", Failed}}
	default:
	}
	return []Check{{"store", h.tryStore(ctx)}, {"review", h.lookAtReview()}, {"approvals", h.lookAtApprovals()}, {"pause", h.lookAtPauses()}}
}

// tryStore writes a row, unless one was written a moment ago. Callers meanwhile wait for that try.
func (h *health) tryStore(ctx context.Context) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); h.state == "" || now.Sub(h.tried) >= writeEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryTime)
		defer cancel()
		err := h.o.Parts().Store.Submit(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(sqlTouch, now.Unix())
			return err
		})
		if h.tried, h.state = now, OK; err != nil {
			h.state = Failed
		}
	}
	return h.state
}

// lookAtReview says whether every model of the review may be asked: without one, calls are decided by the
// tables for that.
func (h *health) lookAtReview() string {
	r := h.o.Parts().Review
	if r == nil {
		return "off"
	}
	for _, m := range r.State().Models {
		if m.Breaker != "closed" {
			return Degraded
		}
	}
	if len(h.o.Parts().CanaryFailed()) > 0 {
		return Degraded
	}
	return OK
}

// lookAtApprovals says whether one more call may wait for a person.
func (h *health) lookAtApprovals() string {
	held := 0
	for _, c := range h.o.Parts().Checkpoint.InFlight() {
		if c.Phase == sentinel.PhaseApproval {
			held++
		}
	}
	if held >= h.o.Parts().Config.Approvals.Pending.Process {
		return Degraded
	}
	return OK
}

// lookAtPauses says whether an operator has paused all work.
func (h *health) lookAtPauses() string {
	for _, p := range h.o.Parts().Pauses.List() {
		if p.All {
			return Degraded
		}
	}
	return OK
}
