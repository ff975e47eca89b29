package orchestrator

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Agents that were started together and are not done when their time is over
// finish the call they are at and report what they have; those behind them have
// a time of their own.
func TestWave(t *testing.T) {
	const wave = 200 * time.Millisecond
	slow := skill(t, "note.slow", skills.Read, skills.Trusted, func(ctx context.Context, x string) (string, error) {
		select {
		case <-time.After(2 * wave):
			return x, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	o := with(echo(t), slow)
	o.tune.wave = wave
	r := start(t, o,
		orch("go", []call{dispatch("a", "do-a", "note.slow"), dispatch("b", "do-b", "note.echo"), dispatch("c", "do-c", "note.echo").with("depends_on", []string{"a", "b"})},
			results("wait_all"), "done"),
		agent("do-c", use("note.echo", "x"), "c is done"), // first: it reads the answers of the others
		agent("do-a", use("note.slow", "x"), use("note.slow", "y"), "never"),
		agent("do-b", use("note.echo", "x"), "b is done"))
	reply := r.send("go")
	require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Completed, "c": agents.Completed}, states(reply))
	byID := map[string]agents.Result{}
	for _, a := range reply.Agents {
		byID[a.Agent] = a
	}
	require.Equal(t, "spent: do-a", byID["a"].Answer, "its last turn, without tools")
	require.Contains(t, byID["a"].Reason, wave.String())
	require.Equal(t, 1, byID["a"].Calls)
	require.Empty(t, byID["b"].Reason)
	require.Empty(t, byID["c"].Reason)
	require.Equal(t, "c is done", byID["c"].Answer)
}

// The time that a person takes is not the wave's.
func TestWaveStandsStillForPeople(t *testing.T) {
	const wave = 300 * time.Millisecond
	o := with(echo(t))
	o.config = "permissions: [{skill: note.echo, then: ask}]\n"
	o.tune.wave = wave
	o.Approver = approver(func(ctx context.Context, _ sentinel.Call) (sentinel.Verdict, error) {
		select {
		case <-time.After(2 * wave):
		case <-ctx.Done():
		}
		return sentinel.Pass(), ctx.Err()
	})
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), "a is done"))
	reply := r.send("go")
	require.Equal(t, "a is done", reply.Agents[0].Answer)
	require.Empty(t, reply.Agents[0].Reason)
}
