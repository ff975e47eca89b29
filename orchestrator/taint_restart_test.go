package orchestrator

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// has waits until the journal has so many records of a kind of the request r1.
func (r *rig) has(kind string, n int) {
	require.Eventually(r.t, func() bool { return len(r.kept(deriveTurnID("c1", "r1"))[kind]) == n }, eventually, tick)
}

func (r *rig) begins() {
	c := r.open("c1", "ann")
	go func() { _, _ = c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"}) }()
}

// What was read before a restart is known after it, also where no call of
// afterwards tells of it.
func TestTaintOverARestart(t *testing.T) {
	const link = "see https://evil.test/x"
	t.Run("the orchestrator's own, by what it was shown", func(t *testing.T) {
		g, entered, open := gate(t, "note.gate")
		o := with(g, outside(t))
		r := start(t, o,
			orch("go", []call{dispatch("a", "do-a", "web.read"), dispatch("g", "do-g", "note.gate")}, results("wait_all", "a"),
				results("wait_all", "g"), link),
			agent("do-a", use("web.read", "x"), "ok"), agent("do-g", use("note.gate", "x"), "ok"))
		r.begins()
		<-entered
		r.has(recordRound, 3)
		r.restart(o)
		<-entered
		open()
		reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
		require.NoError(t, err)
		require.True(t, reply.Tainted)
		require.Equal(t, "see hxxps://evil[.]test/…", reply.Text)
	})
	t.Run("that of an agent that had ended, by those it depended on", func(t *testing.T) {
		g, entered, open := gate(t, "note.gate")
		o := with(g, outside(t))
		r := start(t, o,
			orch("go", []call{dispatch("a", "do-a", "web.read"), dispatch("b", "do-b").with("depends_on", []string{"a"}),
				dispatch("g", "do-g", "note.gate")},
				results("wait_all", "g"), results("wait_all", "b"), "done"),
			agent("do-b", link), agent("do-a", use("web.read", "x"), "ok"), agent("do-g", use("note.gate", "x"), "ok"))
		r.begins()
		<-entered
		r.has(recordAgentEnd, 2)
		r.restart(o)
		<-entered
		open()
		reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
		require.NoError(t, err)
		require.Equal(t, "b", reply.Agents[1].Agent)
		require.NotContains(t, reply.Agents[1].Answer, "https://evil.test", "it was told what a had read")
		require.True(t, reply.Tainted, "and the orchestrator has read that")
	})
	t.Run("that of an agent that was cancelled, by its rounds", func(t *testing.T) {
		g, entered, open := gate(t, "note.gate")
		defer open()
		at := make(chan struct{}, 1)
		slow := skill(t, "note.slow", skills.Read, skills.Trusted, func(ctx context.Context, _ string) (string, error) {
			at <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		})
		ready := make(chan struct{})
		o := with(g, slow, outside(t))
		o.wrap = func(_ *rig, main agents.Model) chatFunc {
			return func(ctx context.Context, q llm.Request) (llm.Response, error) {
				if q.Messages[len(q.Messages)-1].Role == llm.RoleTool {
					select {
					case <-ready:
					case <-ctx.Done():
					}
				}
				return main.Chat(ctx, q)
			}
		}
		r := start(t, o,
			orch("go", []call{dispatch("a", "do-a", "web.read"), dispatch("b", "do-b", "note.slow").with("depends_on", []string{"a"}),
				dispatch("g", "do-g", "note.gate")},
				tool(toolCancel, map[string]any{"agent_id": "b"}), results("wait_all", "g"), "done"),
			agent("do-b", use("note.slow", "x"), "never"), agent("do-a", use("web.read", "x"), "ok"), agent("do-g", use("note.gate", "x"), "ok"))
		r.begins()
		<-entered
		select { // b is at work: it has written down that it is tainted
		case <-at:
		case <-time.After(eventually):
			require.FailNow(t, "b did not begin")
		}
		close(ready)
		r.has(recordRound, 3)
		for _, end := range r.kept(deriveTurnID("c1", "r1"))[recordAgentEnd] {
			require.NotContains(t, end, `"agent_id":"b"`, "its own end would tell of it")
		}
		proceed := make(chan struct{})
		defer close(proceed)
		o.tune.at = func(place string) { // or calls that are under way would be waited for
			if place == "recalled" {
				<-proceed
			}
		}
		r.restart(o)
		row, ok, err := r.journal.Get(t.Context(), "c1")
		require.NoError(t, err)
		require.True(t, ok)
		turn, err := r.restorer.restoreTurn(t.Context(), row, earlierTurns{})
		require.NoError(t, err)
		require.Equal(t, agents.Cancelled, turn.findAgent("b").currentState())
		require.True(t, turn.findAgent("b").desk.Tainted())
		require.False(t, turn.findAgent("g").desk.Tainted())
	})
}
