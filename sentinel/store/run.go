package store

import (
	"context"
	"fmt"
)

// loan is the writer's work on its way to a caller of Run and back.
type loan struct{ back chan struct{} }

// Run does the writer's work in the caller's goroutine until ctx ends (nil) or the
// store is closed (ErrClosed). So a supervisor can own that work, count its
// breakdowns and show it. Outside of Run, and from a breakdown to the next Run, a
// goroutine of the store does the work. So no submission ever waits for a
// supervisor. The error is ErrUnavailable after a panic; the group that it fell
// into was told the same.
func (s *Store) Run(ctx context.Context) (err error) {
	l := loan{back: make(chan struct{})}
	select {
	case s.lend <- l:
	case <-ctx.Done():
		return nil
	case <-s.closing:
		return ErrClosed
	}
	defer close(l.back) // last of all, also where the goroutine ends
	defer s.rescueGroup(&err)
	return s.serveRequests(ctx.Done())
}

// rescueGroup ends the group that a panic, or the end of the goroutine, fell into.
// It is deferred around serveRequests.
func (s *Store) rescueGroup(err *error) {
	if s.whole {
		return
	}
	*err = fmt.Errorf("%w: writer was interrupted: %w", ErrUnavailable, newPanicError(recover()))
	s.abortGroup(*err)
}

// runOwnLoop is the store's own goroutine. It ends on Close alone: if a submitted
// function ends its goroutine (runtime.Goexit), a new one takes over.
func (s *Store) runOwnLoop() {
	closed := false
	defer func() {
		if closed {
			close(s.stopped)
			return
		}
		go s.runOwnLoop()
	}()
	var err error
	defer s.rescueGroup(&err)
	closed = s.serveRequests(nil) != nil
}

// serveRequests serves submissions until stop is closed (nil) or Close
// (ErrClosed). One goroutine at a time serves: a goroutine that lent the work away
// waits to have it back.
func (s *Store) serveRequests(stop <-chan struct{}) error {
	s.whole = false
	lend := s.lend
	if stop != nil {
		lend = nil // what is borrowed is not lent on
	}
	for {
		select {
		case <-s.closing:
			s.whole = true
			return ErrClosed
		case <-stop:
			s.whole = true
			return nil
		case l := <-lend:
			<-l.back
			s.whole = false
		case r := <-s.in:
			s.serveBatch(r)
		}
	}
}
