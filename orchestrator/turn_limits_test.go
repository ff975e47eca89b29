package orchestrator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

func repeat(n int, k call) (out []call) {
	for range n {
		out = append(out, k)
	}
	return out
}

// The ninth agent of a turn is refused, and the next turn has eight again.
func TestTurnAgents(t *testing.T) {
	var calls []call
	for i := range 9 {
		calls = append(calls, dispatch(fmt.Sprintf("a%d", i), "do-it"))
	}
	r := start(t, with(), orch("go", calls, results("wait_all"), "done"), agent("do-it", "ok"))
	for range 2 {
		require.Len(t, r.send("go").Agents, 8)
		told := r.told()
		require.Contains(t, told[len(told)-2], "limits.turn_agents")
	}
	require.Len(t, r.list(ledger.Query{Code: "limits.turn_agents", Kind: "decision"}), 2)
}

// An agent's sixth call is refused and it is asked once more, without tools;
// a dispatch may ask for up to twenty, and no more than the configuration says where it says a number.
func TestAgentCalls(t *testing.T) {
	for name, row := range map[string]struct {
		dispatch call
		config   string
		max      int
	}{
		"five":       {dispatch("a", "do-a", "note.echo"), "", 5},
		"two":        {dispatch("a", "do-a", "note.echo").with("max_tool_calls", 2), "", 2},
		"twenty":     {dispatch("a", "do-a", "note.echo").with("max_tool_calls", 20), "", 20},
		"configured": {dispatch("a", "do-a", "note.echo"), "limits: {agent: {calls: 7}}\n", 7},
		"less than the dispatch says": {
			dispatch("a", "do-a", "note.echo").with("max_tool_calls", 20), "limits: {agent: {calls: 7}}\n", 7,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := with(echo(t))
			o.config = row.config
			rounds := make([]any, row.max+1)
			for i := range rounds {
				rounds[i] = use("note.echo", fmt.Sprint(i))
			}
			r := start(t, o, orch("go", row.dispatch, results("wait_all"), "done"), agent("do-a", rounds...))
			reply := r.send("go")
			require.Equal(t, "spent: do-a", reply.Agents[0].Answer)
			require.Equal(t, row.max+1, reply.Agents[0].Calls)
			require.Len(t, r.asked(""), 1)
			require.Len(t, r.list(ledger.Query{Skill: "note.echo", Outcome: "ok"}), row.max)
			require.Len(t, r.list(ledger.Query{Skill: "note.echo", Code: "limits.agent_calls"}), 1)
			require.Contains(t, r.asked(agents.ToolRequestHelp)[0][0].Content, fmt.Sprintf("up to %d calls", row.max))
		})
	}
}

// The agents of a turn share thirty calls: the 31st is refused.
func TestTurnCalls(t *testing.T) {
	r := start(t, with(echo(t)),
		orch("go", []call{
			dispatch("a", "do-16", "note.echo").with("max_tool_calls", 20),
			dispatch("b", "do-15", "note.echo").with("max_tool_calls", 20).with("depends_on", []string{"a"}),
		}, results("wait_all"), "done"),
		agent("do-16", repeat(16, use("note.echo", "x")), "ok"), agent("do-15", repeat(15, use("note.echo", "x")), "ok"))
	reply := r.send("go")
	require.Equal(t, "spent: do-15", reply.Agents[1].Answer)
	require.Len(t, r.list(ledger.Query{Skill: "note.echo", Outcome: "ok"}), 30)
	list := r.list(ledger.Query{Skill: "note.echo", Code: "limits.turn_calls"})
	require.Len(t, list, 1)
	require.Equal(t, "b", list[0].Agent)
}
