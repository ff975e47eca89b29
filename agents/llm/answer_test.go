package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// choice is an answer's only choice, with a message of these fields.
func choice(message string) string {
	return `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",` + message + `}}]}`
}

// said is what an answer of one choice comes to.
func said(content string) llm.Response {
	return llm.Response{Choices: 1, Content: content, FinishReason: "stop"}
}

const (
	usual  = `"content":"hi"`
	called = `"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	// added is what servers put beside the API's fields, at each level.
	added = `{"id":"g-1","object":"chat.completion","created":1.7e9,"model":"m","provider":"Groq","system_fingerprint":null,
		"service_tier":"default","x_groq":{"id":"r","usage":{"total_tokens":9}},"timings":{"prompt_n":1,"predicted_ms":7.25},
		"__verbose":{"content":"no","a":1,"a":2,"stop":[["x"]]},"prompt_filter_results":[{"prompt_index":0}],"prompt_logprobs":null,
		"choices":[{"index":0,"logprobs":{"content":[{"token":"hi","logprob":-0.1,"bytes":[104,105],"top_logprobs":[]}]},
			"finish_reason":"stop","native_finish_reason":"STOP","stop_reason":null,"matched_stop":1,` +
		`"content_filter_results":{"hate":{"filtered":false}},
			"message":{"role":"assistant","content":"hi","refusal":null,"reasoning":"no","reasoning_content":"no",` +
		`"reasoning_details":[{"type":"reasoning.text","text":"no"}],
				"annotations":[{"type":"url_citation"}],"audio":null,"tool_calls":null,"function_call":null,"prefix":false}}],
		"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"queue_time":0.01,"cost":0.2,` +
		`"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":null},
		"error":null,"suggest":"\ud83d\ude00"}`
)

// What servers send in the API's shape is understood, with whatever they add.
func TestAnswersOfServers(t *testing.T) {
	call := llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}
	rows := []struct {
		name, body string
		want       llm.Response
	}{
		{"added fields", added, llm.Response{ID: "g-1", Model: "m", Choices: 1, Content: "hi", FinishReason: "stop",
			Usage: llm.Usage{Prompt: 3, Completion: 4, Total: 7}}},
		{"nulls", `{"id":null,"model":null,"usage":null,"error":null,"choices":[{"index":null,"error":null,"finish_reason":null,` +
			`"message":{"role":null,"content":"hi","refusal":null,"tool_calls":null,"function_call":null}}]}`,
			llm.Response{Choices: 1, Content: "hi"}},
		{"nothing that may be left out", `{"choices":[{"message":{"content":"hi"}}]}`, llm.Response{Choices: 1, Content: "hi"}},
		{"names in escapes", `{"\u0063hoices":[{"m\u0065ssage":{"content":"hi"}}]}`, llm.Response{Choices: 1, Content: "hi"}},
		{"parts", choice(`"content":[{"type":"text","text":"a"},{"text":"b","type":"text","annotations":[]}]`), said("ab")},
		{"parts with reasoning", choice(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"no"}]},{"type":"reasoning",` +
			`"text":["no"]},{"type":"text","text":"hi"}]`), said("hi")},
		{"an empty refusal", choice(usual + `,"refusal":""`), said("hi")},
		{"a refusal in a part", choice(`"content":[{"type":"text","text":"hi"},{"type":"refusal","refusal":"no"}]`),
			llm.Response{Choices: 1, Content: "hi", Refusal: "no", FinishReason: "stop"}},
		{"a refusal in both places", choice(`"refusal":"n","content":[{"type":"refusal","refusal":"o"}]`),
			llm.Response{Choices: 1, Refusal: "no", FinishReason: "stop"}},
		{"a call", choice(`"content":null,` + called), llm.Response{Choices: 1, ToolCalls: []llm.ToolCall{call}, FinishReason: "stop"}},
		{"a call without a type, an id or arguments", choice(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":null}}]`),
			llm.Response{Choices: 1, ToolCalls: []llm.ToolCall{{Name: "f"}}, FinishReason: "stop"}},
		{"choices beside the first", `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"},{"index":1,` +
			`"message":{"content":"no"},"finish_reason":"length"},7]}`,
			llm.Response{Choices: 3, Content: "hi", FinishReason: "stop"}},
		{"a duplicate where nothing is read", `{"x":{"a":1,"a":2},"choices":[{"message":{"content":"hi"},"logprobs":{"a":1,"a":2}}]}`,
			llm.Response{Choices: 1, Content: "hi"}},
		{"usage that is absurd", `{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":1e400,"completion_tokens":-1e400,` +
			`"total_tokens":7.9}}`,
			llm.Response{Choices: 1, Content: "hi", Usage: llm.Usage{Prompt: 1 << 30, Total: 7}}},
		{"sixty-four names", `{"choices":[{"message":{"content":"hi"}}],` + members(63) + `}`, llm.Response{Choices: 1, Content: "hi"}},
		{"nested to the limit", `{"choices":[{"message":{"content":"hi"}}],"x":` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}`,
			llm.Response{Choices: 1, Content: "hi"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := client(t, serve(t, answer(row.body)).URL, nil).Chat(t.Context(), ask("x"))
			require.NoError(t, err)
			require.Equal(t, row.want, got)
		})
	}
}

// members writes so many members of an object.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%x":0,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// A name is the API's in its letters alone. In others it is one of those that
// servers add: it neither gives nor takes anything.
func TestNamesInOtherLetters(t *testing.T) {
	const yes = `{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}`
	const no = `{"index":0,"finish_reason":"length","message":{"role":"assistant","content":"no"}}`
	refusal, call := said("hi"), said("hi")
	refusal.Refusal = "no"
	call.ToolCalls = []llm.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}
	rows := []struct {
		name, body string
		want       llm.Response
		code       string
	}{
		{"choices with a long s", `{"choices":[` + yes + `],"choiceſ":[` + no + `]}`, said("hi"), ""},
		{"choices in capitals", `{"CHOICES":[` + no + `],"choices":[` + yes + `],"Choices":[]}`, said("hi"), ""},
		{"choices in capitals alone", `{"Choices":[` + yes + `]}`, llm.Response{}, llm.CodeNoChoices},
		{"message with a long s", `{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"hi"},"meſsage":{"content":"no"}}]}`,
			said("hi"), ""},
		{"content in capitals", choice(usual + `,"CONTENT":"no"`), said("hi"), ""},
		{"content in capitals alone", choice(`"CONTENT":"no"`), llm.Response{Choices: 1, FinishReason: "stop"}, llm.CodeEmpty},
		{"a field of the library", choice(`"content":"","MultiContent":[{"type":"text","text":"no"}]`),
			llm.Response{Choices: 1, FinishReason: "stop"}, llm.CodeEmpty},
		{"content in two fields", choice(usual + `,"multicontent":[{"type":"text","text":"no"}]`), said("hi"), ""},
		{"finish_reason with a long s", `{"choices":[{"finish_reason":"length","finiſh_reason":"stop","message":{"content":"hi"}}]}`,
			llm.Response{Choices: 1, Content: "hi", FinishReason: "length"}, ""},
		{"finish_reason in capitals", `{"choices":[{"finish_reason":"stop","Finish_Reason":"length","message":{"content":"hi"}}]}`, said("hi"),
			""},
		{"refusal hidden", choice(usual + `,"refusal":"no","refuſal":""`), refusal, ""},
		{"calls hidden", choice(usual + `,` + called + `,"tool_callſ":[]`), call, ""},
		{"arguments hidden", choice(usual + `,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}","argumentſ":"no"},"ID":"2"}]`),
			call, ""},
		{"error in capitals", `{"Error":{"code":"server_error"},"choices":[` + yes + `]}`, said("hi"), ""},
		{"usage with a Kelvin sign", `{"choices":[` + yes + `],"usage":{"total_toKens":5,"uſage":1}}`, said("hi"), ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := client(t, serve(t, answer(row.body)).URL, nil).Chat(t.Context(), ask("x"))
			require.Equal(t, row.want, got)
			if row.code == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: row.code, Model: "fast"}, public(fails(t, err)))
		})
	}
}

// What is no answer in the API's shape says nothing, and is named.
func TestNoAnswers(t *testing.T) {
	shape := llm.Error{Kind: llm.KindBadResponse, Code: llm.CodeShape}
	notJSON := llm.Error{Kind: llm.KindNotJSON}
	reported := func(code string) llm.Error { return llm.Error{Kind: llm.KindBadResponse, Code: code} }
	one := func(fields string) string { return `{"choices":[{` + fields + `,"message":{"content":"canary"}}]}` }
	top := func(fields string) string { return `{` + fields + `,"choices":[{"message":{"content":"canary"}}]}` }
	rows := []struct {
		name, body string
		want       llm.Error
	}{
		{"index 5", one(`"index":5`), shape},
		{"index -1", one(`"index":-1`), shape},
		{"index in words", one(`"index":"0"`), shape},
		{"role user", `{"choices":[{"message":{"role":"user","content":"canary"}}]}`, shape},
		{"role empty", `{"choices":[{"message":{"role":"","content":"canary"}}]}`, shape},
		{"role of another type", `{"choices":[{"message":{"role":["assistant"],"content":"canary"}}]}`, shape},
		{"finish_reason of another type", one(`"finish_reason":1`), shape},
		{"id of another type", top(`"id":1`), shape},
		{"usage of another type", top(`"usage":[]`), shape},
		{"usage in words", top(`"usage":{"total_tokens":"7"}`), shape},
		{"a choice that is null", `{"choices":[null]}`, shape},
		{"a message that is a string", `{"choices":[{"message":"canary"}]}`, shape},
		{"a document that is an array", `[` + fine + `]`, shape},
		{"a document that is a string", `"canary"`, shape},
		{"content as an object", choice(`"content":{"type":"text","text":"canary"}`), shape},
		{"content as a number", choice(`"content":1`), shape},
		{"a part that is an image", choice(`"content":[{"type":"text","text":"canary"},{"type":"image_url","image_url":{"url":"x"}}]`), shape},
		{"a part without a type", choice(`"content":[{"text":"canary"}]`), shape},
		{"a part that is a string", choice(`"content":["canary"]`), shape},
		{"a part that is null", choice(`"content":[{"type":"text","text":"canary"},null]`), shape},
		{"a text part without text", choice(`"content":[{"type":"text","text":"canary"},{"type":"text"}]`), shape},
		{"a text part that refuses", choice(`"content":[{"type":"text","text":"canary","refusal":"canary"}]`), shape},
		{"a text part whose refusal is a list", choice(`"content":[{"type":"text","text":"canary","refusal":["canary"]}]`), shape},
		{"a refusal part without words", choice(`"content":[{"type":"text","text":"canary"},{"type":"refusal"}]`), shape},
		{"a part whose type is in capitals", choice(`"content":[{"type":"Text","text":"canary"}]`), shape},
		{"refusal of another type", choice(usual + `,"refusal":true`), shape},
		{"a legacy call", choice(usual + `,"function_call":{"name":"canary","arguments":"{}"}`), shape},
		{"a legacy call of another type", choice(usual + `,"function_call":false`), shape},
		{"a call of another type", choice(`"tool_calls":[{"id":"1","type":"custom","function":{"name":"f","arguments":"{}"}}]`), shape},
		{"a call of no function", choice(`"tool_calls":[{"id":"1","type":"function"}]`), shape},
		{"a call that is null", choice(`"tool_calls":[null]`), shape},
		{"calls as an object", choice(usual + `,"tool_calls":{}`), shape},
		{"error in escapes", top(`"\u0065rror":{"code":"server_error"}`), reported("server_error")},
		{"error as a string", top(`"error":"canary"`), reported("")},
		{"error as false", top(`"error":false`), reported("")},
		{"error in the choice", one(`"error":{"code":502,"message":"canary"}`), reported("")},
		{"error in the choice, with a code", one(`"error":{"code":"server_error"}`), reported("server_error")},
		{"error beside another shape", `{"choices":"canary","error":{"type":"overloaded_error"}}`, reported("overloaded_error")},
		{"a code in other letters", top(`"error":{"Code":"server_error"}`), reported("")},
		{"choices twice", `{"choices":[{"message":{"content":"canary"}}],"choices":[{"message":{"content":"canary"}}]}`, notJSON},
		{"choices twice, in escapes", `{"choices":[{"message":{"content":"canary"}}],"choice\u0073":[]}`, notJSON},
		{"finish_reason twice", one(`"finish_reason":"stop","finish_reason":"stop"`), notJSON},
		{"a part's text twice", choice(`"content":[{"type":"text","text":"canary","text":"canary"}]`), notJSON},
		{"arguments twice", choice(`"tool_calls":[{"function":{"name":"f","arguments":"{}","arguments":"{}"}}]`), notJSON},
		{"usage twice", top(`"usage":{"total_tokens":1,"total_tokens":2}`), notJSON},
		{"an unknown name twice", top(`"x":1,"x":1`), notJSON},
		{"another shape, broken off", `{"choices":"canary"`, notJSON},
		{"broken off in what is not read", `{"choices":[{"message":{"content":"canary"}}],"x":[[{"a":`, notJSON},
		{"another document behind", `{"choices":[{"message":{"content":"canary"}}]} 1`, notJSON},
		{"a byte order mark", "\ufeff" + fine, notJSON},
		{"half a surrogate pair", choice(`"content":"canary\ud800"`), notJSON},
		{"sixty-five names", `{"choices":[{"message":{"content":"canary"}}],` + members(64) + `}`, shape},
		{"nested too deeply", `{"choices":[{"message":{"content":"canary"}}],"x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`,
			shape},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			resp, err := client(t, serve(t, answer(row.body)).URL, nil).Chat(t.Context(), ask("x"))
			row.want.Model, row.want.Status = "fast", 200
			require.Equal(t, row.want, public(fails(t, err)))
			require.Empty(t, resp.Content+resp.Refusal)
			require.Empty(t, resp.ToolCalls)
		})
	}
}

// late is a body that is there only once its request's time is over.
type late struct {
	io.Reader
	ctx context.Context
}

func (l late) Read(p []byte) (int, error) {
	<-l.ctx.Done()
	return l.Reader.Read(p)
}

func (late) Close() error { return nil }

// An answer that is complete when the time is over is none, and whose time it
// was decides what it is called.
func TestLateAnswerIsNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows := []struct {
		name string
		ctx  context.Context
		want llm.Kind
	}{{"the model's time", t.Context(), llm.KindTimeout}, {"the caller's", ctx, llm.KindCanceled}}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			hc := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
				if row.ctx == ctx {
					cancel()
				}
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: late{strings.NewReader(fine), r.Context()}, ContentLength: -1,
					Request: r}, nil
			})}
			c, err := llm.New(llm.Config{Name: "fast", Model: "m", BaseURL: "http://localhost/v1", Timeout: 50 * time.Millisecond}, hc)
			require.NoError(t, err)
			resp, err := c.Chat(row.ctx, ask("x"))
			require.Equal(t, row.want, fails(t, err).Kind)
			require.Equal(t, llm.Response{}, resp)
		})
	}
}
