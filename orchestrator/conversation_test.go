package orchestrator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// A request that is no request, and a conversation that is somebody else's, are
// refused at once.
func TestRefusedRequests(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	c := r.open("c1", "ann")
	for _, text := range []string{"", strings.Repeat("x", maxRequest+1), "\xff"} {
		_, err := c.Send(t.Context(), text)
		require.ErrorIs(t, err, ErrRequest)
	}
	for _, co := range []ConversationOptions{{}, {ID: "c2"}, {User: "ann"}, {ID: "../x", User: "ann"}, {ID: "c1", User: "eve"},
		{ID: strings.Repeat("x", 129), User: "ann"}} {
		c, err := r.Open(t.Context(), co)
		require.ErrorIs(t, err, ErrRequest)
		require.Nil(t, c)
	}
	forged := &Conversation{&r.conversationNeeds, ConversationOptions{ID: "c1", User: "eve"}}
	_, err := forged.Send(t.Context(), "go")
	require.ErrorIs(t, err, ErrRequest)
	require.Equal(t, "done", r.send("go").Text)
	require.Empty(t, r.asked(""))
}

// held returns a model that answers a request when it is let through.
func held(r *rig) (asked chan string, through chan struct{}) {
	asked, through = make(chan string, 16), make(chan struct{}, 16)
	r.models.orchestrator = chatFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		text := q.Messages[len(q.Messages)-1].Content
		asked <- text
		select {
		case <-through:
			return llm.Response{Content: "re " + text}, nil
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	})
	return asked, through
}

// Requests of one conversation are worked on in the order they came; beyond
// the queue they are refused, and a caller that leaves gives up its place.
func TestRequestsStandInLine(t *testing.T) {
	r := start(t, with(), orch("unused", "unused"))
	asked, through := held(r)
	c := r.open("c1", "ann")
	pid, _ := r.sys.Whereis(serverName("c1"))
	var wg sync.WaitGroup
	replies := make([]string, 1+maxQueued)
	errs := make([]error, 1+maxQueued)
	impatient, leave := context.WithCancel(context.Background())
	for i := range replies {
		ctx := context.Background()
		if i == 2 {
			ctx = impatient
		}
		wg.Go(func() {
			reply, err := c.Send(ctx, fmt.Sprint(i))
			replies[i], errs[i] = reply.Text, err
		})
		// Each is known to wait before the next is sent.
		require.Eventually(t, func() bool { return queueLength(t, pid) == i+1 }, eventually, tick)
	}
	_, err := c.Send(t.Context(), "one too many")
	require.ErrorIs(t, err, ErrOverloaded)
	leave()
	require.Eventually(t, func() bool { return queueLength(t, pid) == maxQueued }, eventually, tick)
	for _, want := range []string{"0", "1", "3", "4"} {
		require.Equal(t, want, <-asked)
		through <- struct{}{}
	}
	wg.Wait()
	require.ErrorIs(t, errs[2], context.Canceled)
	require.Equal(t, []string{"re 0", "re 1", "", "re 3", "re 4"}, replies)
}

// A caller that leaves in the middle takes the turn and its agents along; the
// next request finds nothing of them in its way.
func TestCallerThatLeavesStopsItsRequest(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	r := start(t, with(g),
		orch("go", []call{dispatch("a", "do-a", "note.gate"), dispatch("b", "do-b").with("depends_on", []string{"a"})}, results("wait_all"),
			"done"),
		agent("do-a", use("note.gate", "x"), "ok"), agent("do-b", "ok"))
	c := r.open("c1", "ann")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Send(ctx, "go")
		done <- err
	}()
	<-entered
	require.Eventually(t, func() bool { return len(r.asked(toolDispatch)) == 2 }, eventually, tick)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Eventually(t, func() bool { return len(r.list(ledger.Query{Skill: "note.gate", Code: "canceled"})) == 1 }, eventually, tick)
	open()
	reply := r.send("go")
	require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Completed}, states(reply))

	ctx, cancel = context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err := c.Send(ctx, "go")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// probe is a process that passes on what it is sent.
type probe struct{ got chan any }

func (p *probe) Init(*otp.Context) error            { return nil }
func (p *probe) Handle(_ *otp.Context, msg any)     { p.got <- msg }
func (p *probe) Terminate(*otp.Context, otp.Reason) {}

// An agent whose process comes up after the turn is over, or after it was
// cancelled, is told to stop at once.
func TestLateAgentIsStopped(t *testing.T) {
	sys := otp.NewSystem(otp.SystemOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	defer func() { require.NoError(t, sys.Stop(ctx)) }()
	p := &probe{make(chan any, 1)}
	pid, err := sys.Start(ctx, otp.ChildSpec{ID: "late", Start: func() otp.Server { return p }})
	require.NoError(t, err)
	v := &conversation{turn: &turn{}}
	for name, k := range map[string]*agentRun{
		"the turn is over": {},
		"it was cancelled": {state: agents.Cancelled, reason: "no more"},
	} {
		v.late, v.turn.starting = map[otp.Ref]*agentRun{}, map[otp.Ref]*agentRun{}
		starting := v.late
		if k.currentState().Done() {
			starting = v.turn.starting
		}
		starting[7] = k
		v.onAgentStarted(nil, otp.Reply{Ref: 8, Value: pid})
		require.Len(t, starting, 1, "the answer to another question")
		v.onAgentStarted(nil, otp.Reply{Ref: 7, Value: pid})
		require.Empty(t, starting)
		require.Equal(t, agents.Cancel{Reason: k.reason}, <-p.got, name)
	}
}

// Closing while agents work ends their requests with ErrClosed and leaves
// nothing behind; calls after it are told the same.
func TestClose(t *testing.T) {
	g, entered, _ := gate(t, "note.gate")
	r := start(t, with(g), orch("go", dispatch("a", "do-a", "note.gate"), results("wait_all"), "done"),
		agent("do-a", use("note.gate", "x"), "ok"))
	c := r.open("c1", "ann")
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := c.Send(context.Background(), "go")
			done <- err
		}()
	}
	<-entered
	require.NoError(t, r.Close(context.Background()))
	require.ErrorIs(t, <-done, ErrClosed)
	require.ErrorIs(t, <-done, ErrClosed)
	require.Zero(t, r.sys.Tasks())
	require.NoError(t, r.Close(context.Background()))
	_, err := c.Send(t.Context(), "go")
	require.ErrorIs(t, err, ErrClosed)
	_, err = r.Open(t.Context(), ConversationOptions{ID: "c1", User: "ann"})
	require.ErrorIs(t, err, ErrClosed)
}

// A configuration that names no model for a role is refused, and nothing of it
// stays open.
func TestNewFails(t *testing.T) {
	for _, roles := range []string{"{orchestrator: m}", "{agent: m}", "{}"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "vedette.yaml")
		require.NoError(t, os.WriteFile(file, []byte(`version: 1
models: {m: {model: m, base_url: "http://127.0.0.1:1/v1"}}
roles: `+roles+"\nledger: {path: ./v.db}\n"), 0o600))
		cfg, err := config.Load(file, config.Options{})
		require.NoError(t, err)
		o, err := New(t.Context(), cfg, Options{NoReview: true})
		require.ErrorContains(t, err, "names no model")
		require.Nil(t, o)
	}
}

// Many that open one conversation at once get the same one.
func TestOpenAtOnce(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	errs := make(chan error, 32)
	for range cap(errs) {
		go func() {
			_, err := r.Open(context.Background(), ConversationOptions{ID: "c1", User: "ann"})
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	sup, _ := r.sys.Whereis("conversations")
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	n, err := otp.CountChildren(ctx, sup)
	require.NoError(t, err)
	require.Equal(t, 1, n.Active)
}

// The process of a conversation that no caller uses ends, and the next request
// starts it again: it knows what was said, what was read, and whose it is.
func TestIdleConversationRests(t *testing.T) {
	o := with(outside(t))
	o.tune.idle = 20 * time.Millisecond
	r := start(t, o,
		orch("one", dispatch("a", "do-a", "web.read"), results("wait_all"), "read"), orch("two", "and more"),
		agent("do-a", use("web.read", "x"), "ok"))
	c := r.open("c1", "ann")
	rested := func() bool { _, ok := r.sys.Whereis(supervisorName("c1")); return !ok }
	reply, err := c.Send(t.Context(), "one")
	require.NoError(t, err)
	require.True(t, reply.Tainted)
	require.Eventually(t, rested, eventually, tick)
	_, err = r.Open(t.Context(), ConversationOptions{ID: "c1", User: "eve"})
	require.ErrorIs(t, err, ErrRequest)
	require.Eventually(t, rested, eventually, tick)
	reply, err = c.Send(t.Context(), "two")
	require.NoError(t, err)
	require.True(t, reply.Tainted)
	last := r.asked(toolDispatch)
	var roles []string
	for _, m := range last[len(last)-1] {
		roles = append(roles, m.Role)
	}
	require.Equal(t, []string{"system", "user", "assistant", "tool", "assistant", "tool", "assistant", "user"}, roles)
}

// What was said before is shown in the next turn, up to a limit in messages
// and in bytes; turns are dropped whole.
func TestHistory(t *testing.T) {
	r := start(t, with(), orch("one", tool(toolGetSkill, map[string]any{"name": "x"}), "first"), orch("two", "second"))
	r.send("one")
	require.Equal(t, "second", r.send("two").Text)
	last := r.asked(toolDispatch)
	var roles []string
	for _, m := range last[len(last)-1] {
		roles = append(roles, m.Role)
	}
	require.Equal(t, []string{"system", "user", "assistant", "tool", "assistant", "user"}, roles)

	said := func(n, size int) (h []llm.Message) {
		for range n {
			h = append(h, llm.Message{Role: llm.RoleUser, Content: strings.Repeat("x", size)}, llm.Message{Role: llm.RoleAssistant},
				llm.Message{Role: llm.RoleTool})
		}
		return h
	}
	for _, row := range []struct{ turns, size, want int }{
		{2, 10, 6}, {66, 10, 198}, {67, 10, 198}, {1000, 10, 198}, {10, maxHistoryBytes / 2, 6}, {3, maxHistoryBytes, 3},
		{3, maxHistoryBytes + 1, 0}, {0, 0, 0},
	} {
		got := trimHistory(said(row.turns, row.size))
		require.Len(t, got, row.want, "%d turns of %d bytes", row.turns, row.size)
		if len(got) > 0 {
			require.Equal(t, llm.RoleUser, got[0].Role)
		}
	}
}

// What can't be written down ends the turn before an agent has started; what
// was lost at the end is not acknowledged.
func TestStoreFails(t *testing.T) {
	t.Run("at the beginning", func(t *testing.T) {
		r := start(t, with(), orch("go", dispatch("a", "do-a"), "done"))
		c := r.open("c1", "ann")
		require.NoError(t, r.Parts().Store.Close())
		_, err := c.Send(t.Context(), "go")
		require.ErrorIs(t, err, ErrNotKept)
		require.Empty(t, r.server.Requests())
	})
	t.Run("at the end", func(t *testing.T) {
		r := start(t, with(), orch("unused", "unused"))
		asked, through := held(r)
		c := r.open("c1", "ann")
		done := make(chan error, 1)
		go func() {
			_, err := c.Send(context.Background(), "go")
			done <- err
		}()
		<-asked
		require.NoError(t, r.Parts().Store.Close())
		through <- struct{}{}
		require.ErrorIs(t, <-done, ErrNotKept)
	})
	t.Run("in the middle", func(t *testing.T) {
		r := start(t, with(), orch("unused", "unused"))
		n := 0
		r.models.orchestrator = chatFunc(func(context.Context, llm.Request) (llm.Response, error) {
			if n++; n == 1 {
				if err := r.Parts().Store.Close(); err != nil {
					return llm.Response{}, err
				}
				return llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: toolDispatch,
					Arguments: `{"agent_id":"a","mission":"m","skills":[]}`}}}, nil
			}
			return llm.Response{Content: "done"}, nil
		})
		_, err := r.open("c1", "ann").Send(t.Context(), "go")
		require.ErrorIs(t, err, ErrNotKept)
		require.Equal(t, 1, n, "it was asked again")
		require.Empty(t, r.asked(agents.ToolRequestHelp))
	})
}

// queueLength returns how many requests the conversation has not answered.
func queueLength(t *testing.T, pid otp.PID) int {
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	n, err := otp.Call(ctx, pid, claim{"ann"})
	if err != nil {
		return -1
	}
	return n.(int)
}
