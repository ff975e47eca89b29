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
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// A request goes from the dispatch over the agent and its skill to the answer,
// and every call on the way is on record before and after it ran.
func TestOneRequest(t *testing.T) {
	r := start(t, with(echo(t)),
		orch("hello", dispatch("a", "do-a", "note.echo"), results("wait_all"), "the answer"),
		agent("do-a", use("note.echo", "hi"), "a is done"))
	reply := r.send("say hello")

	require.Equal(t, "the answer", reply.Text)
	require.False(t, reply.Tainted)
	require.Len(t, reply.Agents, 1)
	require.Equal(t, "a", reply.Agents[0].Agent)
	require.Equal(t, agents.Completed, reply.Agents[0].State)
	require.Equal(t, "a is done", reply.Agents[0].Answer)
	require.Equal(t, 1, reply.Agents[0].Calls)

	for _, name := range []string{"agent.dispatch", "note.echo"} {
		list := r.list(ledger.Query{Skill: name})
		require.Len(t, list, 2, name)
		require.Equal(t, []string{"decision", "allow"}, []string{list[0].Kind, list[0].Outcome})
		require.Equal(t, []string{"outcome", "ok"}, []string{list[1].Kind, list[1].Outcome})
		require.Equal(t, list[0].Decision, list[1].Decision)
		require.Equal(t, "ann", list[0].User)
		require.Equal(t, "c1", list[0].Conversation)
	}
	require.Equal(t, "orchestrator", r.list(ledger.Query{Skill: "agent.dispatch"})[0].Agent)
	require.Equal(t, "a", r.list(ledger.Query{Skill: "note.echo"})[0].Agent)

	kept := r.kept(reply.Turn)
	require.Equal(t, []string{"say hello"}, kept[keptRequest])
	require.Equal(t, []string{"the answer"}, kept[keptAnswer])
	require.Len(t, kept[keptAgent], 1)
	require.Contains(t, kept[keptAgent][0], `"mission":"do-a"`)
	require.Contains(t, kept[keptAgent][0], `"answer":"a is done"`)
	r.verify()
}

// The model review, where it is on, sees an agent's call and can stop it.
func TestReviewOnTheWay(t *testing.T) {
	o := with(echo(t))
	o.config = "sentinel: {mode: enforce, canaries: {every: 0s}}\n"
	r := start(t, o,
		[]rule{
			{"when": rule{"schema": "sentinel_decision", "last_user_contains": `"name":"note.echo"`},
				"reply": rule{"content": `{"decision":"reject","reason":"nobody asked"}`}},
			{"when": rule{"schema": "sentinel_decision"}, "reply": rule{"content": `{"decision":"approve","reason":"fine"}`}},
		},
		orch("hello", dispatch("a", "do-a", "note.echo"), results("wait_all"), "the answer"),
		agent("do-a", use("note.echo", "hi"), "refused"))
	require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(r.send("hello")))
	list := r.list(ledger.Query{Skill: "note.echo"})
	require.Len(t, list, 1)
	require.Equal(t, "review", list[0].Gate)
}

// barrier returns a skill that ends only when n calls of it are under way.
func barrier(t *testing.T, n int) *skills.GoSkill {
	var wg sync.WaitGroup
	wg.Add(n)
	return skill(t, "note.meet", skills.Read, skills.Trusted, func(ctx context.Context, x string) (string, error) {
		wg.Done()
		met := make(chan struct{})
		go func() { wg.Wait(); close(met) }()
		select {
		case <-met:
			return "met:" + x, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

// Agents without a dependency overlap, and one that depends on both starts
// after them and is given their answers, in whatever order the model names them.
func TestWaves(t *testing.T) {
	a, b := dispatch("a", "do-a", "note.meet"), dispatch("b", "do-b", "note.meet")
	c := dispatch("c", "do-c").with("depends_on", []string{"a", "b"})
	for name, order := range map[string][]call{"last": {a, b, c}, "first": {c, a, b}, "between": {a, c, b}} {
		t.Run(name, func(t *testing.T) {
			r := start(t, with(barrier(t, 2)),
				orch("go", order, results("wait_all"), "done"),
				agent("do-c", "c saw both"),
				agent("do-a", use("note.meet", "a"), "answer-a"), agent("do-b", use("note.meet", "b"), "answer-b"))
			reply := r.send("go")
			require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Completed, "c": agents.Completed}, states(reply))
			seen := false
			for _, m := range r.asked(agents.ToolRequestHelp) {
				if strings.Contains(m[1].Content, `"mission":"do-c"`) {
					seen = true
					var doc struct {
						Inputs []agents.Input `json:"inputs_from_other_agents"`
					}
					require.NoError(t, json.Unmarshal([]byte(m[1].Content), &doc))
					require.Equal(t, []agents.Input{{Agent: "a", Answer: "answer-a"}, {Agent: "b", Answer: "answer-b"}}, doc.Inputs)
				}
			}
			require.True(t, seen)
		})
	}
}

// A dispatch that can't be carried out starts nothing, and the model reads why.
func TestRefusedDispatches(t *testing.T) {
	dep := func(id string, on ...string) call { return dispatch(id, "m-"+id).with("depends_on", on) }
	for name, row := range map[string]struct {
		calls []call
		says  []string // one for each answer, in the order of execution
		runs  int
	}{
		"circle":             {[]call{dep("a", "b"), dep("b", "a")}, []string{"circle", "circle"}, 0},
		"itself":             {[]call{dep("a", "a")}, []string{"circle"}, 0},
		"unknown dependency": {[]call{dep("a", "ghost")}, []string{"was not dispatched"}, 0},
		"duplicate id":       {[]call{dispatch("a", "m-a"), dispatch("a", "m-a")}, []string{`"ok":true`, "dispatched already"}, 1},
		"unknown skill":      {[]call{dispatch("a", "m-a", "no.such")}, []string{"wider_than_parent"}, 0},
		"pattern":            {[]call{dispatch("a", "m-a", "note.*")}, []string{"wider_than_parent"}, 0},
		"everything":         {[]call{dispatch("a", "m-a", "*")}, []string{"wider_than_parent"}, 0},
		"its own skills":     {[]call{dispatch("a", "m-a", "agent.dispatch")}, []string{"no skill"}, 0},
		"all its own skills": {[]call{dispatch("a", "m-a", "agent.*")}, []string{"no skill"}, 0},
		"bad agent id":       {[]call{dispatch("../A", "m-a")}, []string{"schema"}, 0},
		"unknown argument":   {[]call{dispatch("a", "m-a").with("user", "root")}, []string{"schema"}, 0},
		"unknown model":      {[]call{dispatch("a", "m-a").with("model", "ghost")}, []string{"no model"}, 0},
		"no skills":          {[]call{tool(toolDispatch, map[string]any{"agent_id": "a", "mission": "m-a"})}, []string{"schema"}, 0},
		"too many calls":     {[]call{dispatch("a", "m-a").with("max_tool_calls", 21)}, []string{"schema"}, 0},
		"duplicate keys": {[]call{tool(toolDispatch, `{"agent_id":"a","mission":"m-a","skills":[],"agent_id":"b"}`)},
			[]string{`"refused":"invalid"`}, 0},
		"not JSON": {[]call{tool(toolDispatch, `{"agent_id":`)}, []string{`"refused":"invalid"`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, with(echo(t)), orch("go", row.calls, "done"), agent("m-", "ok"))
			reply := r.send("go")
			told := r.told()
			require.Len(t, told, len(row.says))
			for i, want := range row.says {
				require.Contains(t, told[i], want)
			}
			require.Len(t, reply.Agents, row.runs)
			if row.runs == 0 {
				require.Empty(t, r.asked(agents.ToolRequestHelp), "an agent's model was asked")
			}
			require.NotEmpty(t, r.list(ledger.Query{Agent: "orchestrator"}))
		})
	}
}

// An agent that fails takes those that depend on it along, and theirs, each
// with the reason; others go on.
func TestDependantsAreSkipped(t *testing.T) {
	r := start(t, with(),
		orch("go", []call{
			dispatch("a", "do-a"), dispatch("b", "do-b").with("depends_on", []string{"a"}),
			dispatch("c", "do-c").with("depends_on", []string{"b"}), dispatch("d", "do-d"),
		}, results("wait_all"), "done"),
		agent("do-a", rule{"status": 500}), agent("do-d", "d is done"))
	reply := r.send("go")
	require.Equal(t, map[string]agents.State{"a": agents.Failed, "b": agents.Skipped, "c": agents.Skipped, "d": agents.Completed},
		states(reply))
	require.Equal(t, "a, which it depends on, is failed", reply.Agents[1].Reason)
	require.Equal(t, "b, which it depends on, is skipped", reply.Agents[2].Reason)
	v := views(t, r.told()[4])
	require.Equal(t, "b, which it depends on, is skipped", v["c"]["reason"])
}

// What a model returns is taken as it comes: the turn goes on or ends with a
// kind, and never breaks.
func TestModelAnswers(t *testing.T) {
	t.Run("text and calls together: the calls are made", func(t *testing.T) {
		r := start(t, with(), orch("go", rule{"content": "let me see", "tool_calls": []call{dispatch("a", "do-a")}}, results("wait_all"),
			"done"), agent("do-a", "ok"))
		require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(r.send("go")))
	})
	t.Run("nothing once is asked again", func(t *testing.T) {
		r := start(t, with(), []rule{
			{"when": rule{"last_user_contains": "Your answer was empty"}, "reply": rule{"content": "sorry"}},
			{"when": rule{"last_user_contains": "go"}, "reply": rule{"content": ""}},
		})
		require.Equal(t, "sorry", r.send("go").Text)
		require.Equal(t, "sorry", r.send("go").Text)
		last := r.asked(toolDispatch)
		for _, m := range last[len(last)-2] { // the second turn's first question
			require.NotContains(t, m.Content, "Your answer was empty")
		}
	})
	t.Run("nothing twice ends the turn", func(t *testing.T) {
		r := start(t, with(), []rule{{"reply": rule{"content": ""}}})
		_, err := r.open("c1", "ann").Send(t.Context(), "go")
		var me *ModelError
		require.ErrorAs(t, err, &me)
		require.Equal(t, "empty", me.Kind)
	})
	t.Run("an unknown tool is refused and on record", func(t *testing.T) {
		r := start(t, with(), orch("go", tool("rm_rf", map[string]any{"path": "/"}), "done"))
		require.Equal(t, "done", r.send("go").Text)
		require.Contains(t, r.told()[0], "unknown_skill")
		list := r.list(ledger.Query{Code: "scope.unknown_skill"})
		require.Len(t, list, 1)
		require.Empty(t, list[0].Skill)
	})
	t.Run("two calls with one id get an answer each", func(t *testing.T) {
		a, b := dispatch("a", "do-a"), dispatch("b", "do-b")
		a["id"], b["id"] = "same", "same"
		r := start(t, with(), orch("go", []call{a, b}, results("wait_all"), "done"), agent("do-", "ok"))
		require.Len(t, r.send("go").Agents, 2)
		last := r.asked(toolDispatch)
		seen := map[string]int{}
		for _, m := range last[len(last)-1] {
			if m.Role == "tool" {
				seen[m.ToolCallID]++
			}
		}
		require.Len(t, seen, 3)
	})
	t.Run("an unknown mode is told", func(t *testing.T) {
		r := start(t, with(), orch("go", []call{results("whenever"), tool(toolResults, "{"), tool(toolQuery, "{"), tool(toolGetSkill, "{")},
			"done"))
		require.Equal(t, "done", r.send("go").Text)
		require.Contains(t, r.told()[0], `"invalid"`)
		require.Contains(t, r.told()[1], `"invalid"`)
		require.Contains(t, r.told()[2], `"unknown_agent"`)
		require.Contains(t, r.told()[3], `"unknown_skill"`)
	})
	t.Run("a model that never ends is ended", func(t *testing.T) {
		r := start(t, with(), []rule{
			{"when": rule{"has_tools": false}, "reply": rule{"content": "enough"}},
			{"reply": rule{"tool_calls": []call{tool(toolGetSkill, map[string]any{"name": "x"})}}},
		})
		require.Equal(t, "enough", r.send("go").Text)
		require.Len(t, r.server.Requests(), maxRounds)
	})
}

// Arguments of 10 MB are refused for their size and hold up nothing.
func TestHugeArguments(t *testing.T) {
	r := start(t, with(), []rule{{"reply": rule{"content": "unused"}}})
	asked := 0                                                                                  // by one turn's goroutines, one after another
	r.models.orchestrator = chatFunc(func(context.Context, llm.Request) (llm.Response, error) { // scripts are bounded
		if asked++; asked > 1 {
			return llm.Response{Content: "done"}, nil
		}
		return llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: toolDispatch,
			Arguments: `{"agent_id":"a","mission":"` + strings.Repeat("x", 10<<20) + `","skills":[]}`}}}, nil
	})
	reply := r.send("go")
	require.Equal(t, "done", reply.Text)
	require.Empty(t, reply.Agents)
	list := r.list(ledger.Query{Kind: "refused"})
	require.Len(t, list, 1)
	require.Less(t, len(list[0].Body), 4096)
}

// Skills that the model asks about are shown, its own are not, and neither are
// those outside the user's scope.
func TestGetSkill(t *testing.T) {
	r := start(t, with(echo(t), outside(t)), orch("go", []call{
		tool(toolGetSkill, map[string]any{"name": "note.echo"}), tool(toolGetSkill, map[string]any{"name": "web.read"}),
		tool(toolGetSkill, map[string]any{"name": "agent.dispatch"}), dispatch("a", "do-a", "web.read"),
	}, "done"))
	scope, err := skills.NewScope("note.*")
	require.NoError(t, err)
	c, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: "ann", Scope: scope})
	require.NoError(t, err)
	reply, err := c.Send(t.Context(), "go")
	require.NoError(t, err)
	require.Empty(t, reply.Agents)
	told := r.told()
	require.Contains(t, told[0], `"parameters"`)
	require.Contains(t, told[1], "unknown_skill")
	require.Contains(t, told[2], "unknown_skill")
	require.Contains(t, told[3], "wider_than_parent")
	system := r.asked(toolDispatch)[0][0].Content
	require.Contains(t, system, "note.echo")
	require.NotContains(t, system, "web.read")
	require.NotContains(t, system, "agent.dispatch")
}
