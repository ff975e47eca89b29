package orchestrator

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

const secretCanary = "hunter2-canary"

// vault is a skill with a secret argument. It remembers what it was opened with.
type vault struct {
	mu   sync.Mutex
	with []string
}

func (v *vault) skill(t testing.TB) *skills.GoSkill {
	type in struct{ X, P string }
	g, err := skills.Func(skills.Spec{
		Name: "vault.open", Description: "For tests.", Effect: skills.Create, Output: skills.Trusted, Reaches: skills.Self,
		Parameters: json.RawMessage(`{"type":"object","properties":{"X":{"type":"string"},"P":{"type":"string","x-secret":true,` +
			`"maxLength":20}}}`),
	}, func(_ context.Context, i in) (string, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.with = append(v.with, i.P)
		return "opened " + i.X, nil
	})
	require.NoError(t, err)
	return g
}

func (v *vault) opened() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.with...)
}

func unlock(x, p string) call {
	return tool("use_skill", map[string]any{"skill": "vault.open", "arguments": map[string]any{"X": x, "P": p}})
}

// hides says that nothing that is kept, logged or told to the orchestrator's
// model holds the secret.
func (r *rig) hides() {
	r.t.Helper()
	for _, told := range r.told() {
		require.NotContains(r.t, told, secretCanary, "shown to the orchestrator's model")
	}
	kinds := r.journalHides()
	for _, kind := range []string{recordRound, recordEnd, recordAgentRound, recordAgentEnd} {
		require.True(r.t, kinds[kind], "nothing was kept as %s", kind)
	}
	require.NotContains(r.t, r.log.String(), secretCanary)
}

// journalHides says that nothing that is kept holds the secret, and returns the
// kinds of what is.
func (r *rig) journalHides() map[string]bool {
	r.t.Helper()
	list, err := r.Parts().Journal.Find(r.t.Context(), journal.Query{Conversation: "c1", Limit: 1000})
	require.NoError(r.t, err)
	kinds := map[string]bool{}
	for _, v := range list {
		kinds[v.Kind] = true
		require.NotContains(r.t, string(v.Data), secretCanary, "kept in the journal as %s", v.Kind)
	}
	return kinds
}

// The value of an x-secret argument reaches its skill and nothing else: not the
// orchestrator's model, not the journal, not the log, whether the call runs, is
// refused, or is no call at all.
func TestSecretArguments(t *testing.T) {
	v := &vault{}
	r := start(t, with(v.skill(t), echo(t)),
		orch("go", []call{dispatch("a", "do-a", "vault.open").with("max_tool_calls", 9), dispatch("b", "do-b", "note.echo")}, results("wait_all"),
			tool(toolQuery, map[string]any{"agent_id": "a"}),
			[]call{tool("vault.open", map[string]any{"X": "own", "P": secretCanary}),
				tool("use_skill", map[string]any{"skill": "vault.open", "arguments": map[string]any{"P": secretCanary}})},
			"done"),
		agent("do-a", unlock("x", secretCanary),
			[]call{unlock("long", secretCanary+strings.Repeat("+", 20)), tool("use_skill", `{"skill":"vault.open","P":"`+secretCanary+`"}`)}, "ok"),
		agent("do-b", unlock("not b's", secretCanary), "ok"))
	reply := r.send("go")
	require.Equal(t, 3, reply.Agents[0].Calls)
	require.Contains(t, v.opened(), secretCanary)
	told := r.told()
	require.Contains(t, told[2], `\"P\":\"[secret]\",\"X\":\"x\"`, "what is not secret is shown")
	require.Equal(t, 2, strings.Count(told[3], "[secret]")-strings.Count(told[3], `{\"hidden\"`), "also by query_agent")
	r.hides()
}

// A call with a secret in it can't be proposed by the next process. If it was
// decided its end is known from the record; if not its model is told, and the
// skill runs with what that writes then, never with what stands in its place.
func TestSecretsOverARestart(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	v := &vault{}
	o := with(g, v.skill(t))
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "vault.open", "note.gate").with("max_tool_calls", 9), results("wait_all"), "done"),
		agent("do-a", []call{unlock("first", secretCanary), use("note.gate", "g"), unlock("second", secretCanary)},
			unlock("second", secretCanary), "a is done"))
	c := r.open("c1", "ann")
	go func() { _, _ = c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"}) }()
	<-entered
	r.restart(o)
	<-entered
	open()
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "a is done", reply.Agents[0].Answer)
	require.Equal(t, 4, reply.Agents[0].Calls)
	require.Equal(t, []string{secretCanary, secretCanary}, v.opened(),
		"the first is not repeated, the second was not proposed without its secret")
	var results []string
	asked := r.asked(agents.ToolRequestHelp)
	for _, m := range asked[len(asked)-1] {
		if m.Role == "tool" {
			results = append(results, m.Content)
		}
	}
	require.Len(t, results, 4)
	require.Contains(t, results[0], "opened first")
	require.Contains(t, results[2], "propose it again")
	require.Contains(t, results[3], "opened second")
	r.hides()
}

// A skill that the orchestrator's model names as if it were a tool isn't run,
// whatever the user may do; the refusal is on record, and the secrets in its
// arguments aren't.
func TestTheOrchestratorRunsNoSkill(t *testing.T) {
	v := &vault{}
	o := with(v.skill(t))
	own := llm.ToolCall{ID: "own", Name: "vault.open", Arguments: `{"X":"x","P":"` + secretCanary + `"}`}
	said := 0
	o.wrap = func(_ *rig, _ agents.Model) chatFunc {
		return func(context.Context, llm.Request) (llm.Response, error) {
			if said++; said == 1 {
				return llm.Response{ToolCalls: []llm.ToolCall{own}}, nil
			}
			return llm.Response{Content: "done"}, nil
		}
	}
	r := start(t, o, orch("unused", "unused"))
	require.Equal(t, "done", r.send("go").Text)
	require.Empty(t, v.opened())
	list := r.list(ledger.Query{Code: "scope.unknown_skill"})
	require.Len(t, list, 1)
	require.Equal(t, "deny", list[0].Outcome)
	require.True(t, r.journalHides()[recordRound])
}

// Over a restart such a call isn't proposed without its secret, and a later one
// with the same id isn't taken for it.
func TestOwnSecretsOverARestart(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	v := &vault{}
	o := with(g, v.skill(t))
	own := llm.ToolCall{ID: "own", Name: "vault.open", Arguments: `{"X":"x","P":"` + secretCanary + `"}`}
	said, read := 0, []string(nil)
	o.wrap = func(_ *rig, _ agents.Model) chatFunc {
		return func(_ context.Context, q llm.Request) (llm.Response, error) {
			read = append(read, q.Messages[len(q.Messages)-1].Content)
			switch said++; said {
			case 1:
				return llm.Response{ToolCalls: []llm.ToolCall{
					{ID: "d", Name: toolDispatch, Arguments: `{"agent_id":"a","mission":"do-a","skills":["note.gate"]}`},
					{ID: "r", Name: toolResults, Arguments: `{"mode":"wait_all","agent_ids":["a"],"timeout_seconds":30}`},
					own,
				}}, nil
			case 2:
				return llm.Response{ToolCalls: []llm.ToolCall{own}}, nil
			}
			return llm.Response{Content: "done"}, nil
		}
	}
	r := start(t, o, agent("do-a", use("note.gate", "g"), "a is done"))
	c := r.open("c1", "ann")
	go func() { _, _ = c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"}) }()
	<-entered
	r.restart(o)
	<-entered
	open()
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	require.Empty(t, v.opened())
	require.Len(t, read, 3)
	require.Contains(t, read[1], "propose it again")
	require.Contains(t, read[2], "scope.unknown_skill")
	r.journalHides()
}
