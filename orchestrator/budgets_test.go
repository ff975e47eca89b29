package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
)

// takes is a reply that is said to have taken so many tokens.
func takes(prompt, completion int, said any) rule {
	r := rule{"usage": rule{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}}
	switch v := said.(type) {
	case string:
		r["content"] = v
	case call:
		r["tool_calls"] = []call{v}
	case []call:
		r["tool_calls"] = v
	}
	return r
}

func budgeted(t *testing.T, limits string) options {
	o := with(echo(t))
	o.config = "limits: " + limits + "\n"
	o.models = ", max_tokens: 200, price: {input: 2.5, output: 10}"
	return o
}

// What a request's questions took is told with its answer, to the token and to
// the millionth; where a server doesn't say, an estimate is.
func TestReplyTellsSpending(t *testing.T) {
	r := start(t, budgeted(t, "{turn: {tokens: 1000000, cost: 5}}"),
		orch("go", takes(1000, 100, dispatch("a", "do-a", "note.echo")), takes(1100, 10, results("wait_all")), takes(1201, 33, "done")),
		agent("do-a", takes(500, 50, use("note.echo", "x")), takes(600, 7, "ok")),
		orch("mute", takes(0, 0, "nothing said")))
	reply := r.send("go")
	in, out := 1000+1100+1201+500+600, 100+10+33+50+7
	require.Equal(t, int64(in+out), reply.Spent.Tokens)
	// Each question is rounded up: the one of 1201 costs 3002.5 and 330.
	require.Equal(t, int64(2500+1000)+(2750+100)+(3003+330)+(1250+500)+(1500+70), reply.Spent.Cost)
	require.False(t, reply.Spent.Estimated)
	reply = r.send("mute")
	require.True(t, reply.Spent.Estimated)
	require.Positive(t, reply.Spent.Tokens)
	var q struct {
		Max int `json:"max_completion_tokens"`
	}
	require.NoError(t, json.Unmarshal(r.server.Requests()[0], &q))
	require.Equal(t, 200, q.Max)
}

// An agent whose budget is spent is asked once more, without tools, and
// reports; no other user's budget is touched.
func TestAgentBudget(t *testing.T) {
	for name, budget := range map[string]string{"tokens": "{agent: {tokens: 9000}}", "cost": "{agent: {cost: 0.025}}"} {
		t.Run(name, func(t *testing.T) {
			r := start(t, budgeted(t, budget),
				orch("go", []call{dispatch("a", "do-a", "note.echo"), dispatch("b", "do-b", "note.echo")}, results("wait_all"), "done"),
				agent("do-a", takes(8900, 90, use("note.echo", "x")), "not reached"),
				agent("do-b", takes(100, 10, use("note.echo", "y")), takes(100, 10, "b ok")))
			reply := r.send("go")
			require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Completed}, states(reply))
			require.Equal(t, "spent: do-a", reply.Agents[0].Answer)
			require.Equal(t, "b ok", reply.Agents[1].Answer)
			require.Len(t, r.asked(""), 1)
		})
	}
}

// A turn whose budget is spent ends with a typed error, its agents with a
// reason; so does every later turn of a conversation or a user that has spent
// theirs, and of no other user.
func TestSharedBudgets(t *testing.T) {
	spent := func(t *testing.T, c *Conversation, request string) {
		t.Helper()
		_, err := c.Send(t.Context(), request)
		var e *ModelError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "budget", e.Kind)
	}
	rules := [][]rule{orch("dear", takes(9000, 900, results("wait_all")), "not reached"), orch("cheap", takes(10, 1, "ok"))}
	fine := func(t *testing.T, c *Conversation) {
		t.Helper()
		reply, err := c.Send(t.Context(), "cheap")
		require.NoError(t, err)
		require.Equal(t, "ok", reply.Text)
	}
	for name, row := range map[string]struct {
		limits             string
		same, other, third bool // may the conversation, the user's other one, another user's go on
	}{
		"turn":         {"{turn: {tokens: 10000}}", true, true, true},
		"conversation": {"{conversation: {tokens: 10000}}", false, true, true},
		"user":         {"{user: {cost: 0.032}}", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, budgeted(t, row.limits), rules...)
			spent(t, r.open("c1", "ann"), "dear")
			for id, c := range map[string]struct {
				user string
				may  bool
			}{"c1": {"ann", row.same}, "c2": {"ann", row.other}, "c3": {"bob", row.third}} {
				if c.may {
					fine(t, r.open(id, c.user))
				} else {
					spent(t, r.open(id, c.user), "cheap")
				}
			}
			nothingHeld(t, r)
		})
	}
}

// Agents that ask at the same time don't spend more together than there is:
// each holds the most that its question can take before it asks, and those that
// wait for what others leave get it.
func TestParallelBudget(t *testing.T) {
	const budget, each = 30_000, 1000
	o := budgeted(t, "{turn: {tokens: 30000, calls: 1000}}")
	var dispatches []call
	rules := [][]rule{}
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		dispatches = append(dispatches, dispatch(id, "do-"+id, "note.echo").with("max_tool_calls", 20))
		var rounds []any
		for range 20 {
			rounds = append(rounds, takes(each-100, 100, use("note.echo", id)))
		}
		rules = append(rules, agent("do-"+id, rounds...))
	}
	rules = append(rules, orch("go", takes(each-100, 100, dispatches), takes(each-100, 100, results("wait_all")), "not reached"))
	r := start(t, o, rules...)
	_, err := r.open("c1", "ann").Send(t.Context(), "go")
	var e *ModelError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "budget", e.Kind)
	nothingHeld(t, r)
	n := len(r.server.Requests())
	require.LessOrEqual(t, n*each, budget)
	require.Greater(t, n*each, budget*3/4, "room was left unused")
}

// What was spent before the program ended counts after its next start.
func TestBudgetAfterRestart(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	o := budgeted(t, "{turn: {tokens: 20000}}")
	o.Skills = append(o.Skills, g)
	r := start(t, o,
		orch("go", takes(10, 1, []call{dispatch("a", "do-a", "note.gate"), results("wait_all")}), takes(10, 1, "done")),
		agent("do-a", takes(19800, 100, use("note.gate", "x")), takes(10, 1, "ok")))
	c := r.open("c1", "ann")
	go func() { _, _ = c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"}) }()
	<-entered
	r.restart(o)
	open()
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	_, err := r.open("c1", "ann").Reply(ctx, "r1")
	var e *ModelError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "budget", e.Kind)
	require.Len(t, r.asked(agents.ToolRequestHelp), 1, "the agent was asked again though the turn had nothing left")
}

// Questions that wait for room in their user's own budget keep no other user from
// the model, and are asked once there is room.
func TestWaitingForABudgetHoldsNoModel(t *testing.T) {
	o := with()
	o.config = "limits: {user: {tokens: 1000}}\n"
	o.models = ", max_tokens: 600, concurrency: 2"
	r := start(t, o,
		[]rule{{"when": rule{"last_user_contains": "slow"}, "reply": rule{"hang": true}}},
		[]rule{{"when": rule{"last_user_contains": "quick"}, "reply": takes(10, 1, "ok")}})
	m, ok := r.Parts().NamedModel("m")
	require.True(t, ok)
	ask := func(ctx context.Context, user, id, text string) error {
		_, err := m.Chat(llm.WithCaller(ctx, llm.Caller{User: user, Conversation: "c-" + user, Turn: "t-" + user, ID: id}),
			llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}})
		return err
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	first, waiting := make(chan error, 1), make(chan error, 3)
	go func() { first <- ask(ctx, "ann", "q1", "slow") }()
	require.Eventually(t, func() bool { return len(r.server.Requests()) == 1 }, eventually, tick)
	for _, id := range []string{"q2", "q3", "q4"} { // no room in ann's budget: they wait
		go func() { waiting <- ask(t.Context(), "ann", id, "quick") }()
	}
	bob, stop := context.WithTimeout(t.Context(), eventually)
	defer stop()
	for i := range 20 {
		require.NoError(t, ask(bob, "bob", fmt.Sprint("b", i), "quick"), "the model was free, and bob could not ask it")
	}
	require.Empty(t, waiting)
	leave()
	require.Error(t, <-first)
	for range 3 {
		require.NoError(t, <-waiting, "the budget has room again")
	}
	nothingHeld(t, r)
}
