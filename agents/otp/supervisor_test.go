package otp

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A panic or Goexit in any callback ends that process alone and the tree still stops.
func TestFailuresTouchNoSibling(t *testing.T) {
	ways := map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit}
	for name, fail := range ways {
		for where, server := range map[string]*fake{
			"start":     nil,
			"init":      {init: func(*Context) error { fail(); return nil }},
			"handle":    {handle: func(*Context, any) { fail() }},
			"terminate": {term: func(*Context, Reason) { fail() }, handle: func(c *Context, _ any) { c.Stop(Normal()) }},
		} {
			t.Run(name+"/"+where, func(t *testing.T) {
				r := newRig(t)
				sup := r.start(DynamicSupervisorSpec("sup", DynamicSupervisorOptions{}))
				sibling, err := StartChild(r.ctx, sup, worker("sibling", Temporary))
				require.NoError(t, err)
				pid, err := StartChild(r.ctx, sup, ChildSpec{ID: "w", Restart: Temporary, Start: func() Server {
					if server == nil {
						fail()
					}
					return server
				}})
				if where == "start" || where == "init" {
					require.Error(t, err)
				} else {
					require.NoError(t, err)
					pid.Send(1)
					require.Equal(t, KindCrash, r.ended(pid).Kind)
					require.Equal(t, pid, r.await(ChildCrashed, "w").PID)
				}
				require.Equal(t, 1, r.call(sibling, func(c *Context) { c.Reply(1, nil) }))
				require.Len(t, r.children(sup), 1)
				require.NoError(t, TerminateChild(r.ctx, PID{r.root}, sup))
				require.Zero(t, r.Leaked())
			})
		}
	}
}

// Terminate that panics or exits while the supervisor stops the child does not hold up the tree.
func TestTerminateFailsDuringStop(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			pid := r.start(ChildSpec{ID: "w", Start: func() Server { return &fake{term: func(*Context, Reason) { fail() }} }})
			require.NoError(t, TerminateChild(r.ctx, PID{r.root}, pid))
			require.Equal(t, KindCrash, r.ended(pid).Kind)
			require.Equal(t, KindCrash, r.await(ChildCrashed, "w").Reason.Kind)
		})
	}
}

// A static supervisor's children can be ended, started again, and forgotten.
func TestStaticChildManagement(t *testing.T) {
	r := newRig(t)
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{worker("a", Permanent), worker("b", Temporary)}}))
	_, err := RestartChild(r.ctx, sup, "a")
	require.ErrorIs(t, err, ErrRunning)
	require.ErrorIs(t, DeleteChild(r.ctx, sup, "a"), ErrRunning)
	require.NoError(t, TerminateChildID(r.ctx, sup, "a"))
	require.NoError(t, TerminateChildID(r.ctx, sup, "b"))
	require.ErrorIs(t, TerminateChildID(r.ctx, sup, "b"), ErrNoChild)
	n, err := CountChildren(r.ctx, sup)
	require.NoError(t, err)
	require.Equal(t, Counts{Specs: 1, Workers: 1}, n)
	pid, err := RestartChild(r.ctx, sup, "a")
	require.NoError(t, err)
	require.True(t, pid.Alive())
	require.NoError(t, TerminateChild(r.ctx, sup, pid))
	require.NoError(t, DeleteChild(r.ctx, sup, "a"))
	require.Empty(t, r.children(sup))
}

// Specs that cannot work are refused with the id and the field.
func TestBadSpecs(t *testing.T) {
	r := newRig(t)
	start := func() Server { return &fake{} }
	for name, spec := range map[string]ChildSpec{
		"no id":         {Start: start},
		"control in id": {ID: "a\nb", Start: start},
		"invalid utf-8": {ID: "a\xff", Start: start},
		"no start":      {ID: "a"},
		"nil server":    {ID: "a", Start: func() Server { return nil }},
		"wrong type":    {ID: "a", Type: Supervisor, Start: start},
		"bad restart":   {ID: "a", Restart: 9, Start: start},
		"bad shutdown":  {ID: "a", Shutdown: -9, Start: start},
		"bad strategy":  SupervisorSpec("a", SupervisorOptions{Strategy: 9}),
		"bad max":       DynamicSupervisorSpec("a", DynamicSupervisorOptions{MaxChildren: -1}),
	} {
		_, err := r.Start(r.ctx, spec)
		require.ErrorIs(t, err, ErrBadSpec, name)
	}
}

// A supervisor that itself panics takes its children along, stuck ones too, and is restarted by the next one up.
func TestSupervisorCrashTakesItsChildren(t *testing.T) {
	r, free := newRig(t), make(chan struct{})
	jitter := func(time.Duration) time.Duration { panic("boom") }
	inner := SupervisorSpec("inner", SupervisorOptions{Backoff: Backoff{Base: 1, jitter: jitter}, Children: []ChildSpec{
		worker("a", Permanent), worker("b", Permanent), stuck("deaf", free, Infinity)}})
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{inner}}))
	mid := r.children(sup)["inner"].PID
	kids := r.children(mid)
	enterStuck(kids["deaf"].PID)
	kids["a"].PID.Send(boom)
	require.Equal(t, KindCrash, r.ended(mid).Kind)
	require.Equal(t, KindKilled, r.ended(kids["b"].PID).Kind)
	again := r.await(ChildRestarted, "inner").PID
	require.Len(t, r.children(again), 3)
	close(free)
	require.NoError(t, r.leaks.wait(r.ctx))
}

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
