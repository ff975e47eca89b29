package orchestrator

import (
	"fmt"
	"sync"
	"sync/atomic"

	"context"
	"errors"

	"github.com/vedette-dev/vedette/agents/otp"
)

// ErrEnded refuses everything after the supervision tree has given up: what it
// holds broke more often than it is restarted. It is ErrClosed. Close the
// Orchestrator and make another, or end the program: requests that were
// accepted are in the journal, and the next one goes on with them.
var ErrEnded = fmt.Errorf("%w: its supervision gave up, and the log says over what; start it again, "+
	"and it goes on with the requests it had accepted", ErrClosed)

// lifecycle is how the tree ended.
type lifecycle struct {
	once sync.Once
	done chan struct{}
	err  atomic.Pointer[error]
}

// onTreeEnd takes the end of the app, which is expected when Close asks for it.
func (o *Orchestrator) onTreeEnd(d otp.Down) {
	o.end.once.Do(func() {
		if !o.closed.Load() {
			err := fmt.Errorf("%w (%s)", ErrEnded, d.Reason)
			o.end.err.Store(&err)
			o.closed.Store(true)
			o.log.Error("THE ORCHESTRATOR HAS ENDED: its supervision gave up; requests that were accepted wait in the journal for its next start",
				"reason", d.Reason)
		}
		close(o.end.done)
	})
}

// closedError is what an Orchestrator that works no more answers.
func (o *Orchestrator) closedError() error {
	if err := o.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// refuseIfEnding refuses new requests once the end has begun.
func (o *Orchestrator) refuseIfEnding() error {
	switch {
	case o.closed.Load():
		return o.closedError()
	case o.draining.Load():
		return ErrDraining
	}
	return nil
}

// isEnding reports whether no new work is begun.
func (o *Orchestrator) isEnding() bool { return o.refuseIfEnding() != nil }

// translateError puts the runtime's errors into this package's.
func (o *Orchestrator) translateError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case o.closed.Load():
		return o.closedError()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, otp.ErrNoProcess), errors.Is(err, otp.ErrStopping), errors.Is(err, otp.ErrNoReply):
		return ErrInterrupted // send looks again
	}
	return err
}

// ErrDraining refuses a request while the process finishes its work to end. It
// is ErrClosed.
var ErrDraining = fmt.Errorf("%w: it is finishing its work; send the request again after its next start", ErrClosed)
