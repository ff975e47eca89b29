package otp

import (
	"errors"
	"testing"
	"time"

	"context"
	"runtime"
	"sync/atomic"

	"github.com/stretchr/testify/require"
)

// stuck is a worker whose Handle of any message blocks until free is closed, deaf to its context.
func stuck(id string, free chan struct{}, shutdown time.Duration) ChildSpec {
	return ChildSpec{ID: id, Restart: Temporary, Shutdown: shutdown, Start: func() Server {
		return &fake{handle: func(c *Context, msg any) {
			msg.(chan struct{}) <- struct{}{}
			<-free
		}}
	}}
}

// enterStuck sends a stuck worker into its Handle and returns when it is there.
func enterStuck(pid PID) {
	in := make(chan struct{}, 1)
	pid.Send(in)
	<-in
}

// A static supervisor stops its children in reverse, awaiting each; a dynamic one asks all at once.
func TestR8_StopOrder(t *testing.T) {
	t.Run("static", func(t *testing.T) {
		r, l := newRig(t), &log{}
		inner := SupervisorSpec("inner", SupervisorOptions{Children: []ChildSpec{logged(l, "b1", Permanent), logged(l, "b2", Permanent)}})
		sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{
			logged(l, "a", Permanent), inner, logged(l, "c", Permanent)}}))
		l.take()
		require.NoError(t, TerminateChild(r.ctx, PID{r.root}, sup))
		require.Equal(t, []string{"-c", "-b2", "-b1", "-a"}, l.take())
	})
	t.Run("dynamic", func(t *testing.T) {
		r := newRig(t)
		sup := r.start(DynamicSupervisorSpec("sup", DynamicSupervisorOptions{}))
		both := make(chan struct{}) // each Terminate needs the other one's
		meet := func(c *Context, _ Reason) {
			select {
			case both <- struct{}{}:
			case <-both:
			}
		}
		for range 2 {
			_, err := StartChild(r.ctx, sup, ChildSpec{ID: "w", Start: func() Server { return &fake{term: meet} }})
			require.NoError(t, err)
		}
		require.NoError(t, TerminateChild(r.ctx, PID{r.root}, sup))
		require.Zero(t, r.Leaked())
	})
}

// A child deaf to its stop is abandoned after its deadline, the tree stops, and the leak is counted until it returns.
func TestR9_ShutdownDeadline(t *testing.T) {
	for name, spec := range map[string]func([]ChildSpec) ChildSpec{
		"static": func(k []ChildSpec) ChildSpec { return SupervisorSpec("sup", SupervisorOptions{Children: k}) },
		"dynamic": func([]ChildSpec) ChildSpec {
			return DynamicSupervisorSpec("sup", DynamicSupervisorOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, free := newRig(t), make(chan struct{})
			fine := worker("fine", Temporary)
			fine.Shutdown = Infinity // the only deadline of 5 s is the deaf one's
			kids := []ChildSpec{stuck("deaf", free, 0), fine}
			sup := r.start(spec(kids))
			if name == "dynamic" {
				for _, k := range kids {
					_, err := StartChild(r.ctx, sup, k)
					require.NoError(t, err)
				}
			}
			deaf := r.children(sup)["deaf"].PID
			enterStuck(deaf)
			stopped := make(chan error, 1)
			go func() { stopped <- TerminateChild(r.ctx, PID{r.root}, sup) }()
			r.clock.waitArmed(t, defaultShutdown)
			require.True(t, sup.Alive())
			r.clock.Advance(defaultShutdown)
			require.NoError(t, <-stopped)
			require.Equal(t, KindKilled, r.ended(deaf).Kind)
			require.Equal(t, KindKilled, r.await(Abandoned, "deaf").Reason.Kind)
			require.Equal(t, 1, r.Leaked())
			require.EqualValues(t, 1, r.AbandonedTotal())
			close(free)
			r.await(LateReturn, "deaf")
			require.Zero(t, r.Leaked())
		})
	}
}

// BrutalKill skips Terminate; an idle child leaves no leak behind. Infinity sets no timer.
func TestR9_BrutalKillAndInfinity(t *testing.T) {
	r, l := newRig(t), &log{}
	brutal, slow := logged(l, "brutal", Permanent), logged(l, "slow", Permanent)
	brutal.Shutdown, slow.Shutdown = BrutalKill, Infinity
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{brutal, slow}}))
	kids := r.children(sup)
	require.NoError(t, TerminateChild(r.ctx, PID{r.root}, sup))
	require.Equal(t, []string{"+brutal", "+slow", "-slow"}, l.take())
	require.Equal(t, KindKilled, r.ended(kids["brutal"].PID).Kind)
	require.Equal(t, KindShutdown, r.ended(kids["slow"].PID).Kind)
	require.Zero(t, r.AbandonedTotal())
}

// A supervisor that is killed takes its whole subtree along.
func TestR9_KilledSupervisorTakesItsSubtree(t *testing.T) {
	r, free := newRig(t), make(chan struct{})
	inner := SupervisorSpec("inner", SupervisorOptions{Children: []ChildSpec{worker("w", Permanent), stuck("deaf", free, Infinity)}})
	inner.Shutdown = time.Second
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{inner}}))
	mid := r.children(sup)["inner"].PID
	kids := r.children(mid)
	enterStuck(kids["deaf"].PID)
	stopped := make(chan error, 1)
	go func() { stopped <- TerminateChild(r.ctx, PID{r.root}, sup) }()
	r.clock.waitArmed(t, time.Second)
	r.clock.Advance(time.Second)
	require.NoError(t, <-stopped)
	for _, pid := range []PID{mid, kids["w"].PID, kids["deaf"].PID} {
		require.Equal(t, KindKilled, r.ended(pid).Kind)
	}
	close(free)
	r.await(LateReturn, "deaf")
}

// terminate_child during a pending restart cancels it.
func TestR10_TerminateCancelsPendingRestart(t *testing.T) {
	back := Backoff{Base: time.Minute, jitter: func(limit time.Duration) time.Duration { return limit }}
	for name, tc := range map[string]ChildSpec{
		"static":  SupervisorSpec("sup", SupervisorOptions{Backoff: back}),
		"dynamic": DynamicSupervisorSpec("sup", DynamicSupervisorOptions{Backoff: back}),
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newRig(t), &flakyInit{ok: 1 << 30}
			sup := r.start(tc)
			w := ChildSpec{ID: "w", Start: func() Server { return &fake{init: f.next} }}
			pid, err := StartChild(r.ctx, sup, w)
			require.NoError(t, err)
			pid.Send(boom)
			r.clock.waitArmed(t, time.Minute)
			require.Equal(t, "restarting", r.children(sup)["w"].State)
			require.NoError(t, TerminateChild(r.ctx, sup, pid))
			r.clock.Advance(time.Hour)
			require.NotEqual(t, "running", r.children(sup)["w"].State)
			require.EqualValues(t, 1, f.calls())
		})
	}
}

// The n-th restart waits at most base doubled n-1 times, never more than the cap, and then happens.
func TestBackoff_DelaysAndCaps(t *testing.T) {
	b := Backoff{Base: 10 * time.Millisecond, Cap: 35 * time.Millisecond, jitter: func(l time.Duration) time.Duration { return l }}
	var got []time.Duration
	for n := 1; n <= 5; n++ {
		got = append(got, b.drawDelay(n)/time.Millisecond)
	}
	require.Equal(t, []time.Duration{10, 20, 35, 35, 35}, got)
	for n := range 100 {
		d := Backoff{Base: time.Second}.drawDelay(n)
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, 64*time.Second)
	}
	r := newRig(t)
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Backoff: b, Children: []ChildSpec{worker("w", Permanent)}}))
	r.children(sup)["w"].PID.Send(boom)
	r.clock.waitArmed(t, 10*time.Millisecond)
	r.clock.Advance(10 * time.Millisecond)
	r.await(ChildRestarted, "w")
}

// Ids are unique in a static supervisor; a dynamic one has a limit that counts pending restarts.
func TestR11_DuplicatesAndMaxChildren(t *testing.T) {
	t.Run("listed twice", func(t *testing.T) {
		r := newRig(t)
		_, err := r.Start(r.ctx, SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{worker("a", Permanent), worker("a", Permanent)}}))
		require.ErrorIs(t, err, ErrDuplicate)
	})
	t.Run("started twice", func(t *testing.T) {
		r := newRig(t)
		sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{worker("a", Permanent)}}))
		_, err := StartChild(r.ctx, sup, worker("a", Permanent))
		require.ErrorIs(t, err, ErrDuplicate)
	})
	t.Run("max_children in backoff", func(t *testing.T) {
		r := newRig(t)
		sup := r.start(DynamicSupervisorSpec("sup", DynamicSupervisorOptions{MaxChildren: 1,
			Backoff: Backoff{Base: time.Minute, jitter: func(l time.Duration) time.Duration { return l }}}))
		pid, err := StartChild(r.ctx, sup, worker("w", Transient))
		require.NoError(t, err)
		pid.Send(boom)
		r.clock.waitArmed(t, time.Minute)
		_, err = StartChild(r.ctx, sup, worker("w", Transient))
		require.ErrorIs(t, err, ErrMaxChildren)
		r.clock.Advance(time.Minute)
		again := r.await(ChildRestarted, "w").PID
		again.Send(end(Normal()))
		r.ended(again)
		_, err = StartChild(r.ctx, sup, worker("w", Transient)) // the same id, free again
		require.NoError(t, err)
	})
}

// The end of significant children ends their supervisor as AutoShutdown says.
func TestR12_AutoShutdown(t *testing.T) {
	sig := func(id string) ChildSpec { s := worker(id, Transient); s.Significant = true; return s }
	start := func(t *testing.T, mode AutoShutdown) (*rig, PID, map[string]ChildInfo) {
		r := newRig(t)
		sup := r.start(SupervisorSpec("sup", SupervisorOptions{AutoShutdown: mode,
			Children: []ChildSpec{sig("a"), sig("b"), worker("c", Permanent)}}))
		return r, sup, r.children(sup)
	}
	t.Run("never refuses significant children", func(t *testing.T) {
		r := newRig(t)
		_, err := r.Start(r.ctx, SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{sig("a")}}))
		require.ErrorIs(t, err, ErrBadSpec)
		perm := sig("p")
		perm.Restart = Permanent
		_, err = r.Start(r.ctx, SupervisorSpec("sup", SupervisorOptions{AutoShutdown: AutoShutdownAny, Children: []ChildSpec{perm}}))
		require.ErrorIs(t, err, ErrBadSpec)
	})
	t.Run("any", func(t *testing.T) {
		r, sup, kids := start(t, AutoShutdownAny)
		kids["a"].PID.Send(boom) // restarted, so not ended
		a := r.await(ChildRestarted, "a").PID
		require.True(t, sup.Alive())
		a.Send(end(Normal()))
		require.Equal(t, KindShutdown, r.ended(sup).Kind)
	})
	t.Run("a temporary one counts however it ended", func(t *testing.T) {
		for _, reason := range []Reason{Normal(), Crash(errFlaky)} {
			r, temp := newRig(t), sig("a")
			temp.Restart = Temporary
			sup := r.start(SupervisorSpec("sup", SupervisorOptions{AutoShutdown: AutoShutdownAny,
				Children: []ChildSpec{temp, worker("c", Permanent)}}))
			r.children(sup)["a"].PID.Send(end(reason))
			require.Equal(t, Shutdown(ErrAutoShutdown), r.ended(sup))
		}
	})
	t.Run("all", func(t *testing.T) {
		r, sup, kids := start(t, AutoShutdownAll)
		kids["a"].PID.Send(end(Normal()))
		r.ended(kids["a"].PID)
		require.Len(t, r.children(sup), 3)
		kids["b"].PID.Send(end(Shutdown(nil)))
		require.Equal(t, KindShutdown, r.ended(sup).Kind)
	})
}

// Wanted ends of transient and temporary children are not reported; every other end is.
func TestR13_Reports(t *testing.T) {
	for _, tc := range []struct {
		name    string
		restart Restart
		reason  Reason
		want    EventType
		silent  bool
	}{
		{"temporary normal", Temporary, Normal(), 0, true},
		{"temporary shutdown", Temporary, Shutdown(nil), 0, true},
		{"temporary shutdown x", Temporary, Shutdown("x"), 0, true},
		{"temporary crash", Temporary, Crash(errors.New("x")), ChildCrashed, false},
		{"transient normal", Transient, Normal(), 0, true},
		{"transient shutdown", Transient, Shutdown(nil), 0, true},
		{"transient shutdown x", Transient, Shutdown("x"), 0, true},
		{"transient crash", Transient, Crash(errors.New("x")), ChildCrashed, false},
		{"permanent normal", Permanent, Normal(), ChildExited, false},
		{"permanent shutdown", Permanent, Shutdown(nil), ChildExited, false},
		{"permanent shutdown x", Permanent, Shutdown("x"), ChildExited, false},
		{"permanent crash", Permanent, Crash(errors.New("x")), ChildCrashed, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{worker("w", tc.restart)}}))
			old := r.children(sup)["w"].PID
			old.Send(end(tc.reason))
			if !tc.silent {
				e := r.await(tc.want, "w")
				require.Equal(t, []any{old, tc.reason, sup}, []any{e.PID, e.Reason, e.Supervisor})
				return
			}
			r.ended(old)
			r.children(sup) // answered after the supervisor saw the end
			for len(r.events) > 0 {
				e := <-r.events
				require.NotContains(t, []EventType{ChildExited, ChildCrashed}, e.Type)
			}
		})
	}
}

// Terminate runs only after the running callback ended, with the reason, and not at all after a kill.
func TestR14_TerminateComesAfterHandle(t *testing.T) {
	r, l := newRig(t), &log{}
	in := make(chan struct{})
	spec := ChildSpec{ID: "w", Start: func() Server {
		return &fake{
			handle: func(c *Context, _ any) {
				close(in)
				<-c.Context().Done() // the stop request reaches a running Handle by its context
				l.add("handled")
			},
			term: func(_ *Context, r Reason) { l.add("terminated " + r.String()) },
		}
	}}
	pid := r.start(spec)
	pid.Send(1)
	pid.Send("dropped: stop overtakes queued messages")
	<-in
	require.NoError(t, TerminateChild(r.ctx, PID{r.root}, pid))
	require.Equal(t, []string{"handled", "terminated shutdown"}, l.take())
}

// Children that await a restart, start, or are to be killed do not hold up the end of a dynamic supervisor.
func TestR8_DynamicStopsMixedChildren(t *testing.T) {
	r, free, in := newRig(t), make(chan struct{}), make(chan struct{})
	sup := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{
		Backoff: Backoff{Base: time.Minute, jitter: func(l time.Duration) time.Duration { return l }}}))
	brutal := worker("brutal", Permanent)
	brutal.Shutdown = BrutalKill
	_, err := StartChild(r.ctx, sup, brutal)
	require.NoError(t, err)
	waits, err := StartChild(r.ctx, sup, worker("waits", Permanent))
	require.NoError(t, err)
	waits.Send(boom)
	r.clock.waitArmed(t, time.Minute)
	started := make(chan error, 1)
	go func() {
		_, err := StartChild(r.ctx, sup, ChildSpec{ID: "hung", Shutdown: time.Second, Start: func() Server {
			return &fake{init: func(*Context) error { close(in); <-free; return nil }}
		}})
		started <- err
	}()
	<-in
	stopped := make(chan error, 1)
	go func() { stopped <- TerminateChild(r.ctx, PID{r.root}, sup) }()
	r.clock.waitArmed(t, time.Second)
	r.clock.Advance(time.Second)
	require.NoError(t, <-stopped)
	require.ErrorIs(t, <-started, ErrStopping)
	close(free)
	require.NoError(t, r.leaks.wait(r.ctx))
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
		sup := r.start(SupervisorSpec("sup", SupervisorOptions{Strategy: Strategy(n % 3), MaxRestarts: 1 << 30,
			Children: []ChildSpec{kid("a"), kid("b"), kid("c")}}))
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

// A significant child that waits for its restart has not ended: the supervisor
// stays until it has.
func TestR12_PendingRestartIsNoEnd(t *testing.T) {
	sig := func(id string) ChildSpec { s := worker(id, Transient); s.Significant = true; return s }
	r := newRig(t)
	back := Backoff{Base: time.Minute, jitter: func(limit time.Duration) time.Duration { return limit }}
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{AutoShutdown: AutoShutdownAll, Backoff: back,
		Children: []ChildSpec{sig("a"), sig("b")}}))
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
