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
