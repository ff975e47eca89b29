package scripted_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// library is the go-openai client of a server.
func library(t *testing.T, base, key string) *openai.Client {
	t.Helper()
	cfg := openai.DefaultConfig(key)
	cfg.BaseURL = base
	hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	cfg.HTTPClient = hc
	return openai.NewClientWithConfig(cfg)
}

// The events of a stream, byte for byte.
func TestStreamOnTheWire(t *testing.T) {
	srv := play(t, `rules: [{reply: {content: "one twoü!", tool_calls: [{id: c, name: f, arguments: {path: /a}}], usage: {prompt_tokens: `+
		`1, completion_tokens: 2}}}]`, fixed())
	head := func(n string) string {
		return `{"id":"chatcmpl-` + n + `","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":`
	}
	events := func(n, tail string) string {
		var b strings.Builder
		for _, c := range []string{
			`"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null`,
			`"delta":{"content":"one two"},"logprobs":null,"finish_reason":null`,
			`"delta":{"content":"ü!"},"logprobs":null,"finish_reason":null`,
			`"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]},"logprobs":null,` +
				`"finish_reason":null`,
			`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]},"logprobs":null,"finish_reason":null`,
			`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"/a\"}"}}]},"logprobs":null,"finish_reason":null`,
			`"delta":{},"logprobs":null,"finish_reason":"tool_calls"`,
		} {
			b.WriteString("data: " + head(n) + `[{"index":0,` + c + "}]" + tail + "}\n\n")
		}
		return b.String()
	}
	_, h, body := post(t, srv, askStream)
	require.Equal(t, "text/event-stream; charset=utf-8", h.Get("Content-Type"))
	require.Equal(t, events("1", "")+"data: [DONE]\n\n", body)
	_, _, body = post(t, srv, strings.Replace(askStream, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1))
	require.Equal(t, events("2", `,"usage":null`)+"data: "+head("2")+`[],"usage":{"prompt_tokens":1,"completion_tokens":2,`+
		`"total_tokens":3}}`+"\n\ndata: [DONE]\n\n", body)
}

// collected is what a library made of a stream.
type collected struct {
	content, refusal, finish, model string
	calls                           []openai.ToolCall
	usage                           *openai.Usage
	err                             error
}

func collect(t *testing.T, c *openai.Client, r openai.ChatCompletionRequest) collected {
	t.Helper()
	s, err := c.CreateChatCompletionStream(t.Context(), r)
	if err != nil {
		return collected{err: err}
	}
	defer func() { _ = s.Close() }()
	var out collected
	for {
		chunk, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			out.err = err
			return out
		}
		out.add(chunk)
	}
}

func (c *collected) add(chunk openai.ChatCompletionStreamResponse) {
	c.model = chunk.Model
	if chunk.Usage != nil {
		c.usage = chunk.Usage
	}
	for _, ch := range chunk.Choices {
		c.content += ch.Delta.Content
		c.refusal += ch.Delta.Refusal
		c.finish += string(ch.FinishReason)
		for _, tc := range ch.Delta.ToolCalls {
			if *tc.Index == len(c.calls) {
				c.calls = append(c.calls, tc)
				continue
			}
			c.calls[*tc.Index].Function.Arguments += tc.Function.Arguments
		}
	}
}

// A library hears in a stream what it hears without one, and faults as errors.
func TestStreamsThroughALibrary(t *testing.T) {
	srv := play(t, `
rules:
  - {when: {last_contains: text}, reply: {content: "a longer text, with commas; naïve 你好 and more"}}
  - when: {last_contains: call}
    reply: {tool_calls: [{id: a, name: f, arguments: {path: /etc/hosts, n: 3}}, {id: b, name: g}]}
  - {when: {last_contains: refuse}, reply: {refusal: "I can't do that for you"}}
  - {reply: {content: "half of it", finish_reason: length}}
`, fixed())
	c := library(t, srv.BaseURL(), "")
	req := func(say string) openai.ChatCompletionRequest {
		return openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: say}},
			StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	}
	for _, say := range []string{"text", "call", "refuse", "cut"} {
		plain := req(say)
		plain.StreamOptions = nil
		one, err := c.CreateChatCompletion(t.Context(), plain)
		require.NoError(t, err)
		m := one.Choices[0].Message
		got := collect(t, c, req(say))
		require.NoError(t, got.err)
		require.Equal(t, m.Content, got.content)
		require.Equal(t, m.Refusal, got.refusal)
		require.Equal(t, string(one.Choices[0].FinishReason), got.finish)
		require.Len(t, got.calls, len(m.ToolCalls))
		for i, tc := range m.ToolCalls {
			require.Equal(t, tc.ID, got.calls[i].ID)
			require.Equal(t, tc.Function, got.calls[i].Function)
		}
		require.Equal(t, one.Usage.CompletionTokens, got.usage.CompletionTokens)
	}
	for f, want := range map[scripted.Fault]string{
		scripted.StreamError: "had an error", scripted.StreamMalformed: "unexpected end of JSON", scripted.ResetMidBody: "connection reset",
		scripted.ShortBody: "unexpected EOF", scripted.RateLimited: "429",
	} {
		srv.FaultNext(1, f)
		require.ErrorContains(t, collect(t, c, req("text")).err, want, f)
	}
}

// A forced call ends with stop, as with the services; another call doesn't.
func TestFinishOfForcedCalls(t *testing.T) {
	srv := play(t, `
rules:
  - {when: {tool_choice: f, format: text, stream: false}, reply: {tool_calls: [{name: f}]}}
  - {when: {tool_choice: required}, reply: {tool_calls: [{name: f}]}}
  - {when: {format: json_object}, reply: {content: '{"a":1}'}}
  - {when: {stream: true}, reply: {content: streamed}}
  - {when: {tool_choice: ""}, reply: {tool_calls: [{name: f}]}}
`, scripted.Options{})
	const tools = `{"model":"m","messages":[{"role":"user","content":"json"}],"tools":[{"type":"function","function":{"name":"f"}}]`
	for ask, want := range map[string]string{
		tools + `,"tool_choice":{"type":"function","function":{"name":"f"}}}`: `"finish_reason":"stop"`,
		tools + `,"tool_choice":"required"}`:                                  `"finish_reason":"tool_calls"`,
		tools + `}`:                                                           `"finish_reason":"tool_calls"`,
		tools + `,"stream":true}`:                                             `"content":"streamed"`,
		strings.Split(tools, `,"tools"`)[0] + `,"response_format":{"type":"json_object"}}`: `"content":"{\"a\":1}"`,
	} {
		h := listen(t, srv, ask, forever)
		require.Equal(t, 200, h.status, h.body)
		require.Contains(t, h.body, want)
	}
}

// Models are listed and told of one by one, by the library too.
func TestModelsThroughALibrary(t *testing.T) {
	srv := play(t, "{models: [org/a, b], rules: [{reply: {content: x}}]}", scripted.Options{APIKey: "k"})
	all, err := library(t, srv.BaseURL(), "k").ListModels(t.Context())
	require.NoError(t, err)
	require.Len(t, all.Models, 2)
	one, err := library(t, srv.BaseURL(), "k").GetModel(t.Context(), "org/a")
	require.NoError(t, err)
	require.Equal(t, "org/a", one.ID)
	var e *openai.APIError
	_, err = library(t, srv.BaseURL(), "k").GetModel(t.Context(), "c")
	require.ErrorAs(t, err, &e)
	require.Equal(t, "model_not_found", e.Code)
	_, err = library(t, srv.BaseURL(), "wrong").ListModels(t.Context())
	require.ErrorAs(t, err, &e)
	require.Equal(t, 401, e.HTTPStatusCode)
	require.Equal(t, "invalid_api_key", e.Code)
}
