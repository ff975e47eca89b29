package orchestrator

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// newStandingClock is a clock of waves that a test moves: however slow the machine is, no
// wave's time passes by itself.
func newStandingClock() *testclock.Clock { return testclock.New(time.Unix(1_700_000_000, 0)) }

// stateOf is what the agent of conversation c1 shows itself to be.
func (r *rig) stateOf(agent string) agents.State {
	for _, s := range r.statuses.listStatuses(r.sys) {
		for _, a := range s.listAgents() {
			if a.Agent == agent {
				return a.State
			}
		}
	}
	return ""
}

// awaitState returns once the agent shows itself to be in that state, or with the error of ctx.
func (r *rig) awaitState(ctx context.Context, agent string, state agents.State) error {
	each := time.NewTicker(tick)
	defer each.Stop()
	for r.stateOf(agent) != state {
		select {
		case <-each.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Agents that were started together and are not done when their time is over
// finish the call they are at and report what they have; those behind them have
// a time of their own.
func TestWaveTimeIsShared(t *testing.T) {
	const wave = 200 * time.Millisecond
	clock := newStandingClock()
	over := make(chan struct{}, 10)
	var r *rig
	slow := skill(t, "note.slow", skills.Read, skills.Trusted, func(ctx context.Context, x string) (string, error) {
		if err := r.awaitState(ctx, "b", agents.Completed); err != nil {
			return "", err
		}
		clock.Shift(2 * wave)
		select {
		case <-over: // the agent has heard of it before the call's result comes
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return x, nil
	})
	o := with(echo(t), slow)
	o.tune.wave, o.tune.now = wave, clock.Now
	o.tune.at = func(place string) {
		if place == "wave_over" {
			over <- struct{}{}
		}
	}
	r = start(t, o,
		orch("go", []call{dispatch("a", "do-a", "note.slow"), dispatch("b", "do-b", "note.echo"),
			dispatch("c", "do-c", "note.echo").with("depends_on", []string{"a", "b"})},
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
	clock := newStandingClock()
	o := with(echo(t))
	o.config = "permissions: [{skill: note.echo, then: ask}]\n"
	o.tune.wave, o.tune.now = wave, clock.Now
	var r *rig
	o.Approver = approver(func(ctx context.Context, _ sentinel.Call) (sentinel.Verdict, error) {
		if err := r.awaitState(ctx, "a", agents.AwaitingApproval); err != nil {
			return sentinel.Verdict{}, err
		}
		clock.Shift(2 * wave)
		select {
		case <-time.After(2 * wave):
		case <-ctx.Done():
		}
		return sentinel.Pass(), ctx.Err()
	})
	r = start(t, o,
		orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), "a is done"))
	reply := r.send("go")
	require.Equal(t, "a is done", reply.Agents[0].Answer)
	require.Empty(t, reply.Agents[0].Reason)
}

// Nor is the time that an agent waits for its orchestrator: it waits for as long
// as it may wait for help, and then the wave's time runs again.
func TestWaveStandsStillForHelp(t *testing.T) {
	const wave = 300 * time.Millisecond
	help := tool(agents.ToolRequestHelp, map[string]any{"reason": "which colour"})
	answer := tool(toolUpdate, map[string]any{"agent_id": "a", "message": "it is blue"})
	clock := newStandingClock()
	run := func(t *testing.T, last any, hints ...time.Duration) agents.Result {
		o := with(echo(t))
		o.tune.wave, o.tune.help = wave, 20*time.Second
		if last == "blue it is" {
			o.tune.now = clock.Now
		}
		if len(hints) > 0 {
			o.tune.help = hints[0]
		}
		o.wrap = func(_ *rig, main agents.Model) chatFunc {
			return func(ctx context.Context, q llm.Request) (llm.Response, error) {
				if q.Messages[len(q.Messages)-1].Role == llm.RoleTool && len(q.Messages) == 6 { // it thinks about the answer
					clock.Shift(3 * wave)
					select {
					case <-time.After(3 * wave):
					case <-ctx.Done():
					}
				}
				return main.Chat(ctx, q)
			}
		}
		r := start(t, o,
			orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), answer, results("wait_all"), "done"),
			agent("do-a", help, use("note.echo", "x"), last))
		reply := r.send("go")
		require.Len(t, reply.Agents, 1)
		return reply.Agents[0]
	}
	t.Run("the wait", func(t *testing.T) {
		a := run(t, "blue it is")
		require.Equal(t, "blue it is", a.Answer)
		require.Empty(t, a.Reason)
		require.Greater(t, a.Took, 2*wave)
	})
	t.Run("what comes after an answer", func(t *testing.T) {
		require.Contains(t, run(t, rule{"hang": true}).Reason, wave.String())
	})
	t.Run("what comes after a wait that brought nothing", func(t *testing.T) {
		require.Contains(t, run(t, rule{"hang": true}, 10*time.Millisecond).Reason, wave.String())
	})
}
