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
// models answer at once; the database is where TMPDIR says. spawn is the time
// from the decision of the dispatch to the agent's first question to its model.
// Its twin is as many handovers between bare goroutines, with nothing to do in
// any of them: what the machine takes to wake them, then.
func BenchmarkTurn(b *testing.B) {
	var decided time.Time // written before the agent exists, read by the agent
	var spawns, twin []time.Duration
	relay := newRelay(b)
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
	r.models.orchestrator = chatFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		if len(q.Tools) == 2 && len(q.Messages) == 2 {
			spawns = append(spawns, time.Since(decided))
		}
		return m(ctx, q)
	})
	r.models.agents = r.models.orchestrator
	c := r.open("c1", "ann")
	for b.Loop() {
		reply, err := c.Send(b.Context(), "go")
		if err != nil || len(reply.Agents) != 1 || reply.Agents[0].State != agents.Completed {
			b.Fatal(reply, err)
		}
		twin = append(twin, relay())
	}
	for who, list := range map[string][]time.Duration{"spawn-": spawns, "twin-": twin} {
		slices.Sort(list)
		for what, i := range map[string]int{"p50-µs": len(list) / 2, "p99-µs": len(list) * 99 / 100, "max-µs": len(list) - 1} {
			b.ReportMetric(float64(list[i].Nanoseconds())/1000, who+what)
		}
	}
	require.Len(b, r.list(ledger.Query{Skill: skillDispatch, Outcome: "ok"}), min(b.N, 1000))
}

// newRelay returns what hands a word on as a dispatch is handed on: to a new
// goroutine (the call's), to one that waits (the conversation), to another (the
// supervisor), to a third (the agent) and to a new one (the question).
func newRelay(b *testing.B) func() time.Duration {
	conversation, supervisor, agent := make(chan chan time.Time, 1), make(chan chan time.Time, 1), make(chan chan time.Time, 1)
	pass := func(from, to chan chan time.Time) {
		for end := range from {
			to <- end
		}
		close(to)
	}
	go pass(conversation, supervisor)
	go pass(supervisor, agent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for end := range agent {
			go func() { end <- time.Now() }()
		}
	}()
	b.Cleanup(func() { close(conversation); <-done })
	return func() time.Duration {
		end := make(chan time.Time, 1)
		began := time.Now()
		go func() { conversation <- end }()
		return (<-end).Sub(began)
	}
}
