package otp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Crashes spread over all children count together, and the fourth in a period ends the supervisor.
func TestR1_IntensityIsPerSupervisor(t *testing.T) {
	r := newRig(t)
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{
		worker("a", Permanent), worker("b", Permanent), worker("c", Permanent), worker("d", Permanent)}}))
	for _, id := range []string{"a", "b", "c"} {
		r.children(sup)[id].PID.Send(boom)
		r.await(ChildRestarted, id)
	}
	r.children(sup)["d"].PID.Send(boom)
	e := r.await(GaveUp, "sup")
	require.ErrorIs(t, e.Reason.Detail.(error), ErrMaxRestarts)
	require.Equal(t, KindShutdown, r.ended(sup).Kind)
}

// A crash exactly one period old still counts, an older one does not.
func TestR1_WindowEdge(t *testing.T) {
	for _, tc := range []struct {
		name   string
		wait   time.Duration
		giveUp bool
	}{{"exactly the period", 5 * time.Second, true}, {"just older", 5*time.Second + 1, false}} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{worker("a", Permanent)}}))
			for range 3 {
				r.children(sup)["a"].PID.Send(boom)
				r.await(ChildRestarted, "a")
			}
			r.clock.Advance(tc.wait)
			r.children(sup)["a"].PID.Send(boom)
			if tc.giveUp {
				require.Equal(t, KindShutdown, r.ended(sup).Kind)
				return
			}
			r.await(ChildRestarted, "a")
			require.True(t, sup.Alive())
		})
	}
}

// A supervisor that gave up ends with shutdown: only a permanent one is started again.
func TestR2_GivingUpIsShutdown(t *testing.T) {
	r := newRig(t)
	inner := func(id string, restart Restart) ChildSpec {
		s := SupervisorSpec(id, SupervisorOptions{MaxRestarts: -1, Children: []ChildSpec{worker(id+".w", Permanent)}})
		s.Restart = restart
		return s
	}
	top := r.start(SupervisorSpec("top", SupervisorOptions{Children: []ChildSpec{inner("perm", Permanent), inner("trans", Transient)}}))
	kids := r.children(top)
	r.children(kids["trans"].PID)["trans.w"].PID.Send(boom)
	require.Equal(t, KindShutdown, r.ended(kids["trans"].PID).Kind)
	r.children(kids["perm"].PID)["perm.w"].PID.Send(boom)
	r.await(ChildRestarted, "perm")
	now := r.children(top)
	require.Equal(t, "running", now["perm"].State)
	require.NotEqual(t, kids["perm"].PID, now["perm"].PID)
	require.Equal(t, "absent", now["trans"].State)
}

// Restart kind and exit reason alone decide whether a child comes back.
func TestR3_RestartTable(t *testing.T) {
	reasons := map[string]Reason{"normal": Normal(), "shutdown": Shutdown(nil),
		"shutdown x": Shutdown("x"), "crash": Crash(errors.New("bad"))}
	for kind, back := range map[Restart][]string{
		Permanent: {"normal", "shutdown", "shutdown x", "crash"}, Transient: {"crash"}, Temporary: nil} {
		for name, reason := range reasons {
			t.Run(fmt.Sprintf("%d/%s", kind, name), func(t *testing.T) {
				r := newRig(t)
				sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{worker("w", kind)}}))
				old := r.children(sup)["w"].PID
				old.Send(end(reason))
				require.Equal(t, reason.Kind, r.ended(old).Kind)
				wantBack := false
				for _, b := range back {
					wantBack = wantBack || b == name
				}
				if wantBack {
					e := r.await(ChildRestarted, "w")
					require.NotEqual(t, old, e.PID)
					return
				}
				now, listed := r.children(sup)["w"]
				require.True(t, now.PID.IsZero())
				require.Equal(t, kind != Temporary, listed)
			})
		}
	}
}

// The group stops in reverse, then starts in order; temporary siblings are forgotten.
func TestR4_GroupRestarts(t *testing.T) {
	for _, tc := range []struct {
		strategy Strategy
		want     []string
		left     []string
	}{
		{OneForOne, []string{"-b", "+b"}, []string{"a", "b", "t", "c"}},
		{RestForOne, []string{"-b", "-c", "-t", "+b", "+c"}, []string{"a", "b", "c"}},
		{OneForAll, []string{"-b", "-c", "-t", "-a", "+a", "+b", "+c"}, []string{"a", "b", "c"}},
	} {
		t.Run(fmt.Sprint(tc.strategy), func(t *testing.T) {
			r, l := newRig(t), &log{}
			sup := r.start(SupervisorSpec("sup", SupervisorOptions{Strategy: tc.strategy, Children: []ChildSpec{
				logged(l, "a", Permanent), logged(l, "b", Permanent), logged(l, "t", Temporary), logged(l, "c", Transient)}}))
			require.Equal(t, []string{"+a", "+b", "+t", "+c"}, l.take())
			before := r.children(sup)
			before["b"].PID.Send(boom)
			last := tc.want[len(tc.want)-1][1:]
			r.await(ChildRestarted, last)
			require.Equal(t, tc.want, l.take())
			list, err := WhichChildren(r.ctx, sup)
			require.NoError(t, err)
			var ids []string
			for _, c := range list {
				ids = append(ids, c.ID)
				require.Equal(t, "running", c.State)
			}
			require.Equal(t, tc.left, ids)
		})
	}
}

// Each start returns before the next begins; a failing one stops those before it and fails the supervisor.
func TestR5_InitialStart(t *testing.T) {
	bad := errors.New("no disk")
	for name, init := range map[string]func(*Context) error{
		"error": func(*Context) error { return bad },
		"panic": func(*Context) error { panic(bad) },
	} {
		t.Run(name, func(t *testing.T) {
			r, l := newRig(t), &log{}
			_, err := r.Start(r.ctx, SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{
				logged(l, "a", Permanent), logged(l, "b", Permanent),
				{ID: "bad", Start: func() Server { return &fake{init: init} }},
				logged(l, "never", Permanent)}}))
			require.ErrorIs(t, err, bad)
			require.Equal(t, []string{"+a", "+b", "-b", "-a"}, l.take())
		})
	}
	t.Run("hang", func(t *testing.T) {
		r, l := newRig(t), &log{}
		free, in, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := r.Start(r.ctx, SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{
				logged(l, "a", Permanent),
				{ID: "hung", StartTimeout: 7 * time.Second, Start: func() Server {
					return &fake{init: func(*Context) error { close(in); <-free; return nil }}
				}}}}))
			failed <- err
		}()
		<-in
		r.clock.waitArmed(t, 7*time.Second)
		r.clock.Advance(7 * time.Second)
		require.ErrorIs(t, <-failed, ErrStartTimeout)
		require.Equal(t, []string{"+a", "-a"}, l.take())
		require.Equal(t, 1, r.Leaked())
		close(free)
		r.await(LateReturn, "hung")
		require.Zero(t, r.Leaked())
	})
}

// A start that fails during a restart counts again, and a stop gets through between the tries.
func TestR6_FailingRestart(t *testing.T) {
	flaky := func(fail *flakyInit) ChildSpec {
		return ChildSpec{ID: "w", Start: func() Server { return &fake{init: fail.next} }}
	}
	t.Run("counts", func(t *testing.T) {
		r, f := newRig(t), &flakyInit{ok: 1}
		sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{flaky(f)}}))
		r.children(sup)["w"].PID.Send(boom)
		require.Equal(t, KindShutdown, r.ended(sup).Kind)
		require.EqualValues(t, 4, f.calls()) // the first start and three granted restarts
	})
	t.Run("stop gets through", func(t *testing.T) {
		r, f := newRig(t), &flakyInit{ok: 1}
		sup := r.start(SupervisorSpec("sup", SupervisorOptions{MaxRestarts: 1 << 30, Children: []ChildSpec{flaky(f)}}))
		r.children(sup)["w"].PID.Send(boom)
		for range 5 {
			r.await(StartFailed, "w")
		}
		require.NoError(t, TerminateChild(r.ctx, PID{r.root}, sup))
		require.False(t, sup.Alive())
	})
	t.Run("start_child is returned, not retried, not counted", func(t *testing.T) {
		r, f := newRig(t), &flakyInit{}
		for _, spec := range []ChildSpec{SupervisorSpec("s", SupervisorOptions{}), DynamicSupervisorSpec("d", DynamicSupervisorOptions{})} {
			sup := r.start(spec)
			for range 10 {
				_, err := StartChild(r.ctx, sup, flaky(f))
				require.ErrorIs(t, err, errFlaky)
			}
			n, err := CountChildren(r.ctx, sup)
			require.NoError(t, err)
			require.Equal(t, Counts{}, n)
		}
		require.EqualValues(t, 20, f.calls())
	})
}

// Init may decline: a static supervisor keeps the spec, a dynamic one and Temporary specs are dropped.
func TestR7_Ignore(t *testing.T) {
	r := newRig(t)
	shy := func(id string, restart Restart) ChildSpec {
		return ChildSpec{ID: id, Restart: restart, Start: func() Server {
			return &fake{init: func(*Context) error { return ErrIgnore }}
		}}
	}
	sup := r.start(SupervisorSpec("s", SupervisorOptions{Children: []ChildSpec{
		shy("keep", Permanent), shy("drop", Temporary), worker("w", Permanent)}}))
	kids := r.children(sup)
	require.Len(t, kids, 2)
	require.Equal(t, "absent", kids["keep"].State)
	require.Equal(t, "running", kids["w"].State)
	dyn := r.start(DynamicSupervisorSpec("d", DynamicSupervisorOptions{}))
	_, err := StartChild(r.ctx, dyn, shy("x", Permanent))
	require.ErrorIs(t, err, ErrIgnore)
	require.Empty(t, r.children(dyn))
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

// A dynamic supervisor counts all its children's crashes, and failing restarts too, and then ends with all of them.
func TestR1R6_DynamicIntensity(t *testing.T) {
	t.Run("crashes", func(t *testing.T) {
		r := newRig(t)
		sup := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{}))
		bystander, err := StartChild(r.ctx, sup, worker("bystander", Permanent))
		require.NoError(t, err)
		for i := range 4 {
			pid, err := StartChild(r.ctx, sup, worker("w", Transient))
			require.NoError(t, err)
			pid.Send(boom)
			if i < 3 {
				r.await(ChildRestarted, "w")
			}
		}
		require.Equal(t, Shutdown(ErrMaxRestarts), r.ended(sup))
		require.Equal(t, KindShutdown, r.ended(bystander).Kind)
	})
	t.Run("failing restarts", func(t *testing.T) {
		r, f := newRig(t), &flakyInit{ok: 1}
		sup := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{}))
		pid, err := StartChild(r.ctx, sup, ChildSpec{ID: "w", Start: func() Server { return &fake{init: f.next} }})
		require.NoError(t, err)
		pid.Send(boom)
		require.Equal(t, Shutdown(ErrMaxRestarts), r.ended(sup))
		require.EqualValues(t, 4, f.calls())
	})
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
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Strategy: RestForOne, MaxRestarts: 2,
		Children: []ChildSpec{a, logged(l, "b", Permanent)}}))
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
