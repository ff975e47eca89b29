package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"math"

	"github.com/vedette-dev/vedette/agents/llm"
)

var verdict = &llm.Schema{Name: "verdict", Schema: json.RawMessage(
	`{"type":"object","additionalProperties":false,"required":["decision"],"properties":{"decision":{"type":"string","enum":["approve",` +
		`"reject"]}}}`)}

var tools = []llm.Tool{
	{Name: "use_skill", Description: "Run a skill.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}}}`)},
	{Name: "request_help"},
}

const (
	schemaOnWire = `"response_format":{"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object",` +
		`"additionalProperties":false,"required":["decision"],"properties":{"decision":{"type":"string","enum":["approve","reject"]}}},` +
		`"strict":true}}`
	toolsOnWire = `"tools":[{"function":{"name":"use_skill","description":"Run a skill.","parameters":{"type":"object",` +
		`"properties":{"b":{"type":"string"},"a":{"type":"integer"}}}},"type":"function"},{"function":{"name":"request_help",` +
		`"parameters":{"type":"object","properties":{},"additionalProperties":false}},"type":"function"}]`
	hiOnWire = `"messages":[{"role":"user","content":"hi"}]`
)

func ptr[T any](v T) *T { return &v }

// Each row is the exact body that a real server received.
func TestWireGolden(t *testing.T) {
	plain := func(*llm.Config) {}
	model := func(name string, reasoning bool) func(*llm.Config) {
		return func(c *llm.Config) { c.Model, c.Reasoning = name, reasoning }
	}
	rows := []struct {
		name   string
		config func(*llm.Config)
		change func(*llm.Request)
		want   string
	}{
		{"nothing but messages", plain, func(*llm.Request) {},
			`{"model":"m-1",` + hiOnWire + `,"stream":false}`},
		{"temperature zero is sent", plain, func(r *llm.Request) { r.Temperature, r.MaxTokens = ptr(0.0), 150 },
			`{"model":"m-1",` + hiOnWire + `,"temperature":0,"max_completion_tokens":150,"stream":false}`},
		{"temperature keeps its digits", plain, func(r *llm.Request) { r.Temperature = ptr(0.7) },
			`{"model":"m-1",` + hiOnWire + `,"temperature":0.7,"stream":false}`},
		{"older servers get max_tokens", func(c *llm.Config) { c.LegacyMaxTokens = true }, func(r *llm.Request) { r.MaxTokens = 9 },
			`{"model":"m-1",` + hiOnWire + `,"max_tokens":9,"stream":false}`},
		{"schema and temperature together", plain, func(r *llm.Request) { r.Schema, r.Temperature = verdict, ptr(0.0) },
			`{"model":"m-1",` + hiOnWire + `,"temperature":0,"stream":false,` + schemaOnWire + `}`},
		{"schema as one forced tool", func(c *llm.Config) { c.Schemaless = llm.ViaTool },
			func(r *llm.Request) { r.Schema, r.Temperature = verdict, ptr(0.0) },
			`{"model":"m-1",` + hiOnWire + `,"temperature":0,"stream":false,"tools":[{"function":{"name":"verdict",` +
				`"parameters":{"type":"object","additionalProperties":false,"required":["decision"],"properties":{"decision":{"type":"string",` +
				`"enum":["approve","reject"]}}}},"type":"function"}],"tool_choice":{"type":"function","function":{"name":"verdict"}}}`},
		{"schema as json_object", func(c *llm.Config) { c.Schemaless = llm.ViaJSONObject },
			func(r *llm.Request) { r.Schema, r.Temperature = verdict, ptr(0.0) },
			`{"model":"m-1",` + hiOnWire + `,"temperature":0,"stream":false,"response_format":{"type":"json_object"}}`},
		{"no schema, no way round one", func(c *llm.Config) { c.Schemaless = llm.ViaTool }, func(r *llm.Request) { r.Tools = tools[1:] },
			`{"model":"m-1",` + hiOnWire + `,"stream":false,"tools":[{"function":{"name":"request_help","parameters":{"type":"object",` +
				`"properties":{},"additionalProperties":false}},"type":"function"}]}`},
		{"tools, choice by name", plain, func(r *llm.Request) { r.Tools, r.ToolChoice = tools, "use_skill" },
			`{"model":"m-1",` + hiOnWire + `,"stream":false,` + toolsOnWire + `,"tool_choice":{"type":"function","function":{"name":"use_skill"}}}`},
		{"choice by word", plain, func(r *llm.Request) { r.Tools, r.ToolChoice = tools, "none" },
			`{"model":"m-1",` + hiOnWire + `,"stream":false,` + toolsOnWire + `,"tool_choice":"none"}`},
		{"reasoning: no temperature, minimal effort", model("gpt-5-mini", true),
			func(r *llm.Request) { r.Schema, r.Temperature, r.MaxTokens = verdict, ptr(0.0), 300 },
			`{"model":"gpt-5-mini",` + hiOnWire + `,"max_completion_tokens":300,"stream":false,` + schemaOnWire + `,"reasoning_effort":"minimal"}`},
		{"reasoning with tools where the library would refuse", model("gpt-6-sol", true), func(r *llm.Request) { r.Tools = tools[1:] },
			`{"model":"gpt-6-sol",` + hiOnWire + `,"stream":false,"tools":[{"function":{"name":"request_help","parameters":{"type":"object",` +
				`"properties":{},"additionalProperties":false}},"type":"function"}],"reasoning_effort":"low"}`},
		{"temperature for a gpt-5 that does not reason", model("gpt-5-chat-latest", false),
			func(r *llm.Request) { r.Temperature, r.MaxTokens = ptr(0.2), 5 },
			`{"model":"gpt-5-chat-latest",` + hiOnWire + `,"temperature":0.2,"max_completion_tokens":5,"stream":false}`},
		{"max_tokens for an o-series name on another server", func(c *llm.Config) { c.Model, c.LegacyMaxTokens = "o3-mini", true },
			func(r *llm.Request) { r.MaxTokens = 5 },
			`{"model":"o3-mini",` + hiOnWire + `,"max_tokens":5,"stream":false}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := serve(t, answer(fine))
			r := ask("hi")
			row.change(&r)
			_, err := client(t, s.URL, row.config).Chat(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, []string{row.want}, s.received())
		})
	}
}

// The effort is the lowest that the model is known to take, or the configured one.
func TestReasoningEffort(t *testing.T) {
	rows := []struct{ model, effort, want string }{
		{"gpt-5", "", "minimal"},
		{"openai/gpt-5-mini", "", "minimal"},
		{"gpt-5-nano-2025-08-07", "", "minimal"},
		{"gpt-5.2", "", "low"},
		{"gpt-5-codex", "", "low"},
		{"o4-mini", "", "low"},
		{"o3", "", "low"},
		{"o1-mini", "", ""},
		{"gpt-5-pro", "", ""},
		{"some-other-thinker", "", ""},
		{"some-other-thinker", "high", "high"},
		{"gpt-5-mini", "medium", "medium"},
		{"gpt-5-mini", llm.EffortOmit, ""},
	}
	for _, row := range rows {
		t.Run(row.model+"/"+row.effort, func(t *testing.T) {
			s := serve(t, answer(fine))
			c := client(t, s.URL, func(c *llm.Config) { c.Model, c.Reasoning, c.Effort = row.model, true, row.effort })
			_, err := c.Chat(t.Context(), ask("hi"))
			require.NoError(t, err)
			var body map[string]any
			require.NoError(t, json.Unmarshal([]byte(s.received()[0]), &body))
			got, _ := body["reasoning_effort"].(string)
			require.Equal(t, row.want, got)
			require.NotContains(t, body, "temperature")
		})
	}
}

// Arguments are the model's string in both directions, whatever it holds, and
// calls that share an id stay two calls.
func TestToolCallsRoundTrip(t *testing.T) {
	calls := []llm.ToolCall{
		{ID: "call_1", Name: "use_skill", Arguments: `{"skill": "email.send",  "args":{"n":12345678901234567890,"n":1}}`},
		{ID: "call_1", Name: "use_skill", Arguments: `{"skill": truncated`},
		{ID: "call_2", Name: "use_skill", Arguments: ""},
		{ID: "", Name: "odd name\n", Arguments: "plain words, <tags> & \u2028 \x00 \U0001F600"},
	}
	wire := make([]map[string]any, 0, len(calls))
	for _, c := range calls {
		wire = append(wire, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	body, err := json.Marshal(map[string]any{"id": "x", "model": "m", "choices": []any{
		map[string]any{"index": 0, "finish_reason": "tool_calls",
			"message": map[string]any{"role": "assistant", "content": nil, "tool_calls": wire}}}})
	require.NoError(t, err)
	s := serve(t, answer(string(body)))
	c := client(t, s.URL, nil)
	got, err := c.Chat(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, calls, got.ToolCalls)
	require.Equal(t, "tool_calls", got.FinishReason)

	r := ask("hi")
	r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, ToolCalls: got.ToolCalls},
		llm.Message{Role: llm.RoleTool, ToolCallID: "call_1"})
	_, err = c.Chat(t.Context(), r)
	require.NoError(t, err)
	var sent struct {
		Messages []struct {
			Content   *string
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments *string }
			} `json:"tool_calls"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.received()[1]), &sent))
	require.Nil(t, sent.Messages[1].Content)
	require.Len(t, sent.Messages[1].ToolCalls, len(calls))
	for i, tc := range sent.Messages[1].ToolCalls {
		require.Equal(t, calls[i].ID, tc.ID)
		require.Equal(t, calls[i].Name, *tc.Function.Name)
		require.Equal(t, calls[i].Arguments, *tc.Function.Arguments, "an empty string is sent, not left out")
	}
	require.Equal(t, ptr(""), sent.Messages[2].Content, "an empty result is sent, not left out")
}

// The answer's parts arrive whole: text, parts of a list, refusal, usage, count.
func TestAnswers(t *testing.T) {
	rows := []struct {
		name, body string
		want       llm.Response
	}{
		{"content", fine, llm.Response{ID: "chatcmpl-1", Model: "m-1", Choices: 1, Content: "hello", FinishReason: "stop",
			Usage: llm.Usage{Prompt: 3, Completion: 4, Total: 7}}},
		{"content in parts", `{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},` +
			`"finish_reason":"stop"}]}`,
			llm.Response{Choices: 1, Content: "ab", FinishReason: "stop"}},
		{"refusal", `{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`,
			llm.Response{Choices: 1, Refusal: "no", FinishReason: "stop"}},
		{"more choices than asked for", `{"error":null,"choices":[{"message":{"content":"1"}},{"message":{"content":"2"}}]}`,
			llm.Response{Choices: 2, Content: "1"}},
		{"the word error in content is content", `{"choices":[{"message":{"content":"an \"error\": {}"}}]}`,
			llm.Response{Choices: 1, Content: `an "error": {}`}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := client(t, serve(t, answer(row.body)).URL, nil).Chat(t.Context(), ask("hi"))
			require.NoError(t, err)
			require.Equal(t, row.want, got)
		})
	}
}

// What no server could answer is refused before it is sent.
func TestRefusedBeforeSending(t *testing.T) {
	rows := []struct {
		name, code string
		config     func(*llm.Config)
		change     func(*llm.Request)
	}{
		{"no messages", llm.CodeInvalidRequest, nil, func(r *llm.Request) { r.Messages = nil }},
		{"negative limit", llm.CodeInvalidRequest, nil, func(r *llm.Request) { r.MaxTokens = -1 }},
		{"temperature out of range", llm.CodeInvalidRequest, nil, func(r *llm.Request) { r.Temperature = ptr(2.5) }},
		{"tool without a name", llm.CodeInvalidRequest, nil, func(r *llm.Request) { r.Tools = []llm.Tool{{}} }},
		{"tool parameters that are not JSON", llm.CodeInvalidRequest, nil,
			func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "t", Parameters: json.RawMessage("{")}} }},
		{"schema that is not JSON", llm.CodeInvalidRequest, nil, func(r *llm.Request) { r.Schema = &llm.Schema{Name: "s"} }},
		{"choice of an unknown tool", llm.CodeInvalidRequest, nil, func(r *llm.Request) { r.ToolChoice = "secret-canary" }},
		{"tools for a model without", llm.CodeToolsUnsupported, func(c *llm.Config) { c.SupportsTools = ptr(false) },
			func(r *llm.Request) { r.Tools = tools }},
		{"tools beside a schema that becomes one", llm.CodeInvalidRequest, func(c *llm.Config) { c.Schemaless = llm.ViaTool },
			func(r *llm.Request) { r.Schema, r.Tools = verdict, tools }},
		{"a choice beside a schema that becomes a tool", llm.CodeInvalidRequest, func(c *llm.Config) { c.Schemaless = llm.ViaTool },
			func(r *llm.Request) { r.Schema, r.ToolChoice = verdict, "none" }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := serve(t, answer(fine))
			r := ask("secret-canary")
			row.change(&r)
			_, err := client(t, s.URL, row.config).Chat(t.Context(), r)
			var e *llm.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, llm.KindRequest, e.Kind)
			require.Equal(t, row.code, e.Code)
			require.NotContains(t, err.Error(), "canary")
			require.Empty(t, s.received())
		})
	}
}

// What no server could answer is refused before it is sent, and the error says
// which part of it.
func TestRefusalSaysWhichPart(t *testing.T) {
	for _, tc := range []struct {
		change func(*llm.Request)
		says   string
	}{
		{func(r *llm.Request) { r.Messages = nil }, "no messages"},
		{func(r *llm.Request) { r.MaxTokens = -1 }, "token limit"},
		{func(r *llm.Request) { r.Temperature = ptr(-0.1) }, "temperature"},
		{func(r *llm.Request) { r.Temperature = ptr(2.1) }, "temperature"},
		{func(r *llm.Request) { r.Temperature = ptr(math.NaN()) }, "temperature"},
		{func(r *llm.Request) { r.Tools = []llm.Tool{{Parameters: []byte(`{}`)}} }, "a tool has no name"},
		{func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f", Parameters: []byte(`{`)}} }, "not JSON"},
		{func(r *llm.Request) { r.Schema = &llm.Schema{Schema: []byte(`{}`)} }, "the schema has no name"},
		{func(r *llm.Request) { r.Schema = &llm.Schema{Name: "s", Schema: []byte(`{`)} }, "the schema has no name"},
		{func(r *llm.Request) { r.ToolChoice = "f" }, "tool choice"},
	} {
		s := serve(t, answer(fine))
		r := ask("hi")
		tc.change(&r)
		e := errorOf(t, t.Context(), client(t, s.URL, nil), r)
		require.Equal(t, llm.KindRequest, e.Kind)
		require.Equal(t, llm.CodeInvalidRequest, e.Code)
		require.Contains(t, e.Error(), tc.says)
		require.Empty(t, s.received())
	}
	for _, at := range []float64{0, 2} {
		r := ask("hi")
		r.Temperature = &at
		_, err := client(t, serve(t, answer(fine)).URL, nil).Chat(t.Context(), r)
		require.NoError(t, err)
	}
}

// Names and ids of messages arrive where they belong.
func TestMessagesKeepTheirNamesAndIDs(t *testing.T) {
	s := serve(t, answer(fine))
	r := llm.Request{Messages: []llm.Message{
		{Role: llm.RoleUser, Name: "kim", Content: "hi"},
		{Role: llm.RoleTool, ToolCallID: "c1", Content: "x"}, {Role: llm.RoleTool, Content: "y"},
	}}
	_, err := client(t, s.URL, nil).Chat(t.Context(), r)
	require.NoError(t, err)
	require.Contains(t, s.received()[0], `"messages":[{"role":"user","content":"hi","name":"kim"},{"role":"tool","content":"x",`+
		`"tool_call_id":"c1"},{"role":"tool","content":"y","tool_call_id":""}]`)
}

// A message without text says so with an empty one; only an assistant that
// called instead says null.
func TestMessagesWithoutText(t *testing.T) {
	s := serve(t, answer(fine))
	call := []llm.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}
	_, err := client(t, s.URL, nil).Chat(t.Context(), llm.Request{Messages: []llm.Message{
		{Role: llm.RoleUser}, {Role: llm.RoleAssistant}, {Role: llm.RoleAssistant, ToolCalls: call},
		{Role: llm.RoleAssistant, Content: "x", ToolCalls: call},
		{Role: llm.RoleTool, ToolCallID: "1"},
	}})
	require.NoError(t, err)
	const called = `"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	require.Contains(t, s.received()[0], `"messages":[{"role":"user","content":""},{"role":"assistant","content":""},{"role":"assistant",`+
		`"content":null,`+called+
		`},{"role":"assistant","content":"x",`+called+`},{"role":"tool","content":"","tool_call_id":"1"}]`)
}

// Tools are refused where the model takes none, and a choice that is none of
// them; a schema that is held to by an object goes beside tools.
func TestToolsThatFit(t *testing.T) {
	two := []llm.Tool{{Name: "f"}, {Name: "g"}}
	for _, tc := range []struct {
		config func(*llm.Config)
		change func(*llm.Request)
		says   string
	}{
		{nil, func(r *llm.Request) { r.Tools, r.ToolChoice = two, "g" }, ""},
		{nil, func(r *llm.Request) { r.Tools, r.ToolChoice = two, "h" }, "tool choice"},
		{func(c *llm.Config) { c.SupportsTools = ptr(true) }, func(r *llm.Request) { r.Tools = two }, ""},
		{func(c *llm.Config) { c.SupportsTools = ptr(false) }, func(r *llm.Request) { r.Tools = two }, "the model is configured without tools"},
		{func(c *llm.Config) { c.SupportsTools = ptr(false) }, func(*llm.Request) {}, ""},
		{func(c *llm.Config) { c.Schemaless = llm.ViaJSONObject }, func(r *llm.Request) { r.Tools, r.Schema = two, verdict }, ""},
		{func(c *llm.Config) { c.Schemaless = llm.ViaTool }, func(r *llm.Request) { r.Tools, r.Schema = two, verdict },
			"answers a schema by a tool call"},
		{func(c *llm.Config) { c.Schemaless = llm.ViaTool }, func(r *llm.Request) { r.ToolChoice, r.Schema = "auto", verdict },
			"answers a schema by a tool call"},
	} {
		r := ask("hi")
		tc.change(&r)
		_, err := client(t, serve(t, answer(fine)).URL, tc.config).Chat(t.Context(), r)
		if tc.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, tc.says)
	}
}
