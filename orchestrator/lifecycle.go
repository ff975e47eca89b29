package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/vedette-dev/vedette/agents/otp"
)

// ErrEnded refuses everything after the supervision tree has given up: what it
// holds broke more often than it is restarted. It is ErrClosed. Close the
// Orchestrator and make another, or end the program: requests that were
// accepted are in the journal, and the next one goes on with them.
var ErrEnded = fmt.Errorf("%w: its supervision gave up, and the log says over what; start it again, "+
	"and it goes on with the requests it had accepted", ErrClosed)

// lifecycle is how far the process is with its end. It works, it drains, it is closed, or
// its supervision gave up.
type lifecycle struct {
	draining, closed atomic.Bool

	once sync.Once
	done chan struct{}
	err  atomic.Pointer[error] // why the supervision gave up
	log  *slog.Logger
}

// treeError returns ErrEnded once the supervision has given up, else nil.
func (l *lifecycle) treeError() error {
	if err := l.err.Load(); err != nil {
		return *err
	}
	return nil
}

// onTreeEnd takes the end of the app, which is expected when Close asks for it.
func (l *lifecycle) onTreeEnd(d otp.Down) {
	l.once.Do(func() {
		if !l.closed.Load() {
			err := fmt.Errorf("%w (%s)", ErrEnded, d.Reason)
			l.err.Store(&err)
			l.closed.Store(true)
			l.log.Error("THE ORCHESTRATOR HAS ENDED: its supervision gave up; requests that were accepted wait in the journal for its next start",
				"reason", d.Reason)
		}
		close(l.done)
	})
}

// closedError is what an Orchestrator that works no more answers.
func (l *lifecycle) closedError() error {
	if err := l.treeError(); err != nil {
		return err
	}
	return ErrClosed
}

// refuseIfEnding refuses new requests once the end has begun.
func (l *lifecycle) refuseIfEnding() error {
	switch {
	case l.closed.Load():
		return l.closedError()
	case l.draining.Load():
		return ErrDraining
	}
	return nil
}

// isEnding reports whether no new work is begun.
func (l *lifecycle) isEnding() bool { return l.refuseIfEnding() != nil }

// translateError puts the runtime's errors into this package's.
func (l *lifecycle) translateError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case l.closed.Load():
		return l.closedError()
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
