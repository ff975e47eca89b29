package store

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// borrowed runs the writer as a supervisor would, and tells how each run ended.
func borrowed(t *testing.T, s *Store) (stop func(), ends chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ends = make(chan error, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for closed := false; !closed && ctx.Err() == nil; {
			ended := make(chan struct{})
			go func() { // a child of its own: runtime.Goexit ends it
				err := ErrUnavailable
				defer close(ended)
				defer func() { closed = errors.Is(err, ErrClosed); ends <- err }()
				err = s.Run(ctx)
			}()
			<-ended
		}
	}()
	return func() { cancel(); <-done }, ends
}

// Submissions go on while the writer's work changes hands: the store, a borrower,
// the store again. A writer that breaks down in between ends its own group and
// nothing else.
func TestRun(t *testing.T) {
	s := open(t, Options{})
	require.NoError(t, s.Submit(t.Context(), put("a")))
	stop, ends := borrowed(t, s)
	require.NoError(t, s.Submit(t.Context(), put("b")))
	broken := false
	s.OnRollback(func() { broken = true })
	for len(ends) == 0 { // until it is the borrower that is met
		require.ErrorIs(t, s.Submit(t.Context(), func(*Tx) error { runtime.Goexit(); return nil }), ErrUnavailable)
	}
	require.ErrorIs(t, <-ends, ErrUnavailable)
	require.True(t, broken)
	require.NoError(t, s.Submit(t.Context(), put("c")))
	stop()
	require.NoError(t, s.Submit(t.Context(), put("d")))
	require.Equal(t, []string{"a", "b", "c", "d"}, items(t, s))
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Run(t.Context()), ErrClosed)
}

// Close ends a writer that is borrowed.
func TestCloseBorrowed(t *testing.T) {
	s := open(t, Options{})
	stop, ends := borrowed(t, s)
	require.NoError(t, s.Submit(t.Context(), put("a")))
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-ends, ErrClosed)
	stop()
}

// A hook that panics answers everybody all the same, whatever it is a hook of.
func TestPanickingHooks(t *testing.T) {
	for name, add := range map[string]func(s *Store, f func()){
		"commit":   (*Store).OnCommit,
		"rollback": func(s *Store, f func()) { s.OnRollback(f); s.OnSeal(func(*Tx) error { f(); return nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{})
			on := true
			add(s, func() {
				if on {
					panic("hook")
				}
			})
			var e *PanicError
			err := s.Submit(t.Context(), put("a"))
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorAs(t, err, &e)
			on = false
			require.NoError(t, s.Submit(t.Context(), put("b")))
		})
	}
	s := open(t, Options{})
	r := &request{done: make(chan struct{}), maint: func(*conn) error { panic("maintenance") }}
	require.ErrorIs(t, s.submitRequest(t.Context(), r), ErrUnavailable)
	require.NoError(t, s.Submit(t.Context(), put("a")))
}
