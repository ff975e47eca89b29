package otp

import (
	"context"
	"testing"
	"time"

	"errors"
	"runtime"

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
				case <-time.After(4 * time.Minute):
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

// An async task reports exactly once: value, error, panic with stack, Goexit, timeout or cancel.
func TestR15_AsyncResults(t *testing.T) {
	bad := errors.New("bad")
	for name, tc := range map[string]struct {
		fn    func(context.Context) (any, error)
		check func(t *testing.T, res TaskResult)
	}{
		"value": {func(context.Context) (any, error) { return 42, nil },
			func(t *testing.T, res TaskResult) { require.NoError(t, res.Err); require.Equal(t, 42, res.Value) }},
		"error": {func(context.Context) (any, error) { return 42, bad },
			func(t *testing.T, res TaskResult) { require.ErrorIs(t, res.Err, bad); require.Nil(t, res.Value) }},
		"panic": {func(context.Context) (any, error) { panic("secret") },
			func(t *testing.T, res TaskResult) {
				var exit *Exit
				require.ErrorAs(t, res.Err, &exit)
				require.Equal(t, "secret", exit.Value)
				require.Contains(t, exit.Stack(), "TestR15_AsyncResults")
				require.NotContains(t, res.Err.Error(), "secret")
			}},
		"goexit": {func(context.Context) (any, error) { runtime.Goexit(); return nil, nil },
			func(t *testing.T, res TaskResult) { require.ErrorIs(t, res.Err, ErrGoexit) }},
	} {
		t.Run(name, func(t *testing.T) {
			r, out, ref := newRig(t), make(chan any, 10), make(chan Ref, 1)
			pid := r.start(results(out))
			pid.Send(func(c *Context) { ref <- c.Async(0, tc.fn) })
			res := (<-out).(TaskResult)
			require.Equal(t, <-ref, res.Ref)
			tc.check(t, res)
			require.NoError(t, r.tasks.wait(r.ctx))
			require.True(t, pid.Alive())
			require.Empty(t, out)
		})
	}
}

// A timeout or a cancel is reported at once, even by a task that ignores its context; it stays counted until it ends.
func TestR15_TimeoutAndCancel(t *testing.T) {
	r, out, ref, free := newRig(t), make(chan any, 10), make(chan Ref, 1), make(chan struct{})
	deaf := func(context.Context) (any, error) { <-free; return "late", nil }
	pid := r.start(results(out))
	pid.Send(func(c *Context) { ref <- c.Async(time.Minute, deaf) })
	<-ref
	r.clock.Advance(time.Minute)
	require.ErrorIs(t, (<-out).(TaskResult).Err, ErrTaskTimeout)
	pid.Send(func(c *Context) { c.CancelTask(c.Async(0, deaf)) })
	require.ErrorIs(t, (<-out).(TaskResult).Err, ErrTaskCancelled)
	require.Equal(t, 2, r.Tasks())
	close(free)
	require.NoError(t, r.tasks.wait(r.ctx))
	r.call(pid, func(c *Context) { c.Reply(nil, nil) })
	require.Empty(t, out)
}

// Tasks end with their incarnation, and nothing is delivered to the next one.
func TestR15_TasksEndWithTheIncarnation(t *testing.T) {
	r, out := newRig(t), make(chan any, 10)
	spec := results(out)
	spec.Restart = Permanent
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{spec}}))
	r.children(sup)["server"].PID.Send(func(c *Context) {
		c.Async(0, func(ctx context.Context) (any, error) { <-ctx.Done(); return 1, nil })
		panic("boom")
	})
	again := r.await(ChildRestarted, "server").PID
	require.NoError(t, r.tasks.wait(r.ctx))
	r.call(again, func(c *Context) { c.Reply(nil, nil) })
	require.Empty(t, out)
}
