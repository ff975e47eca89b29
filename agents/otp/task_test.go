package otp

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A task's context ends with the request to stop its process, not with the
// callback that is running then; one begun later in that callback finds its
// context ended.
func TestTasksEndWithTheRequestToStop(t *testing.T) {
	for name, stop := range map[string]func(r *rig, pid PID){
		"asked to stop": func(r *rig, pid PID) {
			go func() { _ = TerminateChild(r.ctx, PID{r.root}, pid) }()
		},
		"killed": func(_ *rig, pid PID) { go pid.p.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			pid := r.start(worker("w", Temporary))
			up, before, late := make(chan struct{}), make(chan bool, 1), make(chan error, 1)
			pid.Send(func(c *Context) {
				ended := make(chan struct{})
				c.Async(0, func(ctx context.Context) (any, error) { close(up); <-ctx.Done(); close(ended); return nil, nil })
				select {
				case <-ended:
					before <- true
				case <-time.After(10 * time.Second):
					before <- false
				}
				c.Async(0, func(ctx context.Context) (any, error) { late <- ctx.Err(); return nil, nil })
			})
			<-up
			stop(r, pid)
			require.True(t, <-before, "the task went on while the callback ran")
			if name == "asked to stop" { // of the dead no task begins
				require.ErrorIs(t, <-late, context.Canceled)
			}
			r.ended(pid)
		})
	}
}

// A timeout that is over before the task has begun ends it all the same, once.
func TestTasksWithoutTime(t *testing.T) {
	const n = 300
	r, out := newRig(t), make(chan any, 2*n)
	pid := r.start(results(out))
	began, passing, passed := make(chan map[Ref]bool, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case <-passing:
				return
			default:
				r.clock.Advance(time.Nanosecond)
			}
		}
	}()
	pid.Send(func(c *Context) {
		refs := map[Ref]bool{}
		for range n {
			refs[c.Async(1, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, nil })] = true
		}
		began <- refs
	})
	refs := <-began
	for range n {
		res := (<-out).(TaskResult)
		require.ErrorIs(t, res.Err, ErrTaskTimeout)
		require.True(t, refs[res.Ref], "of no task, or for the second time")
		delete(refs, res.Ref)
	}
	close(passing)
	<-passed
}
