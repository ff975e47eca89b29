package otp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// results is a server that runs what it is sent and passes every other message on.
func results(out chan any) ChildSpec {
	return ChildSpec{ID: "server", Restart: Temporary, Start: func() Server {
		return &fake{handle: func(_ *Context, msg any) { out <- msg }}
	}}
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

// Call returns the reply, at once an error for a dead process, and refuses to wait for ever.
func TestCall(t *testing.T) {
	r := newRig(t)
	pid := r.start(worker("w", Temporary))
	require.Equal(t, "pong", r.call(pid, func(c *Context) { c.Reply("pong", nil) }))
	_, err := Call(r.ctx, pid, func(c *Context) { c.Reply(nil, errFlaky) })
	require.ErrorIs(t, err, errFlaky)
	_, err = Call(r.ctx, pid, "nobody answers this")
	require.ErrorIs(t, err, ErrNoReply)
	_, err = Call(context.Background(), pid, 1)
	require.ErrorIs(t, err, ErrNoDeadline)
	_, err = Call(r.ctx, PID{}, 1)
	require.ErrorIs(t, err, ErrNoProcess)
	self := r.call(pid, func(c *Context) { _, err := c.Call(c.Self(), 1, time.Second); c.Reply(err, nil) })
	require.ErrorIs(t, self.(error), ErrCallSelf)

	// A reply that comes from elsewhere, later; the second one finds nobody.
	from := make(chan From, 1)
	go func() { f := <-from; f.Reply(1, nil); f.Reply(2, nil) }()
	require.Equal(t, 1, r.call(pid, func(c *Context) { from <- c.From() }))

	short, cancel := context.WithTimeout(r.ctx, time.Nanosecond)
	defer cancel()
	_, err = Call(short, pid, func(c *Context) { c.From() })
	require.ErrorIs(t, err, ErrTimeout)

	// The process ends while a call waits, and while another is queued behind it.
	_, err = Call(r.ctx, pid, boom)
	var down *DownError
	require.ErrorAs(t, err, &down)
	require.Equal(t, pid, down.PID)
	require.ErrorIs(t, err, ErrNoProcess)
	_, err = Call(r.ctx, pid, 1)
	require.ErrorIs(t, err, ErrNoProcess)
	_, err = Call(r.ctx, r.start(SupervisorSpec("s", SupervisorOptions{})), 1)
	require.ErrorIs(t, err, ErrNotServer)
	_, err = WhichChildren(r.ctx, r.start(worker("w2", Temporary)))
	require.ErrorIs(t, err, ErrNotSupervisor)
}

// Every one of many concurrent callers gets its own answer.
func TestCall_ManyWaiters(t *testing.T) {
	r := newRig(t)
	pid := r.start(ChildSpec{ID: "echo", Start: func() Server {
		return &fake{handle: func(c *Context, msg any) { c.Reply(msg, nil) }}
	}})
	var wg sync.WaitGroup
	wrong := make(chan any, 1000)
	for i := range 50 {
		wg.Go(func() {
			for j := range 20 {
				if v, err := Call(r.ctx, pid, i*100+j); err != nil || v != i*100+j {
					wrong <- v
				}
			}
		})
	}
	wg.Wait()
	require.Empty(t, wrong)
}

// Monitors fire exactly once with the reason, also for a process that is dead already.
func TestMonitor(t *testing.T) {
	r, out := newRig(t), make(chan any, 10)
	watcher, w := r.start(results(out)), r.start(worker("w", Temporary))
	ref := make(chan Ref, 3)
	watcher.Send(func(c *Context) { ref <- c.Monitor(w); ref <- c.Monitor(w); c.Demonitor(<-ref) })
	outside := make(chan Down, 2)
	Monitor(w, func(d Down) { outside <- d; panic("contained") })
	cancel := Monitor(w, func(d Down) { outside <- d })
	require.True(t, cancel())
	r.call(watcher, func(c *Context) { c.Reply(nil, nil) })
	w.Send(end(Shutdown("x")))
	d := (<-out).(Down)
	require.Equal(t, Down{Ref: <-ref, PID: w, Reason: Shutdown("x")}, d)
	require.Equal(t, Shutdown("x"), (<-outside).Reason)
	require.False(t, cancel())
	watcher.Send(func(c *Context) { c.Monitor(w); c.Monitor(PID{}) })
	require.Equal(t, Shutdown("x"), (<-out).(Down).Reason)
	require.ErrorIs(t, (<-out).(Down).Reason.Err(), ErrNoProcess)
	r.call(watcher, func(c *Context) { c.Reply(nil, nil) })
	require.Empty(t, out)
	require.Empty(t, outside)
}

// A timer fires once after its time; a cancelled one is not handled even when it is queued already.
func TestTimers(t *testing.T) {
	r, out := newRig(t), make(chan any, 10)
	pid := r.start(results(out))
	r.call(pid, func(c *Context) {
		c.SendAfter(time.Minute, "a")
		b := c.SendAfter(time.Second, "b")
		r.clock.Advance(time.Second) // b is in the mailbox now
		c.Reply(c.CancelTimer(b), nil)
	})
	r.clock.Advance(time.Hour)
	require.Equal(t, "a", <-out)
	r.call(pid, func(c *Context) { c.SendAfter(time.Second, "late"); c.Reply(nil, nil) })
	require.NoError(t, TerminateChild(r.ctx, PID{r.root}, pid))
	r.clock.Advance(time.Hour)
	require.Empty(t, out)
	require.Empty(t, r.clock.timers)
}

// A server starts a child without waiting; if it gives up, the child does not stay.
func TestStartChildFromAServer(t *testing.T) {
	r, out := newRig(t), make(chan any, 10)
	dyn, pid := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{MaxChildren: 2})), r.start(results(out))
	pid.Send(func(c *Context) { c.StartChild(dyn, worker("w", Temporary), time.Minute) })
	rep := (<-out).(Reply)
	require.NoError(t, rep.Err)
	require.Equal(t, r.children(dyn)["w"].PID, rep.Value)

	free := make(chan struct{})
	slow := ChildSpec{ID: "slow", StartTimeout: Infinity, Start: func() Server { return &fake{init: func(*Context) error { <-free; return nil }} }}
	pid.Send(func(c *Context) { c.StartChild(dyn, slow, time.Minute) })
	for r.children(dyn)["slow"].State != "starting" {
		runtime.Gosched()
	}
	pid.Send(func(c *Context) { c.StartChild(dyn, slow, time.Hour) })
	require.ErrorIs(t, (<-out).(Reply).Err, ErrMaxChildren)
	orphan := r.children(dyn)["slow"].PID
	r.clock.Advance(time.Minute / 2)
	r.clock.Advance(time.Minute / 2)
	require.ErrorIs(t, (<-out).(Reply).Err, ErrTimeout)
	close(free)
	r.ended(orphan)
	require.Len(t, r.children(dyn), 1)
	pid.Send(func(c *Context) { c.Request(dyn, 1, 0) })
	require.ErrorIs(t, (<-out).(Reply).Err, ErrNoDeadline)
}

// Names lead to the present incarnation, and belong to one process at a time.
func TestNames(t *testing.T) {
	r := newRig(t)
	spec := worker("w", Permanent)
	spec.Name = "registry"
	r.start(SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{spec}}))
	first, ok := r.Whereis("registry")
	require.True(t, ok)
	_, err := r.Start(r.ctx, spec)
	require.ErrorIs(t, err, ErrNameTaken)
	first.Send(boom)
	r.await(ChildRestarted, "w")
	second, ok := r.Whereis("registry")
	require.True(t, ok)
	require.NotEqual(t, first, second)
	require.False(t, first.Alive())
	require.True(t, strings.HasPrefix(second.String(), "w#"))
}

// Nothing a message, panic value or error carries reaches the log.
func TestD24_LogsHoldNoContents(t *testing.T) {
	var buf bytes.Buffer
	var mu sync.Mutex
	w := writer(func(b []byte) (int, error) { mu.Lock(); defer mu.Unlock(); return buf.Write(b) })
	s := NewSystem(SystemOptions{Logger: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	sup, err := s.Start(ctx, SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{{ID: "w", Start: func() Server {
		return &fake{handle: func(c *Context, msg any) {
			if err, ok := msg.(error); ok {
				c.Stop(Crash(err))
				return
			}
			panic(msg)
		}}
	}}}}))
	require.NoError(t, err)
	for _, msg := range []any{"canary-string", errors.New("canary-error"), struct{ S string }{"canary-struct"}} {
		kids, err := WhichChildren(ctx, sup)
		require.NoError(t, err)
		kids[0].PID.Send(msg)
		_, err = Wait(ctx, kids[0].PID)
		require.NoError(t, err)
		kids[0].PID.Send("canary-dead")
	}
	s.actors.Root.Send(s.actors.NewLocalPID("nobody"), "canary-deadletter")
	require.NoError(t, s.Stop(ctx))
	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, buf.String(), "child crashed")
	require.Contains(t, buf.String(), "otp.(*fake).Handle")
	require.NotContains(t, buf.String(), "canary")
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
