// Package messages reads requests to the Messages API of Anthropic.
//
// User turns are messages of the role user that hold no result of a tool: harnesses put texts of their own beside
// results. Calls are tool_use blocks, results tool_result blocks. What the provider ran itself is foreign text.
//
// The package isn't stable: docs/api.md lists those that are.
package messages

import (
	"net/http"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/sentinel/stream"
	codec "github.com/vedette-dev/vedette/sentinel/stream/messages"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// Format is the format of messages.
type Format struct{}

// NewCodec returns what reads and writes one answer.
func (Format) NewCodec() stream.Codec { return codec.New() }

// NewBody returns what reads and writes one answer that isn't streamed.
func (Format) NewBody() stream.BodyCodec { return codec.New() }

// ToolName is the call's name.
func (Format) ToolName(c stream.Call) string { return c.Name }

// errorTypes are the types of errors by their status.
var errorTypes = map[int]string{
	http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error",
	http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error", http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests: "rate_limit_error", http.StatusServiceUnavailable: "overloaded_error",
}

// WriteError returns the body of an error.
func (Format) WriteError(e wire.Error) []byte {
	typ := errorTypes[e.Status]
	if typ == "" {
		typ = "api_error"
	}
	out := span.AppendQuote([]byte(`{"type":"error","error":{"type":`), typ)
	out = span.AppendQuote(append(out, `,"message":`...), e.Message)
	return append(out, "}}"...)
}

// Read reads a request.
func (Format) Read(body []byte) (*wire.Request, error) {
	r := &wire.Reader{}
	body, err := r.Begin(body)
	if err != nil {
		return nil, err
	}
	list := span.Member(body, "messages")
	if len(list) == 0 || list[0] != '[' {
		return nil, wire.Invalid("messages must be a list")
	}
	for el := span.Elements(span.Member(body, "tools")); el.Next(); {
		if t, isClients := readTool(el.Value); isClients {
			if err := r.AddTool(t); err != nil {
				return nil, err
			}
		}
	}
	for el := span.Elements(list); el.Next(); {
		if err := readMessage(r, el.Value); err != nil {
			return nil, err
		}
	}
	return &r.Request, nil
}

// clientKinds begin the types of tools that the provider defines and the client runs.
var clientKinds = []string{"bash_", "text_editor_", "memory_", "computer_"}

// readTool reads a tool, and reports whether the client runs it.
func readTool(t []byte) (wire.Tool, bool) {
	kind := wire.Text(t, "type")
	out := wire.Tool{Name: wire.Text(t, "name"), Description: wire.Text(t, "description"), Parameters: span.Member(t, "input_schema")}
	if kind == "" || kind == "custom" {
		return out, true
	}
	for _, k := range clientKinds {
		if strings.HasPrefix(kind, k) {
			out.Kind = strings.TrimSuffix(k, "_")
			return out, true
		}
	}
	return out, false
}

func readMessage(r *wire.Reader, m []byte) error {
	content := span.Member(m, "content")
	switch wire.Text(m, "role") {
	case "user":
		if text, ok := span.Text(content); ok {
			return r.Add(wire.Step{Kind: wire.User, Text: wire.OwnText(string(text))})
		}
		return readUser(r, content)
	case "assistant":
		return readAssistant(r, content)
	}
	return nil
}

// readUser reads the blocks of a user's message.
func readUser(r *wire.Reader, content []byte) error {
	var texts []string
	results := false
	for el := span.Elements(content); el.Next(); {
		switch wire.Text(el.Value, "type") {
		case "text":
			texts = append(texts, wire.OwnText(wire.Text(el.Value, "text")))
		case "tool_result":
			results = true
			s := wire.Step{Kind: wire.Result, ID: wire.Text(el.Value, "tool_use_id"), Text: readOutput(span.Member(el.Value, "content")),
				Failed: string(span.Member(el.Value, "is_error")) == "true"}
			if err := r.Add(s); err != nil {
				return err
			}
		default:
			if err := r.Add(wire.Step{Kind: wire.Foreign}); err != nil {
				return err
			}
		}
	}
	if results {
		return nil
	}
	return r.Add(wire.Step{Kind: wire.User, Text: strings.Join(texts, "\n\n")})
}

// readOutput returns what a tool returned. Parts that are no text are left out.
func readOutput(content []byte) string {
	texts, _ := wire.Parts(content, "text")
	return strings.Join(texts, "\n")
}

// readAssistant reads the blocks of the model's message.
func readAssistant(r *wire.Reader, content []byte) error {
	for el := span.Elements(content); el.Next(); {
		step := wire.Step{Kind: wire.Foreign}
		switch wire.Text(el.Value, "type") {
		case "text", "thinking", "redacted_thinking":
			continue
		case "tool_use":
			step = wire.Step{Kind: wire.Call, ID: wire.Text(el.Value, "id"), Name: wire.Text(el.Value, "name"), Args: span.Member(el.Value, "input")}
		}
		if err := r.Add(step); err != nil {
			return err
		}
	}
	return nil
}
