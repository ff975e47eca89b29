package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// storm makes the orchestrator's model answer with the calls of each round, then
// with a text. It returns the requests that it was asked.
func storm(rounds ...[]llm.ToolCall) (wrap func(*rig, agents.Model) chatFunc, asked func() []llm.Request) {
	var list []llm.Request
	return func(*rig, agents.Model) chatFunc {
		return func(_ context.Context, q llm.Request) (llm.Response, error) {
			list = append(list, q)
			if n := len(list); n <= len(rounds) && len(q.Tools) > 0 {
				return llm.Response{Choices: 1, ToolCalls: rounds[n-1]}, nil
			}
			return llm.Response{Choices: 1, Content: "done"}, nil
		}
	}, func() []llm.Request { return list }
}

// callsOf are n calls alike with ids of their own.
func callsOf(n int, name, args string) []llm.ToolCall {
	out := make([]llm.ToolCall, n)
	for i := range out {
		out[i] = llm.ToolCall{ID: fmt.Sprint("c", i), Name: name, Arguments: args}
	}
	return out
}

func answeredAll(t *testing.T, q llm.Request) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range q.Messages {
		for _, k := range m.ToolCalls {
			require.False(t, open[k.ID], "an id was used twice")
			open[k.ID] = true
		}
		if m.Role == llm.RoleTool {
			require.True(t, open[m.ToolCallID], "an answer to no call")
			delete(open, m.ToolCallID)
		}
	}
	require.Empty(t, open, "calls without an answer")
}

// suppressed sums the proposals that the ledger counts and does not hold.
func (r *rig) suppressed() (n int) {
	for _, rec := range r.list(ledger.Query{Code: sentinel.CodeOmitted}) {
		var b struct {
			Suppressed int `json:"suppressed"`
		}
		require.NoError(r.t, json.Unmarshal(rec.Body, &b))
		n += b.Suppressed
	}
	return n
}

// A call that is not proposed is answered with the refusal before it, and names no decision:
// the ledger has one about each call that was proposed, and none about this one.
func TestOmittedCallNamesNoDecision(t *testing.T) {
	const omitted = 3
	o := with(echo(t))
	o.quiet = true
	var asked func() []llm.Request
	o.wrap, asked = storm(callsOf(5+1+omitted, "x", "{}"))
	r := start(t, o, orch("go", "unused"))
	require.Equal(t, 5, limits.DefaultAgentCalls, "the calls above count on it")
	r.send("go")
	codes := map[string]string{} // by decision
	for _, rec := range r.list(ledger.Query{Kind: "decision"}) {
		codes[rec.Decision] = rec.Code
	}
	require.Len(t, codes, 5+1)
	var silent int
	for _, m := range asked()[1].Messages {
		if m.Role != llm.RoleTool {
			continue
		}
		var a struct {
			Code     string `json:"code"`
			Decision string `json:"decision"`
		}
		require.NoError(t, json.Unmarshal([]byte(m.Content), &a))
		if a.Decision == "" {
			silent++
			require.Equal(t, "limits.agent_calls", a.Code)
			continue
		}
		require.Equal(t, codes[a.Decision], a.Code, "the decision is another call's")
		delete(codes, a.Decision)
	}
	require.Equal(t, omitted, silent)
	require.Empty(t, codes, "each proposed call names its decision")
	require.Equal(t, omitted, r.suppressed())
}

// Thousands of calls of tools that aren't there leave as many records as the
// budget has room for, one refusal, and one count when the turn ends.
func TestManyUnknownTools(t *testing.T) {
	o := with(echo(t))
	o.quiet = true
	var asked func() []llm.Request
	o.wrap, asked = storm(callsOf(3000, "x", "{}"), callsOf(3000, "x", "{}"))
	r := start(t, o, orch("go", "unused"))
	r.send("go")
	allowed := limits.DefaultAgentCalls
	codes := map[string]int{}
	for _, rec := range r.list(ledger.Query{Kind: "decision"}) {
		codes[rec.Code]++
	}
	require.Equal(t, map[string]int{"scope.unknown_skill": allowed, "limits.agent_calls": 1}, codes)
	require.Len(t, r.list(ledger.Query{Code: "limits.agent_calls"}), 1)
	require.Len(t, r.list(ledger.Query{Code: sentinel.CodeOmitted}), 1)
	require.Equal(t, 6000-allowed-1, r.suppressed())
	last := asked()[2]
	require.Len(t, last.Messages, 2+2*(1+loop.MaxCallsHeard))
	answeredAll(t, last)
	r.verify()
}

// A thousand questions about one agent, or the same agent named a thousand times
// in one, don't multiply what the model reads.
func TestQueriesDontAmplify(t *testing.T) {
	first := append(callsOf(1, toolDispatch, `{"agent_id":"a","mission":"do-a","skills":[]}`),
		llm.ToolCall{ID: "r", Name: toolResults, Arguments: `{"mode":"wait_all"}`})
	ids := strings.Repeat(`"a",`, 10_000)
	for name, calls := range map[string][]llm.ToolCall{
		"queries": callsOf(1000, toolQuery, `{"agent_id":"a"}`),
		"results": callsOf(1000, toolResults, `{"mode":"non_blocking"}`),
		"ids":     callsOf(1, toolResults, `{"agent_ids":[`+ids[:len(ids)-1]+`]}`),
	} {
		t.Run(name, func(t *testing.T) {
			o := with(echo(t))
			o.quiet = true
			var asked func() []llm.Request
			o.wrap, asked = storm(first, calls, calls)
			r := start(t, o, agent("do-a", strings.Repeat("A", loop.MaxAnswer)))
			r.send("go")
			for _, q := range asked() {
				total := 0
				for _, m := range q.Messages {
					total += measureMessage(m)
				}
				require.LessOrEqual(t, total, loop.MaxMessages+1<<20)
				answeredAll(t, q)
			}
			last := asked()[len(asked())-1]
			if name == "ids" {
				require.Less(t, countBytes(last.Messages), 8*loop.MaxAnswer)
				return
			}
			require.Empty(t, last.Tools, "it is asked once more, without tools")
			require.Contains(t, last.Messages[len(last.Messages)-1].Content, "no_room")
			require.Positive(t, r.suppressed())
		})
	}
}

// The first refusal of the agents' budget stands for the dispatches after it;
// what another budget counts is proposed.
func TestRefusalsStand(t *testing.T) {
	o := with(echo(t))
	var calls []llm.ToolCall
	for i := range 40 {
		calls = append(calls, llm.ToolCall{ID: fmt.Sprint("d", i), Name: toolDispatch,
			Arguments: fmt.Sprintf(`{"agent_id":"a%d","mission":"do-it","skills":[]}`, i)})
	}
	calls = append(calls, callsOf(2, "x", "{}")...)
	o.wrap, _ = storm(calls)
	r := start(t, o, agent("do-it", "ok"))
	reply := r.send("go")
	require.Len(t, reply.Agents, 8)
	require.Len(t, r.list(ledger.Query{Code: "limits.turn_agents"}), 1)
	require.Len(t, r.list(ledger.Query{Code: "scope.unknown_skill"}), 2)
	require.Equal(t, 31, r.suppressed())
}

// What a server would refuse in a conversation is not sent back to it: names,
// arguments that are no object, ids that are long or taken. What is proposed
// stays as it was.
func TestHostileCalls(t *testing.T) {
	o := with(echo(t))
	var asked func() []llm.Request
	long := strings.Repeat("n", 100_000)
	o.wrap, asked = storm(
		[]llm.ToolCall{{ID: long, Name: long, Arguments: long}, {ID: "same", Name: "a b", Arguments: `[1]`}, {ID: "same", Name: toolQuery}},
		[]llm.ToolCall{{ID: "same", Name: toolGetSkill, Arguments: `{"name":"note.echo"}`}})
	r := start(t, o, orch("go", "unused"))
	r.send("go")
	for _, q := range asked() {
		answeredAll(t, q)
		for _, m := range q.Messages {
			for _, k := range m.ToolCalls {
				require.LessOrEqual(t, len(k.ID), 64)
				require.LessOrEqual(t, len(k.Name), 64)
				var args map[string]any
				require.NoError(t, json.Unmarshal([]byte(k.Arguments), &args))
			}
		}
	}
	require.Len(t, asked(), 3)
}

// Agents that each depend on all before them are placed in their waves without
// walking every path between them.
func TestDepthIsLinear(t *testing.T) {
	turn := &turn{byID: map[string]*agentRun{}}
	var ids []string
	for i := range 200 {
		k := &agentRun{args: dispatchArgs{AgentID: fmt.Sprint("a", i), DependsOn: ids}}
		k.depth = turn.measureDepth(ids)
		require.Equal(t, i, k.depth)
		turn.byID[k.args.AgentID] = k
		ids = append(ids, k.args.AgentID)
	}
}

// Questions to the model share their messages: each adds what is new, whatever was
// asked before, and none changes what an earlier one was given.
func TestQuestionsShareMessages(t *testing.T) {
	var asked func() []llm.Request
	o := with(echo(t))
	o.wrap, asked = storm(callsOf(2, toolGetSkill, `{"name":"note.echo"}`), callsOf(2, toolGetSkill, ``), callsOf(1, "a b", `{}`))
	r := start(t, o, orch("go", "unused"))
	r.send("go")
	list := asked()
	require.Len(t, list, 4)
	for i, q := range list[1:] {
		before := list[i].Messages
		require.Equal(t, before, q.Messages[:len(before)])
		require.Greater(t, len(q.Messages), len(before))
	}
	require.Equal(t, "unknown_tool", list[3].Messages[8].ToolCalls[0].Name)
}
