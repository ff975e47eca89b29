package scripted_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// party is a model server that is held to the contract.
type party struct {
	base, key, model string
	// anyModel is set where the server has one model and doesn't read its name.
	anyModel bool
	// legacy is set where the server knows max_tokens alone.
	legacy bool
	// unforced is set where the server, or the model's template, makes nothing of
	// a tool that is forced by its name.
	unforced bool
}

func (p party) client(t *testing.T, model string) *llm.Client {
	t.Helper()
	c, err := llm.New(llm.Config{Name: "m", Model: model, BaseURL: p.base, APIKey: p.key, LegacyMaxTokens: p.legacy,
		Timeout: 2 * time.Minute}, nil)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdle)
	return c
}

// contractScript answers the contract as a willing model would.
const contractScript = `
models: [served]
rules:
  - {when: {schema: colour_of}, reply: {content: '{"colour":"green","sure":true}'}}
  - {when: {tool_choice: look_up}, reply: {tool_calls: [{name: look_up, arguments: {city: Oslo}}]}}
  - {when: {format: json_object}, reply: {content: '{"colour":"green"}'}}
  - {reply: {content: "Hello there, how are you?"}}
`

// The scripted server keeps the contract that clients count on.
func TestContractOfTheScriptedServer(t *testing.T) {
	srv := play(t, contractScript, scripted.Options{APIKey: "key"})
	contract(t, party{base: srv.BaseURL(), key: "key", model: "served"})
}

// contract is what Vedette needs of a model server. It sends no temperature and
// no effort, so that a model of any kind can be asked.
func contract(t *testing.T, p party) {
	t.Run("plain chat", p.plainChat)
	t.Run("strict json_schema", p.strictSchema)
	t.Run("forced tool call", p.forcedCall)
	t.Run("json_object", p.jsonObject)
	t.Run("streaming", p.streaming)
	t.Run("unknown model", p.unknownModel)
}

func user(text string) []llm.Message { return []llm.Message{{Role: llm.RoleUser, Content: text}} }

func (p party) plainChat(t *testing.T) {
	a, err := p.client(t, p.model).Chat(t.Context(), llm.Request{Messages: user("Say hello."), MaxTokens: 2000})
	require.NoError(t, err)
	require.NotEmpty(t, a.Content)
	require.Equal(t, "stop", a.FinishReason)
	require.Equal(t, 1, a.Choices)
	require.Positive(t, a.Usage.Prompt)
	require.Positive(t, a.Usage.Completion)
	require.NotEmpty(t, a.Model)
}

func (p party) strictSchema(t *testing.T) {
	a, err := p.client(t, p.model).Chat(t.Context(), llm.Request{MaxTokens: 2000, Messages: user("Which colour is grass? Answer in JSON."),
		Schema: &llm.Schema{Name: "colour_of", Schema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string",` +
			`"enum":["red","green","blue"]},
			"sure":{"type":"boolean"}},"required":["colour","sure"],"additionalProperties":false}`)}})
	require.NoError(t, err)
	require.Equal(t, "stop", a.FinishReason)
	var said struct {
		Colour *string `json:"colour"`
		Sure   *bool   `json:"sure"`
	}
	dec := json.NewDecoder(strings.NewReader(a.Content))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&said), a.Content)
	require.NotNil(t, said.Colour)
	require.NotNil(t, said.Sure)
	require.Contains(t, []string{"red", "green", "blue"}, *said.Colour)
	_, err = dec.Token()
	require.ErrorIs(t, err, io.EOF, "one document and nothing else")
}

func (p party) forcedCall(t *testing.T) {
	if p.unforced {
		t.Log("VEDETTE_TEST_NO_FORCED_TOOL is set: the server forces no tool by its name, so don't write schemaless: tool for it")
		return
	}
	a, err := p.client(t, p.model).Chat(t.Context(),
		llm.Request{MaxTokens: 2000, Messages: user("What is the weather in Oslo?"), ToolChoice: "look_up",
			Tools: []llm.Tool{
				{Name: "look_up", Description: "Looks up the weather.",
					Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],` +
						`"additionalProperties":false}`)},
				{Name: "other", Description: "Something else.",
					Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
			}})
	require.NoError(t, err)
	require.Len(t, a.ToolCalls, 1, "a server that forces no tool by its name is declared by VEDETTE_TEST_NO_FORCED_TOOL=1")
	require.Equal(t, "look_up", a.ToolCalls[0].Name)
	require.NotEmpty(t, a.ToolCalls[0].ID)
	var args struct{ City string }
	require.NoError(t, json.Unmarshal([]byte(a.ToolCalls[0].Arguments), &args))
	require.NotEmpty(t, args.City)
	require.Contains(t, []string{"stop", "tool_calls"}, a.FinishReason)
}

func (p party) jsonObject(t *testing.T) {
	a, err := p.library(t).CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: p.model,
		Messages:       []openai.ChatCompletionMessage{{Role: "user", Content: "Answer in JSON, with the key colour: which colour is grass?"}},
		ResponseFormat: &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}})
	require.NoError(t, err)
	require.Len(t, a.Choices, 1)
	var said map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.Choices[0].Message.Content), &said), a.Choices[0].Message.Content)
}

func (p party) library(t *testing.T) *openai.Client { return library(t, p.base, p.key) }

// post asks over plain HTTP.
func (p party) post(t *testing.T, body map[string]any) *http.Response {
	t.Helper()
	b, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+"/chat/completions", bytes.NewReader(b))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}).Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (p party) streaming(t *testing.T) {
	ask := openai.ChatCompletionRequest{Model: p.model, StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "Say hello."}}}
	got := collect(t, p.library(t), ask)
	require.NoError(t, got.err)
	require.NotEmpty(t, got.content)
	require.Equal(t, "stop", got.finish)
	require.NotNil(t, got.usage)
	require.Positive(t, got.usage.TotalTokens)

	res := p.post(t, map[string]any{"model": p.model, "stream": true,
		"messages": []any{map[string]any{"role": "user", "content": "Say hello."}}})
	require.Equal(t, 200, res.StatusCode)
	require.True(t, strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream"))
	lines, last := bufio.NewScanner(res.Body), ""
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue // comments and blank lines
		}
		last = strings.TrimSpace(data)
		if last != "[DONE]" {
			require.True(t, json.Valid([]byte(last)), last)
			require.True(t, assistants(last), last)
		}
	}
	require.NoError(t, lines.Err())
	require.Equal(t, "[DONE]", last)
}

// assistants reports whether an event tells no other role than the assistant's.
// It may tell none in the whole stream: llama.cpp's server leaves the role out
// where the first token is half of a character.
func assistants(event string) bool {
	var doc struct {
		Choices []struct{ Delta struct{ Role string } }
	}
	if json.Unmarshal([]byte(event), &doc) != nil {
		return false
	}
	for _, c := range doc.Choices {
		if c.Delta.Role != "" && c.Delta.Role != "assistant" {
			return false
		}
	}
	return true
}

func (p party) unknownModel(t *testing.T) {
	if p.anyModel {
		t.Log("VEDETTE_TEST_ANY_MODEL is set: the server reads no model names, so none is unknown to it")
		return
	}
	_, err := p.client(t, "no-such-model-anywhere").Chat(t.Context(), llm.Request{Messages: user("x")})
	var e *llm.Error
	require.ErrorAs(t, err, &e, "a server that answers for every model is declared by VEDETTE_TEST_ANY_MODEL=1")
	require.Equal(t, llm.KindRequest, e.Kind)
	res := p.post(t, map[string]any{"model": "no-such-model-anywhere", "messages": []any{map[string]any{"role": "user", "content": "x"}}})
	require.Contains(t, []int{400, 404}, res.StatusCode)
	var doc struct {
		Error struct{ Message string }
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&doc))
	require.NotEmpty(t, doc.Error.Message)
}
