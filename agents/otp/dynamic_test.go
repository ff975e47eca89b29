package otp

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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
		v, err := c.Call(other, "hi", 10*time.Second)
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

// The zero PID and the zero Reason are safe to use, and the latter counts as a failure.
func TestZeroValues(t *testing.T) {
	var pid PID
	pid.Send(1)
	require.Equal(t, []any{"none", "", true, false}, []any{pid.String(), pid.ID(), pid.IsZero(), pid.Alive()})
	require.True(t, Reason{}.Failed())
	require.Error(t, Reason{}.Err())
	require.ErrorIs(t, Reason{Kind: KindKilled}.Err(), ErrKilled)
	require.NoError(t, Normal().Err())
	require.Empty(t, Normal().Stack())
}
