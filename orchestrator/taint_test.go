package orchestrator

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// asks records what an approver was asked and answers with v.
func asks(v sentinel.Verdict) (approver, func() []string) {
	var mu sync.Mutex
	var names []string
	return func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
			mu.Lock()
			defer mu.Unlock()
			names = append(names, c.Name())
			return v, nil
		}, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return names
		}
}

// Once the orchestrator's model has read what others could have written, a
// skill that was not granted before needs a person, whose word decides.
func TestTaint(t *testing.T) {
	for name, row := range map[string]struct {
		verdict sentinel.Verdict
		want    map[string]agents.State
	}{
		"approved": {sentinel.Pass(), map[string]agents.State{"a": agents.Completed, "b": agents.Completed, "c": agents.Completed}},
		"refused":  {no, map[string]agents.State{"a": agents.Completed, "b": agents.Completed}},
	} {
		t.Run(name, func(t *testing.T) {
			o := with(outside(t), echo(t))
			var asked func() []string
			o.Approver, asked = asks(row.verdict)
			r := start(t, o,
				orch("go", dispatch("a", "do-a", "web.read"), results("wait_all"),
					dispatch("b", "do-b", "web.read"), dispatch("c", "do-c", "note.echo"), results("wait_all"), "done"),
				agent("do-a", use("web.read", "x"), "ok"), agent("do-b", "ok"), agent("do-c", "ok"))
			reply := r.send("go")
			require.True(t, reply.Tainted)
			require.Equal(t, row.want, states(reply))
			require.Equal(t, []string{"agent.dispatch"}, asked(), "b has what was granted before; c does not")
			held := r.list(ledger.Query{Kind: "held"})
			require.Len(t, held, 1)
			require.Equal(t, "scope.after_taint", held[0].Code)
		})
	}
}

// No person to ask is a no, also in the turn after: what was read stays read. A
// trusted result taints nothing.
func TestTaintStays(t *testing.T) {
	r := start(t, with(outside(t), echo(t)),
		orch("one", dispatch("t", "do-t", "note.echo"), results("wait_all"), dispatch("u", "do-t", "web.read"), results("wait_all"), "done"),
		orch("two", dispatch("v", "do-v", "web.read"), results("wait_all"), "done"),
		orch("three", dispatch("w", "do-t", "note.echo"), "done"),
		agent("do-t", use("note.echo", "x"), "ok"), agent("do-v", use("web.read", "x"), "ok"))
	one := r.send("one")
	require.False(t, one.Tainted)
	require.Len(t, one.Agents, 2)
	require.True(t, r.send("two").Tainted)
	three := r.send("three")
	require.True(t, three.Tainted)
	require.Empty(t, three.Agents)
	told := r.told()
	require.Contains(t, told[len(told)-1], `"refused":"ask_denied"`)
}

// grants returns what each agent's grant was at its last event.
func (r *rig) grants() map[string]sentinel.Grant {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]sentinel.Grant{}
	for _, e := range r.events {
		if e.Kind == sentinel.RecordDecision {
			out[e.Call.Grant().Agent()] = e.Call.Grant()
		}
	}
	return out
}

// Children inherit the taint, the answers of agents carry it over to those
// that depend on them, and words of a tainted orchestrator carry it down.
func TestTaintTravels(t *testing.T) {
	t.Run("by dependency, though the orchestrator has read nothing", func(t *testing.T) {
		r := start(t, with(outside(t), echo(t)),
			orch("go", []call{
				dispatch("a", "do-a", "web.read"), dispatch("b", "do-b", "note.echo").with("depends_on", []string{"a"}),
				dispatch("c", "do-c", "note.echo"),
			}, results("wait_all", "c"), results("wait_all", "b"), "done"),
			agent("do-a", use("web.read", "x"), "ok"), agent("do-b", use("note.echo", "x"), "ok"), agent("do-c", use("note.echo", "x"), "ok"))
		reply := r.send("go")
		require.True(t, reply.Tainted, "b is tainted by a, and the orchestrator by b")
		g := r.grants()
		require.True(t, g["b"].Tainted())
		require.False(t, g["b"].MissionTainted(), "its mission was written before")
		require.False(t, g["c"].Tainted())
	})
	t.Run("by birth", func(t *testing.T) {
		r := start(t, with(outside(t)),
			orch("go", dispatch("a", "do-a", "web.read"), results("wait_all"), dispatch("b", "do-a", "web.read"), results("wait_all"), "done"),
			agent("do-a", use("web.read", "x"), "ok"))
		r.send("go")
		require.True(t, r.grants()["b"].Tainted())
		require.True(t, r.grants()["b"].MissionTainted())
	})
	for name, update := range map[string]call{
		"by an update": tool(toolUpdate, map[string]any{"agent_id": "b", "message": "now"}),
		"by an answer": tool(toolUpdate, map[string]any{"agent_id": "b", "message": "now", "skills": []string{"note.echo"}}),
	} {
		t.Run(name, func(t *testing.T) {
			g, entered, open := gate(t, "note.gate")
			r := start(t, with(outside(t), echo(t), g),
				orch("go", []call{dispatch("b", "do-b", "note.gate", "note.echo"), dispatch("a", "do-a", "web.read")}, results("wait_all", "a"),
					update, results("wait_all", "b"), "done"),
				[]rule{
					{"when": rule{"has_tool": "use_skill", "last_user_contains": "now", "tool_results": 0},
						"reply": rule{"tool_calls": []call{use("note.echo", "x")}}},
					{"when": rule{"has_tool": "use_skill", "last_user_contains": "now"}, "reply": rule{"content": "heard"}},
				},
				agent("do-b", use("note.gate", "x")), agent("do-a", use("web.read", "x"), "ok"))
			done := make(chan Reply, 1)
			c := r.open("c1", "ann")
			go func() {
				reply, _ := c.Send(context.Background(), "go")
				done <- reply
			}()
			<-entered
			require.Eventually(t, func() bool {
				return len(r.list(ledger.Query{Skill: skillUpdate, Outcome: "ok"}))+len(r.list(ledger.Query{Skill: skillExtend, Outcome: "ok"})) == 1
			}, eventually, tick)
			open()
			reply := <-done
			require.Equal(t, "heard", reply.Agents[0].Answer)
			require.True(t, r.grants()["b"].Tainted())
		})
	}
}

// In a tainted branch an extension asks, and never adds what can't be undone.
func TestExtendAfterTaint(t *testing.T) {
	help := tool(agents.ToolRequestHelp, map[string]any{"reason": "more"})
	extend := func(skill string) call {
		return tool(toolUpdate, map[string]any{"agent_id": "b", "message": "here", "skills": []string{skill}})
	}
	o := with(outside(t), echo(t), skill(t, "note.burn", "irreversible", "trusted",
		func(context.Context, string) (string, error) { return "burnt", nil }))
	var asked func() []string
	o.Approver, asked = asks(sentinel.Pass())
	r := start(t, o,
		orch("go", []call{dispatch("a", "do-a", "web.read"), dispatch("b", "do-b")}, results("wait_all", "a"), results("wait_all", "b"),
			extend("note.burn"), extend("note.echo"), results("wait_all"), "done"),
		agent("do-a", use("web.read", "x"), "ok"), agent("do-b", help, "helped"))
	reply := r.send("go")
	require.Equal(t, "helped", reply.Agents[1].Answer)
	require.Contains(t, r.told()[4], "scope.extend_after_taint")
	require.Equal(t, []string{"agent.extend"}, asked())
}

// A result of an agent of an earlier turn doesn't pass for that of another
// with the same id, neither do its words for help, and a call of an earlier
// turn's orchestrator changes nothing in this one.
func TestStaleMessages(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	r := start(t, with(g), orch("go", dispatch("a", "do-a", "note.gate"), results("wait_all"), "done"),
		agent("do-a", use("note.gate", ""), "own answer"))
	done := make(chan Reply, 1)
	c := r.open("c1", "ann")
	go func() {
		reply, _ := c.Send(context.Background(), "go")
		done <- reply
	}()
	<-entered
	pid, ok := r.sys.Whereis(serverName("c1"))
	require.True(t, ok)
	pid.Send(agents.Finished{Result: agents.Result{Agent: "a", State: agents.Cancelled, Reason: "stale"}})
	pid.Send(agents.HelpWanted{Agent: "a", Reason: "stale"})
	pid.Send(waitOver{&resultsWait{}})
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	_, err := otp.Call(ctx, pid, claim{"ann"}) // what was sent before has been handled
	require.NoError(t, err)
	_, err = otp.Call(ctx, pid, nativeCall{grant: "of an earlier turn", skill: skillDispatch,
		args: dispatchArgs{AgentID: "late", Mission: "m"}})
	require.ErrorIs(t, err, skills.ErrBadInput)
	open()
	reply := <-done
	require.Equal(t, "own answer", reply.Agents[0].Answer)
	require.Equal(t, agents.Completed, reply.Agents[0].State)
	require.Len(t, reply.Agents, 1)
}
