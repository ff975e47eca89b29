package orchestrator

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// scriptless plays both models of a one-agent turn in process.
func scriptless(skill string) chatFunc {
	call := func(name, args string) (llm.Response, error) {
		return llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: name, Arguments: args}}}, nil
	}
	return func(_ context.Context, q llm.Request) (llm.Response, error) {
		results := 0
		for _, m := range q.Messages {
			switch m.Role {
			case llm.RoleUser:
				results = 0
			case llm.RoleTool:
				results++
			}
		}
		orchestrator := len(q.Tools) > 2
		switch {
		case orchestrator && results == 0:
			return call(toolDispatch, `{"agent_id":"a","mission":"do it","skills":["`+skill+`"]}`)
		case orchestrator && results == 1:
			return call(toolResults, `{"mode":"wait_all","timeout_seconds":30}`)
		case !orchestrator && results == 0:
			return call(agents.ToolUseSkill, `{"skill":"`+skill+`","arguments":{"X":"x"}}`)
		}
		return llm.Response{Content: "done"}, nil
	}
}

// BenchmarkTurn is a whole turn: request kept, dispatch decided and recorded,
// agent spawned, one skill call decided, recorded and run, answers kept. The
// models answer at once; the database is on disk. spawn is the time from
// the decision of the dispatch to the agent's first question to its model.
func BenchmarkTurn(b *testing.B) {
	var decided time.Time // written before the agent exists, read by the agent
	var spawns []time.Duration
	o := with(echo(b))
	o.quiet = true
	o.config = "limits: {conversation: {calls: 10000, window: 100ms}}\n"
	o.Observe = func(e sentinel.Event) {
		if e.Kind == sentinel.RecordDecision && e.Call.Name() == skillDispatch {
			decided = time.Now()
		}
	}
	r := start(b, o, orch("unused", "unused"))
	m := scriptless("note.echo")
	r.model = chatFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		if len(q.Tools) == 2 && len(q.Messages) == 2 {
			spawns = append(spawns, time.Since(decided))
		}
		return m(ctx, q)
	})
	r.agents = r.model
	c := r.open("c1", "ann")
	for b.Loop() {
		reply, err := c.Send(b.Context(), "go")
		if err != nil || len(reply.Agents) != 1 || reply.Agents[0].State != agents.Completed {
			b.Fatal(reply, err)
		}
	}
	slices.Sort(spawns)
	for name, i := range map[string]int{"spawn-p50-µs": len(spawns) / 2, "spawn-p99-µs": len(spawns) * 99 / 100} {
		b.ReportMetric(float64(spawns[i].Nanoseconds())/1000, name)
	}
	require.Len(b, r.list(ledger.Query{Skill: skillDispatch, Outcome: "ok"}), min(b.N, 1000))
}
