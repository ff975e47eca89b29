package llm

import "encoding/json"

// Tool is a function that the model may call. Parameters is a JSON Schema of
// type object; nil means a function without parameters.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Schema asks for an answer of exactly this shape (strict structured output). A model
// with Config.Schemaless is asked for as much of it as the server knows. Strict servers
// want additionalProperties false and every property required. Properties are sent in the
// order in which they stand.
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
	// Schema, if set, constrains the content of the answer. On a model with
	// Schemaless ViaTool it constrains the arguments of the answer's one tool call.
	Schema *Schema
	// Temperature is sent as it is, zero included. Nil sends none; a Reasoning
	// model is never sent one.
	Temperature *float64
	// MaxTokens bounds the answer, reasoning included. Zero sends no bound.
	MaxTokens int
	// Follow, if set, asks for a stream and is told of the answer's text piece by piece, in
	// the goroutine of Chat. It must not block. The pieces since the last one that was
	// withdrawn are the Content of an answer without calls. It doesn't make Chat return
	// earlier or with less. A model whose Config says Unstreamed tells nothing.
	Follow func(Piece)
}
