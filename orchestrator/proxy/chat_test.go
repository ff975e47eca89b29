package proxy_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

const chatPath = "/proxy/openai/v1/chat/completions"

// bash is the tool as clients declare it.
const bash = `{"type":"function","function":{"name":"Bash","description":"Run a command.",` +
	`"parameters":{"type":"object","required":["command"],"properties":{"command":{"type":"string"}}}}}`

// ask is a request that begins a conversation.
func ask(stream bool, more string) string {
	const form = `{"model":"m","stream":%t,"tools":[%s],"messages":[{"role":"user","content":"list the files"}]%s}`
	return fmt.Sprintf(form, stream, bash, more)
}

// chunk is a chunk of chat completions.
func chunk(delta, finish string) string {
	if finish == "" {
		finish = "null"
	} else {
		finish = quote(finish)
	}
	return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":"+
		"[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
}

func textChunk(text string) string {
	return chunk(`{"role":"assistant","content":`+quote(text)+`}`, "")
}

func callChunk(index int, id, name, args string) string {
	f := fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, quote(args))
	return chunk(fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":%d,"id":%q,"type":"function","function":%s}]}`, index, id, f), "")
}

const doneChunk = "data: [DONE]\n\n"

// whole is a completion that isn't streamed, with calls as id, name and arguments.
func whole(text string, calls ...[3]string) string {
	var list []string
	reason := "stop"
	for _, c := range calls {
		list = append(list, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, c[0], c[1], quote(c[2])))
		reason = "tool_calls"
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",`+
		`"content":%s,"tool_calls":[%s]},"finish_reason":%q}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
		quote(text), strings.Join(list, ","), reason)
}

// client is go-openai with this house's proxy as its base URL.
func (h *house) client() *openai.Client {
	c := openai.DefaultConfig(h.key("key", nil))
	c.BaseURL = h.server.URL + "/proxy/openai/v1"
	c.HTTPClient = h.server.Client()
	return openai.NewClientWithConfig(c)
}

// heard is what go-openai made of a stream.
type heard struct {
	text   string
	calls  []openai.ToolCall
	reason openai.FinishReason
	err    error
}

func (h *house) hear() heard {
	h.t.Helper()
	s, err := h.client().CreateChatCompletionStream(h.t.Context(), openai.ChatCompletionRequest{
		Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "list the files"}},
		Tools: []openai.Tool{{Type: "function", Function: &openai.FunctionDefinition{Name: "Bash", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}},
		}}}},
	})
	if err != nil {
		return heard{err: err}
	}
	defer func() { require.NoError(h.t, s.Close()) }()
	var out heard
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			out.err = err
			return out
		}
		for _, c := range r.Choices {
			out.text += c.Delta.Content
			out.calls = append(out.calls, c.Delta.ToolCalls...)
			if c.FinishReason != "" {
				out.reason = c.FinishReason
			}
		}
	}
}

// A call that is allowed reaches the client whole; what became of it is forwarded, and then what the tool's result says.
func TestAllowedCall(t *testing.T) {
	h := open(t)
	h.up.streams(textChunk("I look.") + callChunk(0, "call_1", "Bash", `{"command":"ls"}`) + chunk("{}", "tool_calls") + doneChunk)
	out := h.hear()
	require.NoError(t, out.err)
	require.Equal(t, "I look.", out.text)
	require.Len(t, out.calls, 1)
	require.Equal(t, `{"command":"ls"}`, out.calls[0].Function.Arguments)
	require.Equal(t, openai.FinishReasonToolCalls, out.reason)

	d := h.awaitRecords(sentinel.RecordDecision, 1)[0]
	require.Equal(t, []string{"allow", "tool.b-uash", "ann", "client"}, []string{d.Outcome, d.Skill, d.User, d.Agent})
	o := h.awaitRecords(sentinel.RecordOutcome, 1)[0]
	require.Equal(t, sentinel.StatusForwarded, o.Outcome)
	require.Equal(t, "Bearer upstream-secret", h.up.last().header.Get("Authorization"))

	h.up.streams(textChunk("There is a.txt.") + chunk("{}", "stop") + doneChunk)
	next := fmt.Sprintf(`{"model":"m","stream":true,"tools":[%s],"messages":[{"role":"user","content":"list the files"},`+
		`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"Bash","arguments":"{\"command\": \"ls\"}"}}]},`+
		`{"role":"tool","tool_call_id":"call_1","content":"a.txt"}]}`, bash)
	require.Contains(t, h.post(chatPath, next).body, "There is a.txt.")
	o = h.awaitRecords(sentinel.RecordOutcome, 2)[0]
	require.Equal(t, sentinel.StatusOK, o.Outcome)
	require.Equal(t, d.Call, o.Call)
	h.post(chatPath, next) // the same history once more reports nothing twice
	require.Len(t, h.records(sentinel.RecordOutcome), 2)
}

// A call that a rule denies becomes a notice, streamed and not, and its arguments reach nobody.
func TestBlockedCall(t *testing.T) {
	h := open(t)
	const args = `{"command":"forbidden --token CANARY"}`
	h.up.streams(textChunk("I look. ") + callChunk(0, "call_1", "Bash", args) + chunk("{}", "tool_calls") + doneChunk)
	out := h.hear()
	require.NoError(t, out.err)
	require.Empty(t, out.calls)
	require.Equal(t, openai.FinishReasonStop, out.reason)
	require.Contains(t, out.text, "I look. [The call of Bash was blocked by policy: that command is forbidden (permission, ")
	require.NotContains(t, out.text, "CANARY")

	h.up.replies(200, whole("I look. ", [3]string{"call_1", "Bash", args}))
	a := h.post(chatPath, ask(false, ""))
	require.Equal(t, 200, a.status)
	require.Contains(t, a.body, "that command is forbidden")
	require.NotContains(t, a.body, "CANARY")
	require.Contains(t, a.body, `"finish_reason":"stop"`)
	list := h.awaitRecords(sentinel.RecordDecision, 2)
	require.Equal(t, list[0].Decision, a.header.Get("X-Vedette-Decisions"))
	require.Equal(t, "deny", list[0].Outcome)
	require.Empty(t, h.records(sentinel.RecordOutcome))
	require.NotContains(t, h.log.String(), "CANARY")
}
