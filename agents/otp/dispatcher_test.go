package otp

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process that is woken, or started, by a goroutine with profiler labels does
// not take them over, nor do its tasks: what it does is its own.
func TestProcessesHaveNoForeignLabels(t *testing.T) {
	r := newRig(t)
	sup := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{}))
	free, up := make(chan struct{}), make(chan struct{}, 2)
	pprof.Do(r.ctx, pprof.Labels("call", "foreign-label"), func(ctx context.Context) {
		pid, err := StartChild(ctx, sup, worker("w", Temporary))
		require.NoError(t, err)
		pid.Send(func(c *Context) {
			c.Async(0, func(context.Context) (any, error) { up <- struct{}{}; <-free; return nil, nil })
			up <- struct{}{}
			<-free
		})
	})
	<-up
	<-up
	var profile bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	require.Contains(t, profile.String(), "TestProcessesHaveNoForeignLabels")
	require.NotContains(t, profile.String(), "foreign-label")
	close(free)
}

// However many callbacks block at once, each has a goroutine and holds up no
// other; afterwards a bounded number waits for more work, and none after Stop.
func TestMailboxGoroutines(t *testing.T) {
	r := newRig(t)
	sup := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{}))
	const n = 500
	var in sync.WaitGroup
	in.Add(n)
	free := make(chan struct{})
	var pids []PID
	for i := range n {
		pid, err := StartChild(r.ctx, sup, worker("w", Temporary))
		require.NoError(t, err)
		pids = append(pids, pid)
		pid.Send(func(*Context) {
			in.Done()
			<-free
			if i%5 == 0 {
				runtime.Goexit() // takes its goroutine along
			}
		})
	}
	in.Wait() // all are in their callbacks
	close(free)
	for i, pid := range pids {
		if i%5 == 0 {
			require.ErrorIs(t, r.ended(pid).Err(), ErrGoexit)
		} else {
			require.Equal(t, i, r.call(pid, func(c *Context) { c.Reply(i, nil) }))
		}
	}
	idle := func() int {
		r.mailboxes.mu.Lock()
		defer r.mailboxes.mu.Unlock()
		return len(r.mailboxes.idle)
	}
	require.LessOrEqual(t, idle(), maxIdle)
	require.NoError(t, r.Stop(r.ctx))
	require.Zero(t, idle())
	pids[1].Send(1) // nobody is there, and nobody is started
	require.Zero(t, idle())
}
