package orchestrator

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
)

// reading stops processes of conversations in front of the journal.
type reading struct {
	on         atomic.Bool
	came, pass chan struct{}
}

func (g *reading) at(place string) {
	if place == "recall" && g.on.Load() {
		g.came <- struct{}{}
		<-g.pass
	}
}

// hanging is a model that answers nothing before it is told to, and counts who
// asks it.
type hanging struct {
	asked, waits atomic.Int64
	answer       chan struct{}
}

func (h *hanging) Chat(ctx context.Context, _ llm.Request) (llm.Response, error) {
	h.asked.Add(1)
	h.waits.Add(1)
	defer h.waits.Add(-1)
	select {
	case <-h.answer:
		return llm.Response{Content: "done"}, nil
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
}

// crash ends the process of conversation c1.
func (r *rig) crash() {
	pid, ok := r.sys.Whereis(serverName("c1"))
	require.True(r.t, ok)
	otp.Kill(pid)
}

// finished waits until conversation c1 works on nothing.
func (r *rig) finished() {
	require.Eventually(r.t, func() bool {
		row, ok, err := r.journal.Get(context.Background(), "c1")
		return err == nil && ok && row.Turn == ""
	}, eventually, tick)
}

// sends sends a request without an id from c1, and returns when the model has
// been asked about it.
func (r *rig) sends(h *hanging) (leave func(), sent chan error, request string) {
	r.models.orchestrator = h
	c := r.open("c1", "ann")
	ctx, leave := context.WithCancel(r.t.Context())
	sent = make(chan error, 1)
	go func() {
		_, err := c.Send(ctx, "go")
		sent <- err
	}()
	require.Eventually(r.t, func() bool { return h.waits.Load() == 1 && r.statuses.listStatuses(r.sys)[0].request != "" }, eventually, tick)
	return leave, sent, r.statuses.listStatuses(r.sys)[0].request
}

// A caller that leaves while the process that worked on its request is on its
// way up again is not forgotten: the request ends, nothing more is done for it,
// and the conversation is free for the next.
func TestLeftDuringRestart(t *testing.T) {
	for name, crashes := range map[string]int{"once": 1, "and its word is lost in another crash": 2} {
		t.Run(name, func(t *testing.T) {
			g := &reading{came: make(chan struct{}), pass: make(chan struct{})}
			o := with()
			o.tune.at = g.at
			r := start(t, o, orch("unused", "unused"))
			h := &hanging{answer: make(chan struct{})}
			leave, sent, id := r.sends(h)
			g.on.Store(true)
			r.crash()
			<-g.came
			leave()
			require.ErrorIs(t, <-sent, context.Canceled)
			for range crashes - 1 {
				r.crash()
				g.pass <- struct{}{} // a task of a process that is gone
				<-g.came
			}
			g.on.Store(false)
			g.pass <- struct{}{}
			r.finished()
			require.EqualValues(t, 1, h.asked.Load(), "it was gone on with")
			require.Eventually(t, func() bool { return h.waits.Load() == 0 }, eventually, tick)
			_, err := r.open("c1", "ann").Reply(t.Context(), id)
			require.ErrorIs(t, err, ErrCancelled)
			close(h.answer)
			require.Equal(t, "done", r.send("next").Text)
			r.noneAbandoned()
		})
	}
}

// noneAbandoned waits until no request is kept as abandoned.
func (r *rig) noneAbandoned() {
	require.Eventually(r.t, func() bool { return len(r.abandoned.listRequests("c1")) == 0 }, eventually, tick)
}

// A caller that leaves a request which is gone on with already, and to which it
// had not come back, stops it. One whose request never came leaves no trace.
func TestLeftAfterRestart(t *testing.T) {
	r := start(t, with(), orch("unused", "unused"))
	h := &hanging{answer: make(chan struct{})}
	r.models.orchestrator = h
	c := r.open("c1", "ann")
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		_, _ = c.SendRequest(ctx, Request{ID: "r1", Text: "go"})
		close(gone)
	}()
	require.Eventually(t, func() bool { return h.waits.Load() == 1 }, eventually, tick)
	leave() // it wants it finished, and so no caller waits
	<-gone
	c.leaveRequest(sendRequest{ID: "r1", Token: "of one who sent it before a crash"})
	_, err := c.Reply(t.Context(), "r1")
	require.ErrorIs(t, err, ErrCancelled)
	r.noneAbandoned()

	c.leaveRequest(sendRequest{ID: "of a request that never came"})
	r.noneAbandoned()
	r.abandoned.addRequest("c1", "of a request that never came, to a process that crashed")
	r.crash()
	r.noneAbandoned()
}

// A request whose caller went down with the program is gone on with, though
// no caller can wait for it any more; one that learned its id gets the answer.
func TestCallerWentDown(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	h := &hanging{answer: make(chan struct{})}
	leave, sent, id := r.sends(h)
	defer leave()
	r.restart(with())
	require.ErrorIs(t, <-sent, ErrClosed)
	r.finished()
	reply, err := r.open("c1", "ann").Reply(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
}

// A conversation that crashed so often that its supervisor gave up goes on with
// the request that was to be finished, though no caller asks.
func TestGivenUpSupervisor(t *testing.T) {
	r := start(t, with(), orch("unused", "unused"))
	h := &hanging{answer: make(chan struct{})}
	r.models.orchestrator = h
	c := r.open("c1", "ann")
	ctx, leave := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(ctx, Request{ID: "r1", Text: "go"})
		sent <- err
	}()
	asked := func(n int64) {
		require.Eventually(t, func() bool { return h.asked.Load() == n && h.waits.Load() == 1 }, eventually, tick)
	}
	asked(1)
	leave()
	require.ErrorIs(t, <-sent, context.Canceled)
	for n := range int64(maxAttempts) {
		r.crash()
		asked(n + 2)
	}
	r.crash()
	close(h.answer)
	r.finished()
	reply, err := c.Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
}

// A reader that leaves while the end is being written down is not waited for
// either; the caller that sent the request is told all the same.
func TestReaderLeavesAtTheEnd(t *testing.T) {
	v := &conversation{conversationNeeds: &conversationNeeds{}, id: "c1"}
	v.turn = &turn{phase: phaseClosing, opened: openRecord{Request: "r1"},
		waiters: []waiter{{token: "sent"}, {token: "reads", stays: true}, {token: "reads too", stays: true}}}
	for _, token := range []string{"reads", "sent", "unknown"} {
		v.onCallerLeft(nil, cancelTurn{"r1", token})
	}
	require.Equal(t, []waiter{{token: "sent"}, {token: "reads too", stays: true}}, v.turn.waiters)
}
