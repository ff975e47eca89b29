package otp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// System.Stop keeps to its context although a server is deaf for ever, and says what is left.
func TestSystemStopKeepsItsDeadline(t *testing.T) {
	s := NewSystem(SystemOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	free := make(chan struct{})
	pid, err := s.Start(ctx, stuck("deaf", free, Infinity))
	require.NoError(t, err)
	fine, err := s.Start(ctx, worker("fine", Temporary))
	require.NoError(t, err)
	enterStuck(pid)
	over, stop := context.WithCancel(ctx)
	stop()
	require.ErrorIs(t, s.Stop(over), ErrUnstopped)
	require.NoError(t, s.Stop(ctx))
	require.Equal(t, 1, s.Leaked())
	require.False(t, fine.Alive())
	_, err = s.Start(ctx, worker("w", Temporary))
	require.ErrorIs(t, err, ErrNoProcess)
	close(free)
	require.NoError(t, s.leaks.wait(ctx))
}

// Roots stop in the reverse order of their starts, and a root's id is its own.
func TestRootsStopInReverse(t *testing.T) {
	s, l := NewSystem(SystemOptions{}), &log{}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	for _, id := range []string{"a", "b", "c"} {
		_, err := s.Start(ctx, logged(l, id, Permanent))
		require.NoError(t, err)
	}
	_, err := s.Start(ctx, worker("a", Permanent))
	require.ErrorIs(t, err, ErrDuplicate)
	require.NoError(t, s.Stop(ctx))
	require.Equal(t, []string{"+a", "+b", "+c", "-c", "-b", "-a"}, l.take())
}

// D10: a system is stopped once, however often and by however many it is asked.
func TestSystemStopsOnce(t *testing.T) {
	s := NewSystem(SystemOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	pid, err := s.Start(ctx, worker("w", Permanent))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _ = s.Stop(ctx) })
	}
	wg.Wait()
	require.NoError(t, s.Stop(ctx))
	require.False(t, pid.Alive()) // our root went down first: the runtime stops no actor
	require.True(t, s.actors.IsStopped())
}

// Names lead to the present incarnation, and belong to one process at a time.
func TestNames(t *testing.T) {
	r := newRig(t)
	spec := worker("w", Permanent)
	spec.Name = "registry"
	r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{spec}}))
	first, ok := r.Whereis("registry")
	require.True(t, ok)
	_, err := r.Start(r.ctx, spec)
	require.ErrorIs(t, err, ErrNameTaken)
	first.Send(boom)
	r.await(ChildRestarted, "w")
	second, ok := r.Whereis("registry")
	require.True(t, ok)
	require.NotEqual(t, first, second)
	require.False(t, first.Alive())
	require.True(t, strings.HasPrefix(second.String(), "w#"))
}

// Starts, crashes, calls and stops from many goroutines at once lose no answer and leave nothing behind.
func TestConcurrentUse(t *testing.T) {
	r := newRig(t)
	sup := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{MaxRestarts: 1 << 30}))
	var wg sync.WaitGroup
	errs := make(chan error, 1000)
	for i := range 8 {
		wg.Go(func() {
			for j := range 40 {
				pid, err := StartChild(r.ctx, sup, worker("w", Restart((i+j)%3)))
				if err != nil {
					errs <- err
					return
				}
				downs := make(chan Down, 2)
				Monitor(pid, func(d Down) { downs <- d })
				pid.Send(boom)
				if _, err := Call(r.ctx, pid, 1); !errors.Is(err, ErrNoProcess) {
					errs <- fmt.Errorf("call after crash: %w", err)
				}
				<-downs
				if err := TerminateChild(r.ctx, sup, pid); err != nil && !errors.Is(err, ErrNoChild) {
					errs <- err
				}
				if len(downs) > 0 {
					errs <- errors.New("a second Down")
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	require.NoError(t, <-errs)
	require.Empty(t, r.children(sup))
}
