package otp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// These tests are named after the defects of the actor runtime, D1 to D26, that
// the package is built around; hazards_test.go and server_test.go hold more.

// Parts of the runtime that end the process, hang or misdeliver are not used at
// all, outside of tests: guardians and strategies (D1, D7), event streams (D2),
// its futures (D8), bounded mailboxes (D9), reentry (D16), stashes (D17), its
// child list (D20), its watches (D21), receive timeouts (D23), metrics (D25).
func TestD1D2D7D8D9D16D17D20D21D23D25_NotUsed(t *testing.T) {
	banned := map[string]bool{}
	for _, name := range strings.Fields(`WithGuardian WithSupervisor NewOneForOneStrategy NewAllForOneStrategy NewExponentialBackoffStrategy
		NewRestartingStrategy EscalateFailure RestartChildren ResumeChildren EventStream NewFuture RequestFuture StopFuture PoisonFuture
		Bounded BoundedDropping ReenterAfter Stash Unstash Children Watch Unwatch SetReceiveTimeout CancelReceiveTimeout Forward
		WithMetricProviders WithDefaultPrometheusProvider SpawnPrefix Spawn Poison NewPID`) {
		banned[name] = true
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		uses := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return strings.Contains(i.Path.Value, "protoactor") })
		if !uses || strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen++
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				require.False(t, banned[sel.Sel.Name], "%s uses %s", name, sel.Sel.Name)
			}
			return true
		})
	}
	require.Equal(t, 3, seen, "lifecycle.go, proc.go, system.go; the runtime shall not spread")
}

// D2: a subscriber of the runtime's own events that panics is nobody's end. We
// subscribe to nothing; what others subscribe finds no failure published,
// since no failure reaches the runtime.
func TestD2D19_NoFailureReachesTheRuntime(t *testing.T) {
	r := newRig(t)
	var failures atomic.Int64
	sub := r.as.EventStream.Subscribe(func(ev any) {
		if _, ok := ev.(*actor.SupervisorEvent); ok {
			failures.Add(1)
			panic("subscriber")
		}
	})
	defer r.as.EventStream.Unsubscribe(sub)
	var inits atomic.Int64
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{{ID: "w", Start: func() Server {
		return &fake{init: func(*Context) error { inits.Add(1); return nil }}
	}}}}))
	root := r.start(worker("root", Temporary))
	for range 3 {
		r.children(sup)["w"].PID.Send(boom)
		r.await(ChildRestarted, "w")
	}
	root.Send(boom)
	require.Equal(t, KindCrash, r.ended(root).Kind)
	require.EqualValues(t, 4, inits.Load()) // never restarted in place
	require.Zero(t, failures.Load())
}

// D8: every one of many waiters for one process's end hears of it.
func TestD8_ManyWaiters(t *testing.T) {
	r := newRig(t)
	pid := r.start(worker("w", Temporary))
	var wg sync.WaitGroup
	var heard atomic.Int64
	for range 32 {
		wg.Go(func() {
			if reason, err := Wait(r.ctx, pid); err == nil && reason == Normal() {
				heard.Add(1)
			}
		})
	}
	pid.Send(end(Normal()))
	wg.Wait()
	require.EqualValues(t, 32, heard.Load())
}

// D9: 10,000 messages to a busy process block no sender, and all are handled in order.
func TestD9_TenThousandMessages(t *testing.T) {
	r, free, in := newRig(t), make(chan struct{}), make(chan struct{})
	next, wrong := 0, 0
	pid := r.start(ChildSpec{ID: "w", Start: func() Server {
		return &fake{handle: func(_ *Context, msg any) {
			if msg != next {
				wrong++
			}
			next++
		}}
	}})
	pid.Send(func(*Context) { close(in); <-free })
	<-in
	for i := range 10_000 {
		pid.Send(i)
	}
	require.Equal(t, 10_000, r.Snapshot()[0].Mailbox)
	close(free)
	require.Equal(t, []any{10_000, 0}, r.call(pid, func(c *Context) { c.Reply([]any{next, wrong}, nil) }))
}

// D10: a system is stopped once, however often and by however many it is asked.
func TestD10_StopTwice(t *testing.T) {
	s := NewSystem(SystemOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
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
	require.True(t, s.as.IsStopped())
}

// D11: a name can be found and written to while its process comes up, and no message is lost.
func TestD11_SendDuringSpawn(t *testing.T) {
	r := newRig(t)
	sup := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{}))
	for n := range 200 {
		name := fmt.Sprint("name", n)
		got := make(chan any, 1)
		spec := ChildSpec{ID: "w", Name: name, Restart: Temporary, Start: func() Server {
			return &fake{handle: func(_ *Context, msg any) { got <- msg }}
		}}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for {
				if pid, ok := r.Whereis(name); ok {
					pid.Send(n)
					return
				}
			}
		}()
		_, err := StartChild(r.ctx, sup, spec)
		require.NoError(t, err)
		<-sent
		require.Equal(t, n, <-got)
	}
}

// D12: what a process sent before it ended is handled before the news of its end.
func TestD12_ResultsComeBeforeDown(t *testing.T) {
	r, out := newRig(t), make(chan any, 1<<10)
	watcher := r.start(results(out))
	for _, reason := range []Reason{Normal(), Crash(errFlaky)} {
		w, err := StartChild(r.ctx, PID{r.root}, worker("w", Temporary))
		require.NoError(t, err)
		r.call(watcher, func(c *Context) { c.Monitor(w); c.Reply(nil, nil) })
		w.Send(func(c *Context) {
			for i := range 100 {
				watcher.Send(i)
			}
			c.Stop(reason)
		})
		for i := range 100 {
			require.Equal(t, i, <-out)
		}
		require.Equal(t, reason, (<-out).(Down).Reason)
	}
}

// D13: a call that is queued behind a crash is answered at once, not by its timeout.
func TestD13_CallsBehindACrash(t *testing.T) {
	r, free, in := newRig(t), make(chan struct{}), make(chan struct{})
	pid := r.start(worker("w", Temporary))
	pid.Send(func(*Context) { close(in); <-free; panic("boom") })
	<-in
	errs := make(chan error, 20)
	for range 20 {
		go func() {
			_, err := Call(r.ctx, pid, func(c *Context) { c.Reply(1, nil) })
			errs <- err
		}()
	}
	for r.Snapshot()[0].Mailbox < 20 {
		runtime.Gosched()
	}
	close(free)
	for range 20 {
		require.ErrorIs(t, <-errs, ErrNoProcess)
	}
	require.NoError(t, r.ctx.Err())
}

// D14: the PID of an earlier incarnation reaches nobody after a restart under the same id and name.
func TestD14_OldPIDsStayDead(t *testing.T) {
	r, out := newRig(t), make(chan any, 10)
	spec := results(out)
	spec.Restart, spec.Name = Permanent, "named"
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{spec}}))
	old := r.children(sup)["server"].PID
	old.Send(boom)
	now := r.await(ChildRestarted, "server").PID
	old.Send("for the dead")
	_, err := Call(r.ctx, old, "for the dead")
	require.ErrorIs(t, err, ErrNoProcess)
	now.Send("for the living")
	require.Equal(t, "for the living", <-out)
	require.NotEqual(t, old.String(), now.String())
	require.Empty(t, out)
}

// D15: a taken id or name hands out nobody else's PID, and the refused child's code has not run.
func TestD15_DuplicatesRunNothing(t *testing.T) {
	r := newRig(t)
	var ran atomic.Bool
	first := worker("w", Permanent)
	first.Name = "taken"
	sup := r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{first}}))
	second := ChildSpec{ID: "w", Start: func() Server { ran.Store(true); return &fake{} }}
	pid, err := StartChild(r.ctx, sup, second)
	require.ErrorIs(t, err, ErrDuplicate)
	require.True(t, pid.IsZero())
	second.ID, second.Name = "other", "taken"
	pid, err = StartChild(r.ctx, sup, second)
	require.ErrorIs(t, err, ErrNameTaken)
	require.True(t, pid.IsZero())
	require.False(t, ran.Load())
	require.Len(t, r.children(sup), 1)
}

// D20: children are listed in the order of their starts, also after one in the middle is gone.
func TestD20_OrderSurvivesRemoval(t *testing.T) {
	r := newRig(t)
	for _, spec := range []ChildSpec{SupervisorSpec("s", SupervisorOptions{}), DynamicSupervisorSpec("d", DynamicSupervisorOptions{})} {
		sup := r.start(spec)
		pids := map[string]PID{}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			pid, err := StartChild(r.ctx, sup, worker(id, Temporary))
			require.NoError(t, err)
			pids[id] = pid
		}
		require.NoError(t, TerminateChild(r.ctx, sup, pids["b"]))
		list, err := WhichChildren(r.ctx, sup)
		require.NoError(t, err)
		ids := ""
		for _, k := range list {
			ids += k.ID
		}
		require.Equal(t, "acde", ids)
	}
}

// D22: children that end while their supervisor stops are not started again.
func TestD22_NoRestartWhileStopping(t *testing.T) {
	for name, spec := range map[string]func([]ChildSpec) ChildSpec{
		"static": func(k []ChildSpec) ChildSpec { return SupervisorSpec("sup", SupervisorOptions{Children: k}) },
		"dynamic": func([]ChildSpec) ChildSpec {
			return DynamicSupervisorSpec("sup", DynamicSupervisorOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			var starts atomic.Int64
			kid := func(id string) ChildSpec {
				return ChildSpec{ID: id, Start: func() Server {
					starts.Add(1)
					return &fake{term: func(*Context, Reason) { panic("boom") }}
				}}
			}
			kids := []ChildSpec{kid("a"), kid("b"), kid("c")}
			sup := r.start(spec(kids))
			if name == "dynamic" {
				for _, k := range kids {
					_, err := StartChild(r.ctx, sup, k)
					require.NoError(t, err)
				}
			}
			require.NoError(t, TerminateChild(r.ctx, PID{r.root}, sup))
			require.EqualValues(t, 3, starts.Load())
			require.Equal(t, KindShutdown, r.ended(sup).Kind)
		})
	}
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
	r.clock.Advance(DefaultPeriod + 1) // counted from the moment it was noticed, which is the next crash
	in := newIntensity(3, 0)
	t0 := r.clock.Now()
	for range 3 {
		require.True(t, in.add(t0.Add(time.Hour)))
	}
	require.False(t, in.add(t0)) // they count still
	require.True(t, in.add(t0.Add(DefaultPeriod+1)), "and no longer than a period from here")
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
					require.True(t, errors.Is(e.Reason.Err(), errFlaky))
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
