package orchestrator

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// gate returns a skill that lasts until open is called.
func gate(t *testing.T, name string) (s *skills.GoSkill, entered <-chan struct{}, open func()) {
	in, out := make(chan struct{}, 64), make(chan struct{})
	s = skill(t, name, skills.Read, skills.Trusted, func(ctx context.Context, x string) (string, error) {
		in <- struct{}{}
		select {
		case <-out:
			return "open:" + x, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	return s, in, func() { close(out) }
}

// Each way to read results: at once, for one, for all, until a time is over.
func TestResults(t *testing.T) {
	g, _, _ := gate(t, "note.gate")
	slow := dispatch("slow", "do-slow", "note.gate")
	fast := dispatch("fast", "do-fast")
	bodies := [][]rule{agent("do-slow", use("note.gate", "")), agent("do-fast", "fast is done")}
	run := func(t *testing.T, o options, rounds ...any) (Reply, []string) {
		r := start(t, o, append([][]rule{orch("go", rounds...)}, bodies...)...)
		reply := r.send("go")
		return reply, r.told()
	}
	t.Run("non_blocking shows the state of now", func(t *testing.T) {
		_, told := run(t, with(g), slow, results("non_blocking"), "done")
		require.Contains(t, []any{"pending", "running"}, views(t, told[1])["slow"]["state"])
	})
	t.Run("wait_any ends with the first", func(t *testing.T) {
		reply, told := run(t, with(g), []call{slow, fast}, results("wait_any"), "done")
		require.Equal(t, "completed", views(t, told[2])["fast"]["state"])
		require.Equal(t, "running", views(t, told[2])["slow"]["state"])
		require.Equal(t, map[string]agents.State{"slow": agents.Cancelled, "fast": agents.Completed}, states(reply))
	})
	t.Run("only those that were asked for are waited for and shown", func(t *testing.T) {
		_, told := run(t, with(g), []call{slow, fast}, results("wait_all", "fast"), "done")
		require.Len(t, views(t, told[2]), 1)
		require.Equal(t, "completed", views(t, told[2])["fast"]["state"])
	})
	t.Run("wait_all ends when its time is over", func(t *testing.T) {
		o := with(g)
		o.tune.wait = 10 * time.Millisecond
		wait := tool(toolResults, map[string]any{"mode": "wait_all"})
		_, told := run(t, o, []call{slow, fast}, wait, "done")
		require.Equal(t, "running", views(t, told[2])["slow"]["state"])
	})
	t.Run("an unknown id and no agents", func(t *testing.T) {
		_, told := run(t, with(g), []call{results("wait_all"), results("wait_all", "ghost")}, "done")
		require.Empty(t, views(t, told[0]))
		require.Equal(t, unknownAgent, told[1])
	})
}

// An agent that asks for help ends a wait, and the answer sets it going again
// with what was added.
func TestHelpIsAnswered(t *testing.T) {
	help := tool(agents.ToolRequestHelp, map[string]any{"reason": "I lack a skill", "skills": []string{"note.echo"}})
	update := func(skills ...string) call {
		return tool(toolUpdate, map[string]any{"agent_id": "a", "message": "use this", "skills": append([]string{}, skills...)})
	}
	t.Run("extend within the parent's grant", func(t *testing.T) {
		r := start(t, with(echo(t)),
			orch("go", dispatch("a", "do-a"), results("wait_all"), update("note.echo"), results("wait_all"), "done"),
			agent("do-a", help, use("note.echo", "x"), "helped"))
		reply := r.send("go")
		require.Equal(t, "helped", reply.Agents[0].Answer)
		require.Less(t, reply.Took, 20*time.Second, "the wait of 30 s was ended by the wish for help")
		v := views(t, r.told()[1])["a"]
		require.Equal(t, "awaiting_orchestrator", v["state"])
		require.Equal(t, "I lack a skill", v["needs_help"])
		require.Equal(t, []any{"note.echo"}, v["asks_for_skills"])
		require.Len(t, r.list(ledger.Query{Skill: skillExtend}), 2)
		require.Len(t, r.list(ledger.Query{Skill: "note.echo", Outcome: "ok"}), 1)
	})
	t.Run("never beyond the parent's grant", func(t *testing.T) {
		r := start(t, with(echo(t), outside(t)),
			orch("go", dispatch("a", "do-a"), results("wait_all"), []call{update("web.read"), update("agent.dispatch"), update("note.*")},
				tool(toolCancel, map[string]any{"agent_id": "a"}), "done"),
			agent("do-a", help))
		scope, err := skills.NewScope("note.echo")
		require.NoError(t, err)
		c, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: "ann", Scope: scope})
		require.NoError(t, err)
		reply, err := c.Send(t.Context(), "go")
		require.NoError(t, err)
		require.Equal(t, map[string]agents.State{"a": agents.Cancelled}, states(reply))
		told := r.told()
		require.Contains(t, told[2], "wider_than_parent")
		require.Contains(t, told[3], "no skill")
		require.Contains(t, told[4], "wider_than_parent")
	})
	t.Run("help that was not answered in time wakes no more waits", func(t *testing.T) {
		g, entered, _ := gate(t, "note.gate")
		o := with(g)
		var once sync.Once
		o.wrap = func(_ *rig, main agents.Model) chatFunc {
			return func(ctx context.Context, q llm.Request) (llm.Response, error) {
				if slices.ContainsFunc(q.Messages, func(m llm.Message) bool {
					return m.Role == llm.RoleTool && strings.Contains(m.Content, "needs_help")
				}) {
					once.Do(func() { <-entered }) // the agent has gone on without help
				}
				return main.Chat(ctx, q)
			}
		}
		o.tune = tuning{help: 10 * time.Millisecond, wait: 200 * time.Millisecond}
		wait := tool(toolResults, map[string]any{"mode": "wait_all"})
		r := start(t, o,
			orch("go", dispatch("a", "do-a", "note.gate"), wait, wait, "done"),
			agent("do-a", help, use("note.gate", "")))
		began := time.Now()
		r.send("go")
		require.GreaterOrEqual(t, time.Since(began), o.tune.wait)
		require.Nil(t, views(t, r.told()[2])["a"]["needs_help"])
	})
}

// Words to an agent that works are an update, to one that has not started they
// are part of what it starts with, and to one that is gone they are refused.
func TestUpdateReachesAgent(t *testing.T) {
	update := func(id, text string) call { return tool(toolUpdate, map[string]any{"agent_id": id, "message": text}) }
	g, entered, open := gate(t, "note.gate")
	r := start(t, with(g),
		orch("go", []call{
			dispatch("a", "do-a", "note.gate"), update("a", "word for a"),
			dispatch("b", "do-b").with("depends_on", []string{"a"}), update("b", "word for b"), update("ghost", "x"),
		}, results("wait_all"), update("b", "too late"), "done"),
		[]rule{{"when": rule{"has_tool": agents.ToolRequestHelp, "last_user_contains": "word for a"}, "reply": rule{"content": "a heard"}}},
		agent("do-a", use("note.gate", ""), "a did not hear"),
		agent("do-b", "b is done"))
	done := make(chan Reply, 1)
	c := r.open("c1", "ann")
	go func() {
		reply, _ := c.Send(context.Background(), "go")
		done <- reply
	}()
	<-entered
	require.Eventually(t, func() bool { return len(r.list(ledger.Query{Skill: skillUpdate, Kind: "outcome"})) == 3 }, eventually, tick)
	open()
	reply := <-done
	require.Equal(t, "done", reply.Text)
	require.Equal(t, "a heard", reply.Agents[0].Answer)
	var b string
	for _, m := range r.asked(agents.ToolRequestHelp) {
		if strings.Contains(m[1].Content, "do-b") {
			b = m[1].Content
		}
	}
	require.Contains(t, b, `"context":"word for b"`)
	told := r.told()
	require.Contains(t, told[4], "no agent of that id")
	require.Contains(t, told[6], "no agent of that id")
}

// query_agent looks without disturbing; cancel_agent ends an agent at once, and
// with it the wait of those that depend on it.
func TestQueryAndCancel(t *testing.T) {
	g, _, _ := gate(t, "note.gate")
	one := func(name, id string) call { return tool(name, map[string]any{"agent_id": id}) }
	r := start(t, with(g),
		orch("go", []call{
			dispatch("a", "do-a", "note.gate"), dispatch("b", "do-b").with("depends_on", []string{"a"}),
			dispatch("c", "do-c").with("depends_on", []string{"b"}),
			one(toolQuery, "b"), one(toolCancel, "c"), one(toolCancel, "a"), one(toolCancel, "a"), one(toolQuery, "b"), one(toolCancel, "ghost"),
			one(toolQuery, "ghost"),
		}, "done"),
		agent("do-a", use("note.gate", "")))
	reply := r.send("go")
	require.Equal(t, map[string]agents.State{"a": agents.Cancelled, "b": agents.Skipped, "c": agents.Cancelled}, states(reply))
	told := r.told()
	require.Contains(t, told[3], `"state":"pending"`)
	require.Contains(t, told[5], `"reason":"cancelled by the orchestrator"`)
	require.Contains(t, told[7], `"state":"skipped"`)
	require.Equal(t, unknownAgent, told[8])
	require.Equal(t, unknownAgent, told[9])
	require.Empty(t, r.list(ledger.Query{Agent: "b"}))
}

// An agent whose process is stopped without a word is a result too, and those
// who watch agents are told of starts and ends, each once.
func TestAgentGone(t *testing.T) {
	g, entered, _ := gate(t, "note.gate")
	o := with(g)
	events := make(chan agents.Result, 16)
	o.OnAgent = func(_ string, r agents.Result) { events <- r }
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.gate"), results("wait_all"), "done"), agent("do-a", use("note.gate", "x")))
	done := make(chan Reply, 1)
	c := r.open("c1", "ann")
	go func() {
		reply, _ := c.Send(context.Background(), "go")
		done <- reply
	}()
	<-entered
	require.Equal(t, agents.Running, (<-events).State)
	sup, ok := r.sys.Whereis(agentsName("c1"))
	require.True(t, ok)
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	list, err := otp.WhichChildren(ctx, sup)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, otp.TerminateChild(ctx, sup, list[0].PID))
	reply := <-done
	require.Equal(t, map[string]agents.State{"a": agents.Cancelled}, states(reply))
	require.Equal(t, "the agent was stopped", (<-events).Reason)
	require.Empty(t, events)
	require.Less(t, reply.Took, 20*time.Second)
}

// Without a word the orchestrator's model waits for five seconds, and for a
// minute at most, whatever it says.
func TestWaitIsBounded(t *testing.T) {
	r := start(t, with(), orch("unused", "unused"))
	for seconds, want := range map[int]time.Duration{0: 5 * time.Second, -1: 5 * time.Second, 1: time.Second, 60: time.Minute,
		61: time.Minute, 1 << 62: time.Minute} {
		require.Equal(t, want, waitTime(seconds, r.tune.wait), seconds)
	}
}

// Of a long transcript the model is shown the last ten entries.
func TestLastEntries(t *testing.T) {
	var uses []call
	for _, x := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		uses = append(uses, use("note.echo", x))
	}
	r := start(t, with(echo(t)),
		orch("go", dispatch("a", "do-a", "note.echo").with("max_tool_calls", 8), results("wait_all"), "done"), agent("do-a", uses, "a is done"))
	r.send("go")
	list := views(t, r.told()[1])["a"]["transcript"].([]any)
	require.Len(t, list, 10) // of the mission, eight calls with their results, and the answer
	entry := func(i int) (kind, text string) {
		e := list[i].(map[string]any)
		return e["kind"].(string), e["text"].(string)
	}
	kind, text := entry(0)
	require.Equal(t, "result", kind)
	require.Contains(t, text, "echo:4")
	kind, text = entry(9)
	require.Equal(t, []string{"thought", "a is done"}, []string{kind, text})
}
