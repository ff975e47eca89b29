package orchestrator

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/skills"
)

// cancel_agent with after_current_call lets the call under way finish and the
// agent report, without another call; one that has not begun is cancelled.
func TestInterruptAnAgent(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	after := func(id string) call {
		return tool(toolCancel, map[string]any{"agent_id": id, "after_current_call": true})
	}
	// c opens the gate that a is at. It is dispatched after the interrupt was sent.
	opener := skill(t, "note.open", skills.Read, skills.Trusted, func(_ context.Context, x string) (string, error) {
		open()
		return x, nil
	})
	waiter := skill(t, "note.wait", skills.Read, skills.Trusted, func(ctx context.Context, x string) (string, error) {
		select {
		case <-entered:
			return x, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	r := start(t, with(g, opener, waiter, echo(t)),
		orch("go", []call{dispatch("a", "do-a", "note.gate", "note.echo"),
			dispatch("b", "do-b", "note.echo").with("depends_on", []string{"a"}), dispatch("w", "do-w", "note.wait")},
			tool(toolResults, map[string]any{"mode": "wait_all", "agent_ids": []string{"w"}, "timeout_seconds": 60}),
			[]call{after("b"), after("a"), dispatch("c", "do-c", "note.open")},
			tool(toolResults, map[string]any{"mode": "wait_all", "timeout_seconds": 60}), "done"),
		agent("do-a", use("note.gate", "x"), use("note.echo", "never"), "never"),
		agent("do-b", "never"),
		agent("do-w", use("note.wait", "x"), "a is at its call"),
		agent("do-c", use("note.open", "x"), "opened"))
	reply := r.send("go")
	byID := map[string]agents.Result{}
	for _, a := range reply.Agents {
		byID[a.Agent] = a
	}
	require.Equal(t, agents.Completed, byID["a"].State)
	require.Equal(t, "spent: do-a", byID["a"].Answer, "its last turn, without tools")
	require.Equal(t, "interrupted by the orchestrator", byID["a"].Reason)
	require.Equal(t, 1, byID["a"].Calls, "which finished")
	require.Equal(t, agents.Cancelled, byID["b"].State, "it had not begun")
	require.Equal(t, agents.Completed, byID["c"].State)
}
