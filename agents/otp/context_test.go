package otp

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
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
func TestManyCallersGetTheirOwnAnswers(t *testing.T) {
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
	slow := ChildSpec{ID: "slow", StartTimeout: Infinity, Start: func() Server {
		return &fake{init: func(*Context) error { <-free; return nil }}
	}}
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

// A request that is open when its server ends is withdrawn: the child it asked for does not stay.
func TestRequestEndsWithItsServer(t *testing.T) {
	r, free, in := newRig(t), make(chan struct{}), make(chan PID, 1)
	dyn, pid := r.start(DynamicSupervisorSpec("dyn", DynamicSupervisorOptions{})), r.start(worker("asker", Temporary))
	slow := ChildSpec{ID: "slow", Start: func() Server {
		return &fake{init: func(c *Context) error { in <- c.Self(); <-free; return nil }}
	}}
	pid.Send(func(c *Context) { c.StartChild(dyn, slow, time.Minute) })
	orphan := <-in
	pid.Send(boom)
	r.ended(pid)
	close(free)
	require.Equal(t, KindShutdown, r.ended(orphan).Kind)
	require.Empty(t, r.children(dyn))
}

// A server sees its own place, can call others in bounded time, and a panicking event hook harms nobody.
func TestContextAndHook(t *testing.T) {
	var buf bytes.Buffer
	s := NewSystem(SystemOptions{OnEvent: func(Event) { panic("canary") },
		Logger: slog.New(slog.NewTextHandler(&buf, nil))})
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	sup, err := s.Start(ctx, SupervisorSpec("sup", SupervisorOptions{Children: []ChildSpec{worker("w", Permanent)}}))
	require.NoError(t, err)
	other, err := s.Start(ctx, ChildSpec{ID: "echo", Start: func() Server {
		return &fake{handle: func(c *Context, msg any) { c.Reply(msg, nil) }}
	}})
	require.NoError(t, err)
	kids, err := WhichChildren(ctx, sup)
	require.NoError(t, err)
	got, err := Call(ctx, kids[0].PID, func(c *Context) {
		v, err := c.Call(other, "hi", 4*time.Minute)
		c.Logger().Info("seen")
		c.Reply([]any{c.Parent(), c.System() == s, v, c.From().Valid()}, err)
	})
	require.NoError(t, err)
	require.Equal(t, []any{sup, true, "hi", true}, got)
	require.Equal(t, "w", kids[0].PID.ID())
	s.actors.Logger().Error("runtime trouble", "message", "canary")
	s.actors.Logger().Info("chatter")
	require.NoError(t, s.Stop(ctx))
	require.Contains(t, buf.String(), "protoactor: runtime trouble")
	require.Contains(t, buf.String(), "event hook panicked")
	require.NotContains(t, buf.String(), "canary")
	require.NotContains(t, buf.String(), "chatter")
}
