package scripted_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

const team = `
models: [primary, fast]
rules:
  - name: dispatch two
    when: {model: primary, has_tool: dispatch_agent, tool_results: 0}
    reply:
      content: "I send two agents."
      tool_calls:
        - {name: dispatch_agent, arguments: {agent_id: a1, mission: "For: {{ .LastUser }}", skills: [files.search], max_tool_calls: 3}}
        - {name: dispatch_agent, arguments: {agent_id: a2, mission: inbox, skills: [email.search]}}
  - name: wait
    when: {model: primary, tool_results: 2, last_role: tool}
    reply: {tool_calls: [{name: get_agent_results, arguments: {mode: wait_all}}]}
  - name: report
    when: {model: primary, min_tool_results: 3, tool_contains: [done, inbox]}
    reply: {content: 'Both are done: {{ .ToolOf "get_agent_results" }}', finish_reason: stop}
  - name: agent searches
    when: {model: fast, has_tool: use_skill, system_contains: sub-agent, turn: 1}
    reply: {tool_calls: [{name: use_skill, arguments: {skill: files.search, args: {query: report}}}]}
  - name: agent reads what it found
    when: {model: fast, has_tool: use_skill, turn: 2}
    reply: {tool_calls: [{name: use_skill, arguments: '{"skill":"files.read","args":{"id":{{ json (.Extract "id=([a-z0-9]+)") }}}}'}]}
  - name: last turn without tools
    when: {model: fast, has_tools: false, schema: ""}
    reply: {content: "Found {{ .Tool 0 }}"}
  - name: sentinel rejects sending
    when: {schema: sentinel_decision, user_contains: ["Skill: email.send", "Search"]}
    reply: {content: '{"decision":"reject","reason":{{ json (printf "not asked: %s" (.Extract "Skill: (\\S+)")) }}}'}
  - name: sentinel approves
    when: {schema: sentinel_decision}
    reply: {content: '{"decision":"approve","reason":"aligned"}'}
`

func tool(name string) []llm.Tool {
	return []llm.Tool{{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}}
}

// answerAll appends an answer and a result for each of its calls.
func answerAll(r *llm.Request, a llm.Response, results ...string) {
	r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Content: a.Content, ToolCalls: a.ToolCalls})
	for i, tc := range a.ToolCalls {
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleTool, ToolCallID: tc.ID, Content: results[i]})
	}
}

// A script plays an orchestrator that calls several tools at once and waits.
func TestOrchestrator(t *testing.T) {
	var rec recorder
	srv := play(t, team, scripted.Options{Log: rec.log})
	c := model(t, srv, "primary")
	r := llm.Request{Tools: append(tool("dispatch_agent"), tool("get_agent_results")...),
		Messages: []llm.Message{{Role: llm.RoleUser, Content: `find "the" {{ .Secret }} report`}}}
	a, err := c.Chat(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "I send two agents.", a.Content)
	require.Equal(t, "tool_calls", a.FinishReason)
	require.Len(t, a.ToolCalls, 2)
	require.NotEqual(t, a.ToolCalls[0].ID, a.ToolCalls[1].ID)
	require.JSONEq(t, `{"agent_id":"a1","mission":"For: find \"the\" {{ .Secret }} report","skills":["files.search"],"max_tool_calls":3}`,
		a.ToolCalls[0].Arguments)

	answerAll(&r, a, "dispatched", "dispatched")
	a, err = c.Chat(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "get_agent_results", a.ToolCalls[0].Name)
	answerAll(&r, a, "a1 done, a2 inbox empty")
	a, err = c.Chat(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "Both are done: a1 done, a2 inbox empty", a.Content)
	srv.Close()
	require.Equal(t, []string{"dispatch two", "wait", "report"}, rec.rules())
}

// A sub-agent uses an id that a tool returned, and ends when its tools are gone.
func TestAgent(t *testing.T) {
	c := model(t, play(t, team, scripted.Options{}), "fast")
	r := llm.Request{Tools: tool("use_skill"), Messages: []llm.Message{
		{Role: llm.RoleSystem, Content: "You are a sub-agent."}, {Role: llm.RoleUser, Content: "mission"}}}
	a, err := c.Chat(t.Context(), r)
	require.NoError(t, err)
	answerAll(&r, a, "one hit: id=f17 report")
	a, err = c.Chat(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, `{"skill":"files.read","args":{"id":"f17"}}`, a.ToolCalls[0].Arguments)
	answerAll(&r, a, "text")
	r.Tools = nil
	a, err = c.Chat(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "Found one hit: id=f17 report", a.Content)
}

// A sentinel judges by what the prompt says and answers in the schema's shape.
func TestSentinel(t *testing.T) {
	c := model(t, play(t, team, scripted.Options{}), "fast")
	schema := &llm.Schema{Name: "sentinel_decision", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,
		"required":["decision","reason"],"properties":{"decision":{"type":"string","enum":["approve","reject"]},"reason":{"type":"string"}}}`)}
	for prompt, want := range map[string]string{
		"Search my mail\nSkill: email.send":   `{"decision":"reject","reason":"not asked: email.send"}`,
		"Search my mail\nSkill: email.search": `{"decision":"approve","reason":"aligned"}`,
	} {
		a, err := c.Chat(t.Context(), llm.Request{Schema: schema, Messages: []llm.Message{{Role: llm.RoleUser, Content: prompt}}})
		require.NoError(t, err)
		require.Equal(t, want, a.Content)
	}
}

// A rule with times gives way to the next one when it is used up.
func TestTimes(t *testing.T) {
	c := model(t, play(t, `
rules:
  - {times: 1, reply: {status: 429, headers: {Retry-After: "3"}}}
  - {times: 1, reply: {status: 503}}
  - {when: {last_user_contains: again}, reply: {content: "third", usage: {prompt_tokens: 5, completion_tokens: 2}}}
`, scripted.Options{}), "any")
	r := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "again"}}}
	var e *llm.Error
	_, err := c.Chat(t.Context(), r)
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindRateLimited, e.Kind)
	require.Equal(t, 3*time.Second, e.RetryAfter)
	require.Equal(t, "rate_limit_exceeded", e.Code)
	_, err = c.Chat(t.Context(), r)
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindServer, e.Kind)
	a, err := c.Chat(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "third", a.Content)
	require.Equal(t, llm.Usage{Prompt: 5, Completion: 2, Total: 7}, a.Usage)
}

// Arguments given as a string are sent as they are, and ids may repeat.
func TestRawArgumentsAndIDs(t *testing.T) {
	c := model(t, play(t, `
rules:
  - reply:
      tool_calls:
        - {id: same, name: f, arguments: '{"broken": '}
        - {id: same, name: f, arguments: ""}
        - {id: same, name: f}
        - {id: same, name: f, arguments: [1, true, null, 1.5, "<&>", -2]}
`, scripted.Options{}), "any")
	a, err := c.Chat(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "x"}}})
	require.NoError(t, err)
	var args []string
	for _, tc := range a.ToolCalls {
		require.Equal(t, "same", tc.ID)
		args = append(args, tc.Arguments)
	}
	require.Equal(t, []string{`{"broken": `, "", "{}", `[1,true,null,1.5,"<&>",-2]`}, args)
}

// Refusals, odd bodies, silence and delays are played as scripted.
func TestFailures(t *testing.T) {
	srv := play(t, `
rules:
  - {when: {last_contains: refuse}, reply: {refusal: "I can't do {{ .Last }}"}}
  - {when: {last_contains: html}, reply: {status: 200, content_type: text/html, body: "<html>{{ .Model }}</html>"}}
  - {when: {last_contains: hang}, reply: {hang: true}}
  - {when: {last_contains: slow}, reply: {delay: 30ms, content: ok}}
  - {when: {last_contains: cut}, reply: {content: "half", finish_reason: length}}
  - {when: {last_contains: broken}, reply: {content: '{{ .Extract "nowhere" }}'}}
`, scripted.Options{})
	c := model(t, srv, "any")
	short, err := llm.New(llm.Config{Name: "m", Model: "any", BaseURL: srv.BaseURL(), Timeout: 300 * time.Millisecond}, nil)
	require.NoError(t, err)
	t.Cleanup(short.CloseIdle)
	say := func(text string) (llm.Response, *llm.Error) {
		c := c
		if text == "hang" {
			c = short
		}
		a, err := c.Chat(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}})
		var e *llm.Error
		if err != nil {
			require.ErrorAs(t, err, &e)
		}
		return a, e
	}
	a, _ := say("refuse")
	require.Equal(t, "I can't do refuse", a.Refusal)
	_, e := say("html")
	require.Equal(t, llm.KindNotJSON, e.Kind)
	_, e = say("hang")
	require.Equal(t, llm.KindTimeout, e.Kind)
	start := time.Now()
	a, e = say("slow")
	require.Nil(t, e)
	require.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)
	require.Equal(t, "ok", a.Content)
	a, e = say("cut")
	require.Nil(t, e)
	require.Equal(t, "length", a.FinishReason)
	_, e = say("broken")
	require.Equal(t, 500, e.Status)
}
