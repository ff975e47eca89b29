package scripted

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// chatRequest is every key that a chat completion request may have.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Tools               []tool          `json:"tools"`
	ToolChoice          jsontext.Value  `json:"tool_choice"`
	ResponseFormat      *responseFormat `json:"response_format"`
	Stream              bool            `json:"stream"`
	N                   *int            `json:"n"`
	Temperature         *float64        `json:"temperature"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	ReasoningEffort     string          `json:"reasoning_effort"`

	FrequencyPenalty  *float64       `json:"frequency_penalty"`
	LogitBias         jsontext.Value `json:"logit_bias"`
	Logprobs          *bool          `json:"logprobs"`
	Metadata          jsontext.Value `json:"metadata"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls"`
	PresencePenalty   *float64       `json:"presence_penalty"`
	PromptCacheKey    string         `json:"prompt_cache_key"`
	SafetyIdentifier  string         `json:"safety_identifier"`
	Seed              *int64         `json:"seed"`
	ServiceTier       string         `json:"service_tier"`
	Stop              jsontext.Value `json:"stop"`
	Store             *bool          `json:"store"`
	StreamOptions     *streamOptions `json:"stream_options"`
	TopLogprobs       *int           `json:"top_logprobs"`
	TopP              *float64       `json:"top_p"`
	User              string         `json:"user"`
	Verbosity         string         `json:"verbosity"`
}

// streamOptions are the options of a stream.
type streamOptions struct {
	IncludeUsage       bool  `json:"include_usage"`
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

// message is one message of a request.
type message struct {
	Role       string         `json:"role"`
	Content    jsontext.Value `json:"content"`
	Name       string         `json:"name"`
	Refusal    *string        `json:"refusal"`
	ToolCalls  []toolCall     `json:"tool_calls"`
	ToolCallID *string        `json:"tool_call_id"`

	text    string
	hasText bool
}

// saysJSON reports whether the message's text holds the word JSON.
func (m message) saysJSON() bool { return strings.Contains(strings.ToLower(m.text), "json") }

// toolCall is a tool call of an assistant's message.
type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

// tool is a tool on offer.
type tool struct {
	Type     string `json:"type"`
	Function *struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Parameters  jsontext.Value `json:"parameters"`
		Strict      *bool          `json:"strict"`
	} `json:"function"`
}

// responseFormat is the format that a request asks for.
type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Schema      jsontext.Value `json:"schema"`
		Strict      *bool          `json:"strict"`
	} `json:"json_schema"`
}

// badRequest is a request that is answered with status 400 and these words. The words
// name places and rules but repeat nothing of the request. An empty param or code is null
// on the wire.
type badRequest struct{ code, param, msg string }

// Error returns the message.
func (e *badRequest) Error() string { return e.msg }

// newInvalidValue returns the services' error for a value that is not allowed.
func newInvalidValue(param, format string, args ...any) error {
	return &badRequest{"invalid_value", param, fmt.Sprintf(format, args...)}
}

// parseRequest reads and checks a request. Its errors are badRequests.
func parseRequest(body []byte) (*chatRequest, error) {
	var r chatRequest
	if err := json.Unmarshal(body, &r, json.RejectUnknownMembers(true)); err != nil {
		where := "the body"
		var sem *json.SemanticError
		if errors.As(err, &sem) && sem.JSONPointer != "" {
			where = fmt.Sprintf("%.100q", string(sem.JSONPointer))
		}
		if errors.Is(err, json.ErrUnknownName) {
			return nil, &badRequest{"unknown_parameter", "", "unknown key at " + where}
		}
		return nil, &badRequest{"invalid_type", "", where + " is not what a chat completion request holds there"}
	}
	for _, check := range []func() error{r.checkHead, r.checkMessages, r.checkTools, r.checkFormat, r.checkModel} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// checkHead refuses fields beside messages and tools that the services refuse.
func (r *chatRequest) checkHead() error {
	switch {
	case r.Model == "":
		return &badRequest{"", "", "you must provide a model parameter; model is missing"}
	case r.StreamOptions != nil && !r.Stream:
		return &badRequest{"", "stream_options", "stream_options is only allowed when stream is true"}
	case r.N != nil && *r.N != 1:
		return &badRequest{"unsupported_value", "n", "n other than 1 is not supported"}
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return &badRequest{"decimal_out_of_range", "temperature", "temperature is not between 0 and 2"}
	case r.MaxTokens != nil && r.MaxCompletionTokens != nil:
		return newInvalidValue("max_tokens", "max_tokens and max_completion_tokens exclude each other")
	case r.MaxTokens != nil && *r.MaxTokens < 1:
		return &badRequest{"integer_below_min_value", "max_tokens", "the token limit is less than 1"}
	case r.MaxCompletionTokens != nil && *r.MaxCompletionTokens < 1:
		return &badRequest{"integer_below_min_value", "max_completion_tokens", "the token limit is less than 1"}
	case !slices.Contains([]string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}, r.ReasoningEffort):
		return newInvalidValue("reasoning_effort", "reasoning_effort is not known")
	}
	return nil
}

// checkMessages checks each message, and that every tool call is answered before the
// conversation goes on.
func (r *chatRequest) checkMessages() error {
	if len(r.Messages) == 0 {
		return newInvalidValue("messages", "messages is empty")
	}
	open, known := map[string]bool{}, map[string]bool{}
	for i := range r.Messages {
		m := &r.Messages[i]
		if err := m.checkMessage(i); err != nil {
			return err
		}
		if m.Role == "tool" {
			if !known[*m.ToolCallID] {
				return newInvalidValue("messages", "messages[%d] answers a tool call that the preceding assistant message did not make", i)
			}
			delete(open, *m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return newInvalidValue("messages", "messages[%d] comes before %d tool calls were answered", i, len(open))
		}
		known = map[string]bool{}
		for _, tc := range m.ToolCalls {
			open[tc.ID], known[tc.ID] = true, true
		}
	}
	if len(open) > 0 {
		return newInvalidValue("messages", "%d tool calls were not answered", len(open))
	}
	return nil
}

// checkMessage refuses a message that lacks what its role needs or holds what belongs to
// another role.
func (m *message) checkMessage(i int) error {
	if err := m.readText(); err != nil {
		return newInvalidValue("messages", "messages[%d].content is neither a string nor a list of text parts", i)
	}
	switch m.Role {
	case "system", "developer", "user":
		if !m.hasText || len(m.ToolCalls) > 0 || m.ToolCallID != nil {
			return newInvalidValue("messages", "messages[%d] has no content, or keys of another role", i)
		}
	case "tool":
		if !m.hasText || m.ToolCallID == nil || len(m.ToolCalls) > 0 {
			return newInvalidValue("messages", "messages[%d] has no content or no tool_call_id", i)
		}
	case "assistant":
		if !m.hasText && len(m.ToolCalls) == 0 && m.Refusal == nil {
			return newInvalidValue("messages", "messages[%d] has neither content nor tool_calls", i)
		}
	default:
		return newInvalidValue("messages", "messages[%d].role is not known", i)
	}
	for j, tc := range m.ToolCalls {
		if tc.Type != "function" || tc.Function.Name == "" || tc.Function.Arguments == nil {
			return newInvalidValue("messages", "messages[%d].tool_calls[%d] has no type function, no name or no arguments", i, j)
		}
	}
	return nil
}

// readText reads the content: a string, a list of text parts, null or nothing.
func (m *message) readText() error {
	switch m.Content.Kind() {
	case '"':
		m.hasText = true
		return json.Unmarshal(m.Content, &m.text)
	case '[':
		var parts []struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		}
		if err := json.Unmarshal(m.Content, &parts, json.RejectUnknownMembers(true)); err != nil {
			return err
		}
		m.hasText = len(parts) > 0
		for _, p := range parts {
			if p.Type != "text" || p.Text == nil {
				return errors.New("not a text part")
			}
			m.text += *p.Text
		}
		return nil
	}
	if len(m.Content) == 0 || m.Content.Kind() == 'n' {
		return nil
	}
	return errors.New("not text")
}

// checkTools refuses tools that are no functions, or whose names are not usable or not
// unique.
func (r *chatRequest) checkTools() error {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		if t.Type != "function" || t.Function == nil || !isToolName(t.Function.Name) {
			return newInvalidValue("tools", "tools[%d] is not a function with a name of 1 to 64 letters, digits, '_' and '-'", i)
		}
		if seen[t.Function.Name] {
			return newInvalidValue("tools", "tools[%d] has the name of another tool", i)
		}
		seen[t.Function.Name] = true
		if err := t.checkParameters(i); err != nil {
			return err
		}
	}
	switch {
	case len(r.ToolChoice) == 0:
		return nil
	case len(r.Tools) == 0:
		return newInvalidValue("tool_choice", "tool_choice stands without tools")
	}
	return r.checkChoice(seen)
}

// checkParameters refuses parameters that are no object of type object, and loose ones
// where the tool says strict.
func (t *tool) checkParameters(i int) error {
	p, param := t.Function.Parameters, fmt.Sprintf("tools[%d].function.parameters", i)
	if len(p) == 0 {
		return nil
	}
	var s schemaNode
	if p.Kind() != '{' || json.Unmarshal(p, &s) != nil || s.typeName() != "object" {
		return &badRequest{"invalid_function_parameters", param, param + " is not an object of type object"}
	}
	if t.Function.Strict != nil && *t.Function.Strict {
		if msg := checkStrict(p); msg != "" {
			return &badRequest{"invalid_function_parameters", param, param + " is not strict: " + msg}
		}
	}
	return nil
}

// toolChoiceWord returns auto, none, required, the name of the tool that is forced, or
// empty where nothing was said.
func (r *chatRequest) toolChoiceWord() string {
	var word string
	if json.Unmarshal(r.ToolChoice, &word) == nil {
		return word
	}
	return r.forcedTool()
}

// forcedTool returns the name of the tool that the answer has to call.
func (r *chatRequest) forcedTool() string {
	var one struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(r.ToolChoice, &one) != nil {
		return ""
	}
	return one.Function.Name
}

// checkChoice refuses a tool_choice that is neither a word of the API nor one of the
// tools.
func (r *chatRequest) checkChoice(known map[string]bool) error {
	var word string
	if json.Unmarshal(r.ToolChoice, &word) == nil {
		if !slices.Contains([]string{"auto", "none", "required"}, word) {
			return newInvalidValue("tool_choice", "tool_choice is not auto, none, required or a function")
		}
		return nil
	}
	var one struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(r.ToolChoice, &one, json.RejectUnknownMembers(true)) != nil || one.Type != "function" || !known[one.Function.Name] {
		return newInvalidValue("tool_choice", "tool_choice names no tool of the request")
	}
	return nil
}

// isToolName reports whether a text can name a tool or a schema.
func isToolName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// The formats that an answer may be asked for in.
const (
	formatText   = "text"
	formatObject = "json_object"
	formatSchema = "json_schema"
)

// answerFormat returns the format that the request asks for.
func (r *chatRequest) answerFormat() string {
	if r.ResponseFormat == nil {
		return formatText
	}
	return r.ResponseFormat.Type
}

// checkFormat refuses a response_format that the services refuse. They take json_object
// only where a message speaks of JSON, and hold a schema to strictness where it says
// strict.
func (r *chatRequest) checkFormat() error {
	f := r.ResponseFormat
	switch {
	case f == nil:
		return nil
	case !slices.Contains([]string{formatText, formatObject, formatSchema}, f.Type):
		return newInvalidValue("response_format.type", "response_format.type is not text, json_object or json_schema")
	case f.Type != formatSchema && f.JSONSchema != nil:
		return newInvalidValue("response_format", "response_format.json_schema stands beside another type")
	case f.Type == formatObject && !slices.ContainsFunc(r.Messages, message.saysJSON):
		return &badRequest{"", "messages", "messages must contain the word json in some form, to use response_format of type json_object"}
	case f.Type != formatSchema:
		return nil
	case f.JSONSchema == nil || !isToolName(f.JSONSchema.Name):
		return &badRequest{"missing_required_parameter", "response_format.json_schema.name", "response_format.json_schema has no usable name"}
	case f.JSONSchema.Schema.Kind() != '{':
		return &badRequest{"missing_required_parameter", "response_format.json_schema.schema",
			"response_format.json_schema.schema is not an object"}
	case f.JSONSchema.Strict == nil || !*f.JSONSchema.Strict:
		return nil
	}
	if msg := checkStrict(f.JSONSchema.Schema); msg != "" {
		return &badRequest{"", "response_format", "response_format.json_schema.schema is not strict: " + msg}
	}
	return nil
}

// checkModel refuses what the services refuse for models that reason. The names are
// theirs, so a script's own names are free.
func (r *chatRequest) checkModel() error {
	name := strings.ToLower(r.Model[strings.LastIndexByte(r.Model, '/')+1:])
	reasons := strings.HasPrefix(name, "gpt-5") && !strings.Contains(name, "-chat")
	for _, p := range []string{"o1", "o3", "o4"} {
		reasons = reasons || name == p || strings.HasPrefix(name, p+"-")
	}
	switch {
	case !reasons:
		return nil
	case r.MaxTokens != nil:
		return &badRequest{"unsupported_parameter", "max_tokens",
			"unsupported parameter: max_tokens is not supported with this model; use max_completion_tokens instead"}
	case r.Temperature != nil && *r.Temperature != 1:
		return &badRequest{"unsupported_value", "temperature",
			"unsupported value: temperature other than 1 is not supported with this model; only the default is"}
	case r.TopP != nil && *r.TopP != 1:
		return &badRequest{"unsupported_parameter", "top_p", "unsupported parameter: top_p is not supported with this model"}
	case r.ReasoningEffort == "minimal" && name != "gpt-5" && !strings.HasPrefix(name, "gpt-5-"):
		return &badRequest{"unsupported_value", "reasoning_effort",
			"unsupported value: reasoning_effort minimal is not supported with this model"}
	}
	return nil
}
