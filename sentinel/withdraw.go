package sentinel

import (
	"context"
	"maps"
	"slices"

	"github.com/vedette-dev/vedette/skills"
)

// heldWait is one call at a desk from before its question is put on record until
// its decision is, or until it is left held.
type heldWait struct {
	withdraw context.CancelCauseFunc
	done     chan struct{}
}

// enterWait lists a call that a person is to be asked about at the desk and those
// above it. The context that it returns ends with skills.ErrWithdrawn when one of
// them is withdrawn; leave ends the entry. ok is false where one already is.
func (d *Desk) enterWait(ctx context.Context) (waiting context.Context, leave func(), ok bool) {
	waiting, cancel := context.WithCancelCause(ctx)
	w := &heldWait{cancel, make(chan struct{})}
	leave = func() {
		for at := d; at != nil; at = at.parent {
			at.mu.Lock()
			delete(at.waits, w)
			at.mu.Unlock()
		}
		close(w.done)
		cancel(nil)
	}
	for at := d; at != nil; at = at.parent {
		at.mu.Lock()
		over := at.over
		if at.waits == nil {
			at.waits = map[*heldWait]struct{}{}
		}
		at.waits[w] = struct{}{}
		at.mu.Unlock()
		if over {
			leave()
			return ctx, func() {}, false
		}
	}
	return waiting, leave, true
}

// Withdraw ends every question of this desk and of those below it that waits for
// a person, each with a decision on record, and lets no other be asked: for an
// agent or a turn that has ended. It returns when all of them have ended; what
// runs by then it leaves alone. The error is ctx's.
func (d *Desk) Withdraw(ctx context.Context) error {
	d.mu.Lock()
	d.over = true
	list := slices.Collect(maps.Keys(d.waits))
	d.mu.Unlock()
	for _, w := range list {
		w.withdraw(skills.ErrWithdrawn)
	}
	for _, w := range list {
		select {
		case <-w.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
