package otp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A panic or Goexit in any callback ends that process alone and the tree still stops.
func TestD4D6D18_NothingTouchesASibling(t *testing.T) {
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
func TestD4_TerminateFailsDuringStop(t *testing.T) {
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

// A crash keeps the stack of the panic and the value, and its text shows neither.
func TestD26_StackIsKept(t *testing.T) {
	r := newRig(t)
	pid := r.start(worker("w", Temporary))
	pid.Send(boom)
	reason := r.ended(pid)
	require.Contains(t, reason.Stack(), "otp.boom")
	require.Equal(t, "boom", reason.Detail.(*Exit).Value)
	require.NotContains(t, reason.String(), "boom")
}

// System.Stop keeps to its context although a server is deaf for ever, and says what is left.
func TestD5_SystemStopKeepsItsDeadline(t *testing.T) {
	s := NewSystem(SystemOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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
func TestSystem_RootsStopInReverse(t *testing.T) {
	s, l := NewSystem(SystemOptions{}), &log{}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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

// The end of a child that its group's restart covers is not a crash of its own,
// also where that restart fails on the way: the child is started with the group,
// after those before it, and counted once.
func TestR4R6_CrashWithinAFailingGroupRestart(t *testing.T) {
	r, l := newRig(t), &log{}
	starts := 0 // of a; the supervisor starts one at a time
	a := ChildSpec{ID: "a", Start: func() Server {
		return &fake{init: func(*Context) error {
			if starts++; starts == 2 {
				l.add("a fails")
				return errFlaky
			}
			l.add("+a")
			return nil
		}}
	}}
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Strategy: RestForOne, MaxRestarts: 2, Children: []ChildSpec{a, logged(l, "b", Permanent)}}))
	kids, free, begun := r.children(sup), make(chan struct{}), make(chan struct{}, 2)
	slow := ChildSpec{ID: "slow", Restart: Temporary, Start: func() Server {
		return &fake{init: func(*Context) error { begun <- struct{}{}; <-free; return nil }}
	}}
	started := make(chan error, 1)
	go func() { _, err := StartChild(r.ctx, sup, slow); started <- err }()
	<-begun // from here on the ends of children wait until it is up
	for _, id := range []string{"a", "b"} {
		kids[id].PID.Send(boom)
		r.await(ChildCrashed, id)
	}
	l.take()
	close(free)
	require.NoError(t, <-started)
	r.await(ChildRestarted, "b")
	for _, k := range settled(r, sup) {
		require.True(t, k.PID.Alive())
	}
	require.Equal(t, []string{"a fails", "+a", "+b"}, l.take())
	require.True(t, sup.Alive(), "one crash and one failed start are within its two restarts")
}

// A significant child that waits for its restart has not ended: the supervisor
// stays until it has.
func TestR12_PendingRestartIsNoEnd(t *testing.T) {
	sig := func(id string) ChildSpec { s := worker(id, Transient); s.Significant = true; return s }
	r := newRig(t)
	back := Backoff{Base: time.Minute, jitter: func(limit time.Duration) time.Duration { return limit }}
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{AutoShutdown: AutoShutdownAll, Backoff: back, Children: []ChildSpec{sig("a"), sig("b")}}))
	kids := r.children(sup)
	kids["a"].PID.Send(boom)
	r.clock.waitArmed(t, time.Minute)
	kids["b"].PID.Send(end(Normal()))
	for r.children(sup)["b"].State != "absent" {
		runtime.Gosched()
	}
	require.Equal(t, "restarting", r.children(sup)["a"].State)
	r.clock.Advance(time.Minute)
	again := r.await(ChildRestarted, "a").PID
	require.True(t, sup.Alive())
	again.Send(end(Normal()))
	require.Equal(t, Shutdown(ErrAutoShutdown), r.ended(sup))
}

// A child that comes up after whoever asked for it gave up is stopped, and its
// spec is forgotten: nobody knows of it, and its id is free.
func TestR11_AbandonedStartIsForgotten(t *testing.T) {
	r := newRig(t)
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{}))
	free, begun := make(chan struct{}), make(chan PID, 1)
	ctx, leave := context.WithCancel(r.ctx)
	gone := make(chan error, 1)
	go func() {
		_, err := StartChild(ctx, sup, ChildSpec{ID: "w", Restart: Permanent, Start: func() Server {
			return &fake{init: func(c *Context) error { begun <- c.Self(); <-free; return nil }}
		}})
		gone <- err
	}()
	w := <-begun
	leave()
	require.ErrorIs(t, <-gone, context.Canceled)
	close(free)
	require.Equal(t, KindShutdown, r.ended(w).Kind)
	again, err := StartChild(r.ctx, sup, worker("w", Permanent)) // served once the other is gone
	require.NoError(t, err)
	require.True(t, again.Alive())
	require.Len(t, r.children(sup), 1)
}
