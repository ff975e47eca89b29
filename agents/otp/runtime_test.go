package otp

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// The package is built around these defects of the actor runtime, which comments cite
// by their numbers. Each has a test.
//
//	D1   its guardians end the process           TestDefectivePartsOfTheRuntimeAreNotUsed
//	D2   its events: a subscriber that panics    TestNoFailureReachesTheRuntime
//	     ends the process
//	D3   a panic of a goroutine that foreign     TestR15_AsyncResults, as far as a process
//	     code starts                             can contain it
//	D4   a panic while an actor stops            TestFailuresTouchNoSibling,
//	                                             TestTerminateFailsDuringStop
//	D5   a blocked actor holds up its parent     TestSystemStopKeepsItsDeadline,
//	                                             TestR9_ShutdownDeadline
//	D6   Goexit makes a mailbox stick            TestFailuresTouchNoSibling
//	D7   escalation leaves children suspended    TestDefectivePartsOfTheRuntimeAreNotUsed
//	D8   one of many waiters is released         TestAllWaitersHearOfAnEnd
//	D9   bounded mailboxes block senders         TestManyMessagesBlockNoSender
//	D10  a shutdown stops no actor, and a        TestSystemStopsOnce
//	     second one panics
//	D11  a send during a spawn panics            TestMessagesDuringAStartAreKept
//	D12  news of an end overtake results         TestMessagesComeBeforeDown
//	D13  messages behind a crash vanish          TestCallsBehindACrashAreAnswered
//	D14  an old PID reaches the new actor        TestOldPIDsStayDead
//	D15  a taken name gives another's PID        TestDuplicatesRunNothing
//	D16  reentry runs on the old instance        TestDefectivePartsOfTheRuntimeAreNotUsed
//	D17  stashes turn the order round            TestDefectivePartsOfTheRuntimeAreNotUsed
//	D18  a producer's panic hits the spawner     TestFailuresTouchNoSibling
//	D19  an actor may be restarted in place      TestNoFailureReachesTheRuntime
//	D20  its list of children has no order       TestChildOrderSurvivesRemoval
//	D21  a parent that watches hears twice       TestDefectivePartsOfTheRuntimeAreNotUsed
//	D22  a stopping parent restarts children     TestNoRestartWhileStopping
//	D23  a second reply, and timers that race    TestCall, TestDefectivePartsOfTheRuntimeAreNotUsed
//	D24  its logs hold messages and panics       TestLogsHoldNoContents, TestR13_ReportsHoldNoValues
//	D25  its metrics listen and leak             TestDefectivePartsOfTheRuntimeAreNotUsed
//	D26  the stack of a panic is lost            TestCrashKeepsItsStack, TestR13_CrashReport

// Parts of the runtime that end the process, hang or misdeliver are not used at
// all, outside of tests: guardians and strategies (D1, D7), event streams (D2),
// its futures (D8), bounded mailboxes (D9), reentry (D16), stashes (D17), its
// child list (D20), its watches (D21), receive timeouts (D23), metrics (D25).
func TestDefectivePartsOfTheRuntimeAreNotUsed(t *testing.T) {
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
func TestNoFailureReachesTheRuntime(t *testing.T) {
	r := newRig(t)
	var failures atomic.Int64
	sub := r.actors.EventStream.Subscribe(func(ev any) {
		if _, ok := ev.(*actor.SupervisorEvent); ok {
			failures.Add(1)
			panic("subscriber")
		}
	})
	defer r.actors.EventStream.Unsubscribe(sub)
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
func TestAllWaitersHearOfAnEnd(t *testing.T) {
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
func TestManyMessagesBlockNoSender(t *testing.T) {
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

// D11: a name can be found and written to while its process comes up, and no message is lost.
func TestMessagesDuringAStartAreKept(t *testing.T) {
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
func TestMessagesComeBeforeDown(t *testing.T) {
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
func TestCallsBehindACrashAreAnswered(t *testing.T) {
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
func TestOldPIDsStayDead(t *testing.T) {
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
func TestDuplicatesRunNothing(t *testing.T) {
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
func TestChildOrderSurvivesRemoval(t *testing.T) {
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
func TestNoRestartWhileStopping(t *testing.T) {
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
