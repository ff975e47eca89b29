package llm

import "encoding/json"

// Roles of a Message.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role    string
	Content string
	// Name tells speakers of one role apart; optional.
	Name string
	// ToolCalls are what an assistant message asked for.
	ToolCalls []ToolCall
	// ToolCallID says which call a message of role tool answers.
	ToolCallID string
}

// ToolCall is one function call that a model asks for. Arguments is the model's
// string, byte for byte as decoded from the answer; it may be no JSON at all,
// and two calls of one answer may carry the same ID.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Tool is a function that the model may call. Parameters is a JSON Schema of
// type object; nil means a function without parameters.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Schema asks for an answer of exactly this shape (strict structured output),
// or of as much of it as Config.Schemaless leaves. Strict servers want
// additionalProperties false and every property required. Properties are sent
// in the order in which they stand.
type Schema struct {
	Name   string
	Schema json.RawMessage
}

// Request is one question to a model.
type Request struct {
	Messages []Message
	Tools    []Tool
	// ToolChoice is empty or "auto", "none", "required", or the name of one of
	// Tools, which the model must then call.
	ToolChoice string
	// Schema, if set, constrains the content of the answer; on a model with
	// Schemaless ViaTool, the arguments of the one tool call that it answers with.
	Schema *Schema
	// Temperature is sent as it is, zero included. Nil sends none; a Reasoning
	// model is never sent one.
	Temperature *float64
	// MaxTokens bounds the answer, reasoning included. Zero sends no bound.
	MaxTokens int
}

// Usage counts tokens as the server reported them; zero when it did not.
type Usage struct {
	Prompt     int
	Completion int
	Total      int
}

// Response is a model's answer: the first choice, and how many there were.
type Response struct {
	ID    string
	Model string
	// Choices is how many choices the server sent. More than one was not asked
	// for; the others are dropped unread.
	Choices int
	Content string
	// ToolCalls are in the order of the answer, none merged or dropped.
	ToolCalls []ToolCall
	// FinishReason is the server's word: stop, tool_calls, length,
	// content_filter. Act on ToolCalls only after stop or tool_calls.
	FinishReason string
	// Refusal is what a model says instead of a structured answer, or beside
	// one, which then must not be believed.
	Refusal string
	Usage   Usage
}
