package otp

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A snapshot shows every process with its state, its restarts and what waits
// for it, also where a server is stuck.
func TestSnapshot(t *testing.T) {
	r := newRig(t)
	hold, held := make(chan struct{}), make(chan struct{}, 2)
	worker := func(id string) ChildSpec {
		return ChildSpec{ID: id, Name: id, Start: func() Server {
			return &fake{handle: func(c *Context, msg any) {
				switch msg {
				case "hang":
					held <- struct{}{}
					<-hold
				case "crash":
					panic("crash")
				case "task":
					c.Async(0, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, nil })
					held <- struct{}{}
				}
			}}
		}}
	}
	r.start(SupervisorSpec("top", SupervisorOptions{Children: []ChildSpec{
		worker("a"), worker("b"), DynamicSupervisorSpec("many", DynamicSupervisorOptions{}),
	}}))
	began := r.clock.Now()
	r.clock.Advance(1)
	a, _ := r.Whereis("a")
	a.Send("crash")
	r.await(ChildRestarted, "a")
	b, _ := r.Whereis("b")
	b.Send("task")
	<-held
	b.Send("hang")
	<-held
	b.Send("waits")
	b.Send("waits")

	roots := r.Snapshot()
	require.Len(t, roots, 1)
	top := roots[0]
	require.Equal(t, "top", top.ID)
	require.Equal(t, Supervisor, top.Type)
	require.Len(t, top.Children, 3)
	many, first, second := top.Children[1], top.Children[2], top.Children[0] // a was started again: it is the youngest
	require.Equal(t, "many", many.ID)
	require.Empty(t, many.Children)
	require.Equal(t, ProcessInfo{ID: "a", Name: "a", State: "idle", Since: began.Add(1), Restarts: 1,
		Before: "crash (panic: value of type string)"}, first)
	require.Equal(t, ProcessInfo{ID: "b", Name: "b", State: "busy", Since: began, Mailbox: 2, Tasks: 1}, second)
	close(hold)
	require.Equal(t, "pong", r.answer(b))
	require.Zero(t, r.Snapshot()[0].Children[0].Mailbox)
}

// answer waits until the server has handled all that was sent before.
func (r *rig) answer(pid PID) any {
	r.t.Helper()
	_, err := Call(r.ctx, pid, "ping")
	require.ErrorIs(r.t, err, ErrNoReply)
	return "pong"
}
