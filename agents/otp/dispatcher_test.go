package otp

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Crashes at one moment are one entry each, and both children come back; one
// crash too many ends the supervisor once.
func TestTwoCrashesAtOnce(t *testing.T) {
	for _, strategy := range []Strategy{OneForOne, OneForAll, RestForOne} {
		for _, limit := range []int{2, 1} {
			t.Run(fmt.Sprint(strategy, limit), func(t *testing.T) {
				r := newRig(t)
				sup := r.start(SupervisorSpec("sup", SupervisorOptions{Strategy: strategy, MaxRestarts: limit,
					Children: []ChildSpec{worker("a", Permanent), worker("b", Permanent)}}))
				kids, free := r.children(sup), make(chan struct{})
				for _, k := range kids {
					k.PID.Send(func(*Context) { <-free; panic("boom") })
				}
				close(free)
				for _, k := range kids {
					require.Contains(t, []Kind{KindCrash, KindShutdown}, r.ended(k.PID).Kind) // OneForAll may stop the other first
				}
				if strategy == OneForOne && limit == 1 {
					require.Equal(t, Shutdown(ErrMaxRestarts), r.ended(sup))
					return
				}
				if limit == 1 { // a sibling that was stopped with the group did not crash
					return
				}
				for id, k := range settled(r, sup) {
					require.NotEqual(t, kids[id].PID, k.PID)
					require.True(t, k.PID.Alive())
				}
			})
		}
	}
}

// A wall clock that is set back, by an hour here, neither lets restarts go on
// for ever nor keeps old ones for an hour; intervals on the machine's own clock
// come from its monotonic reading and don't notice.
func TestR1_ClockSetBack(t *testing.T) {
	r := newRig(t)
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{worker("a", Permanent)}}))
	crash := func() {
		r.children(sup)["a"].PID.Send(boom)
		r.await(ChildRestarted, "a")
	}
	for range 3 {
		crash()
	}
	r.clock.Advance(-time.Hour)
	r.clock.Advance(defaultPeriod + 1) // counted from the moment it was noticed, which is the next crash
	in := newIntensity(3, 0)
	t0 := r.clock.Now()
	for range 3 {
		require.True(t, in.grantRestart(t0.Add(time.Hour)))
	}
	require.False(t, in.grantRestart(t0)) // they count still
	require.True(t, in.grantRestart(t0.Add(defaultPeriod+1)), "and no longer than a period from here")
	r.children(sup)["a"].PID.Send(boom)
	require.Equal(t, Shutdown(ErrMaxRestarts), r.ended(sup))

	s := NewSystem(SystemOptions{})
	require.Contains(t, s.now().String(), " m=", "the default clock has a monotonic reading")
	require.NoError(t, s.Stop(r.ctx))
}

// A child whose start fails every time costs its supervisor no more than the
// intensity, whatever the strategy, and its siblings are stopped in order.
func TestR6_ChildFailsOnEveryStart(t *testing.T) {
	for _, strategy := range []Strategy{OneForOne, OneForAll, RestForOne} {
		t.Run(fmt.Sprint(strategy), func(t *testing.T) {
			r, f, l := newRig(t), &flakyInit{ok: 1}, &log{}
			sup := r.start(SupervisorSpec("sup", SupervisorOptions{Strategy: strategy, Children: []ChildSpec{
				logged(l, "a", Permanent), {ID: "w", Start: func() Server { return &fake{init: f.next} }}}}))
			r.children(sup)["w"].PID.Send(boom)
			require.Equal(t, Shutdown(ErrMaxRestarts), r.ended(sup))
			require.EqualValues(t, 4, f.calls())
			lines := l.take()
			require.Equal(t, "-a", lines[len(lines)-1])
			var failed int
			for len(r.events) > 0 {
				if e := <-r.events; e.Type == StartFailed {
					failed++
					require.ErrorIs(t, e.Reason.Err(), errFlaky)
				}
			}
			require.Equal(t, 3, failed)
		})
	}
}

// A supervisor that is stopped at any moment of a group's restart stops, with
// all its children, and starts none again.
func TestR8_StoppedWhileRestarting(t *testing.T) {
	for n := range 60 {
		r := newRig(t)
		var alive atomic.Int64
		kid := func(id string) ChildSpec {
			return ChildSpec{ID: id, Start: func() Server {
				return &fake{init: func(*Context) error { alive.Add(1); return nil }, term: func(*Context, Reason) { alive.Add(-1) }}
			}}
		}
		sup := r.start(SupervisorSpec("sup", SupervisorOptions{Strategy: Strategy(n % 3), MaxRestarts: 1 << 30, Children: []ChildSpec{kid("a"), kid("b"), kid("c")}}))
		kids := r.children(sup)
		go kids["a"].PID.Send(boom)
		go kids["b"].PID.Send(boom)
		for range n {
			kids["c"].PID.Alive()
		}
		require.NoError(t, TerminateChild(r.ctx, PID{r.root}, sup))
		require.Zero(t, alive.Load())
		require.Zero(t, r.Leaked())
	}
}

// A process that is killed from outside ends as killed, without Terminate, and
// its supervisor does with it as with a crash.
func TestR9_KillFromOutside(t *testing.T) {
	for kind, back := range map[Restart]bool{Permanent: true, Transient: true, Temporary: false} {
		t.Run(kind.String(), func(t *testing.T) {
			r, l, free := newRig(t), &log{}, make(chan struct{})
			sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{logged(l, "w", kind)}}))
			pid := r.children(sup)["w"].PID
			in := make(chan struct{})
			pid.Send(func(*Context) { close(in); <-free })
			<-in
			Kill(pid)
			Kill(pid)
			require.Equal(t, KindKilled, r.ended(pid).Kind)
			require.Equal(t, 1, r.Leaked())
			require.Equal(t, KindKilled, r.await(ChildCrashed, "w").Reason.Kind)
			require.Equal(t, back, settled(r, sup)["w"].PID.Alive())
			close(free)
			require.NoError(t, r.leaks.wait(r.ctx))
			require.NotContains(t, l.take(), "-w")
		})
	}
	Kill(PID{})
}

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
