package llm

import (
	"bytes"
	"encoding/json"
	"math"

	openai "github.com/sashabaranov/go-openai"
)

// wireHead is the part of the body that go-openai may not write. Its structs leave out a
// temperature of zero, an empty content and empty arguments, and its validator refuses
// requests by the name of the model before they are sent, on grounds that do not hold for
// every server. Those structs stay empty for the library (libraryHead), and a wireHead
// takes their place on the way out.
type wireHead struct {
	Model       string        `json:"model"`
	Messages    []wireMessage `json:"messages"`
	Temperature *float64      `json:"temperature,omitempty"`
}

// libraryHead is how a body without model and messages begins. A version of the
// library that begins otherwise makes every request fail, loudly.
const libraryHead = `{"model":"","messages":null,`

// wireMessage is a Message as it goes over the wire.
type wireMessage struct {
	Role       string         `json:"role"`
	Content    *string        `json:"content"`
	Name       string         `json:"name,omitempty"`
	ToolCalls  []wireToolCall `json:"tool_calls,omitempty"`
	ToolCallID *string        `json:"tool_call_id,omitempty"`
}

// wireToolCall is a ToolCall as it goes over the wire.
type wireToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

// wireFunction is the name and the arguments of a wireToolCall.
type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// noParameters stands for a function that takes none.
var noParameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// checkRequest refuses a request that no server could answer, before anything is sent.
func (c *Client) checkRequest(r Request) *Error {
	refuse := func(msg string) *Error { return &Error{Kind: KindRequest, Code: CodeInvalidRequest, msg: msg} }
	if len(r.Tools) > 0 && c.cfg.SupportsTools != nil && !*c.cfg.SupportsTools {
		return &Error{Kind: KindRequest, Code: CodeToolsUnsupported, msg: "the model is configured without tools"}
	}
	if len(r.Messages) == 0 {
		return refuse("the request has no messages")
	}
	if r.MaxTokens < 0 {
		return refuse("the token limit is negative")
	}
	if t := r.Temperature; t != nil && (math.IsNaN(*t) || *t < 0 || *t > 2) {
		return refuse("the temperature is not between 0 and 2")
	}
	for _, t := range r.Tools {
		if t.Name == "" || t.Parameters != nil && !json.Valid(t.Parameters) {
			return refuse("a tool has no name, or parameters that are not JSON")
		}
	}
	if r.Schema != nil && (r.Schema.Name == "" || !json.Valid(r.Schema.Schema)) {
		return refuse("the schema has no name or is not JSON")
	}
	if r.Schema != nil && c.cfg.Schemaless == ViaTool && (len(r.Tools) > 0 || r.ToolChoice != "") {
		return refuse("the model answers a schema by a tool call, so the request can't have tools besides")
	}
	if !hasKnownChoice(r) {
		return refuse("the tool choice names no tool of the request")
	}
	return nil
}

// hasKnownChoice reports whether the request's ToolChoice is one of the API's words or
// names a tool.
func hasKnownChoice(r Request) bool {
	switch r.ToolChoice {
	case "", "auto", "none", "required":
		return true
	}
	for _, t := range r.Tools {
		if t.Name == r.ToolChoice {
			return true
		}
	}
	return false
}

// buildHead builds this package's half of the body, without its closing brace.
func (c *Client) buildHead(r Request) ([]byte, error) {
	h := wireHead{Model: c.cfg.Model, Messages: make([]wireMessage, 0, len(r.Messages))}
	if !c.cfg.Reasoning {
		h.Temperature = r.Temperature
	}
	for i := range r.Messages {
		h.Messages = append(h.Messages, newWireMessage(&r.Messages[i]))
	}
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	b[len(b)-1] = ','
	return b, nil
}

// newWireMessage returns a message as it goes over the wire.
func newWireMessage(m *Message) wireMessage {
	w := wireMessage{Role: m.Role, Content: &m.Content, Name: m.Name}
	if m.Role == RoleAssistant && m.Content == "" && len(m.ToolCalls) > 0 {
		w.Content = nil // null: it said nothing, it called
	}
	if m.Role == RoleTool || m.ToolCallID != "" {
		w.ToolCallID = &m.ToolCallID
	}
	for _, tc := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, wireToolCall{
			ID: tc.ID, Type: "function", Function: wireFunction{Name: tc.Name, Arguments: tc.Arguments},
		})
	}
	return w
}

// buildTail builds the library's half of the request.
func (c *Client) buildTail(r Request) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{ReasoningEffort: c.cfg.effortToSend()}
	if c.cfg.LegacyMaxTokens {
		req.MaxTokens = r.MaxTokens //nolint:staticcheck // servers that know no other name are what the option is for
	} else {
		req.MaxCompletionTokens = r.MaxTokens
	}
	for _, t := range r.Tools {
		params := t.Parameters
		if params == nil {
			params = noParameters
		}
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: params}})
	}
	switch r.ToolChoice {
	case "":
	case "auto", "none", "required":
		req.ToolChoice = r.ToolChoice
	default:
		req.ToolChoice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: r.ToolChoice}}
	}
	if r.Schema != nil {
		c.askForSchema(&req, r.Schema)
	}
	return req
}

// askForSchema asks for an answer of the schema's shape, in the strongest way that the
// server knows.
func (c *Client) askForSchema(req *openai.ChatCompletionRequest, s *Schema) {
	switch c.cfg.Schemaless {
	case ViaTool:
		req.Tools = []openai.Tool{{Type: openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: s.Name, Parameters: s.Schema}}}
		req.ToolChoice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: s.Name}}
	case ViaJSONObject:
		req.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	default:
		req.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: s.Name, Schema: s.Schema, Strict: true},
		}
	}
}

// joinHalves puts this package's half of a body in front of the library's.
func joinHalves(head, body []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(body, []byte(libraryHead))
	if !ok {
		return nil, false
	}
	return append(head, rest...), true
}
