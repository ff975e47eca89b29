package orchestrator

import (
	"fmt"
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

// end is how the tree ended.
type end struct {
	once sync.Once
	done chan struct{}
	err  atomic.Pointer[error]
}

// Done is closed when the Orchestrator works no more: after Close, or because
// its supervision gave up. A program that lives by it watches Done and asks Err.
func (o *Orchestrator) Done() <-chan struct{} { return o.end.done }

// Err returns ErrEnded, with the reason, once the supervision has given up; nil
// while the Orchestrator works and where Close has ended it.
func (o *Orchestrator) Err() error {
	if err := o.end.err.Load(); err != nil {
		return *err
	}
	return nil
}

// gone takes the end of the app, which is expected when Close asks for it.
func (o *Orchestrator) gone(d otp.Down) {
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

// closedErr is what an Orchestrator that works no more answers.
func (o *Orchestrator) closedErr() error {
	if err := o.Err(); err != nil {
		return err
	}
	return ErrClosed
}
