// Package chat reads requests to the chat completions API of OpenAI.
//
// User turns are messages of the role user, with their text parts. Calls are those of assistant messages, also the older
// function_call; results are messages of the roles tool and function. Instructions are no step.
//
// The package isn't stable: docs/api.md lists those that are.
package chat

import (
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire/openai"
	"github.com/vedette-dev/vedette/sentinel/stream"
	codec "github.com/vedette-dev/vedette/sentinel/stream/chat"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// Format is the format of chat completions.
type Format struct{}

// NewCodec returns what reads and writes one answer.
func (Format) NewCodec() stream.Codec { return codec.New() }

// NewBody returns what reads and writes one answer that isn't streamed.
func (Format) NewBody() stream.BodyCodec { return codec.New() }

// ToolName is the call's name.
func (Format) ToolName(c stream.Call) string { return c.Name }

// WriteError returns the body of an error.
func (Format) WriteError(e wire.Error) []byte { return openai.WriteError(e) }

// Read reads a request.
func (Format) Read(body []byte) (*wire.Request, error) {
	r := &wire.Reader{}
	body, err := r.Begin(body)
	if err != nil {
		return nil, err
	}
	messages := span.Member(body, "messages")
	if len(messages) == 0 || messages[0] != '[' {
		return nil, wire.Invalid("messages must be a list")
	}
	if err := readTools(r, body); err != nil {
		return nil, err
	}
	for el := span.Elements(messages); el.Next(); {
		if err := readMessage(r, el.Value); err != nil {
			return nil, err
		}
	}
	return &r.Request, nil
}

// readTools reads tools, and functions as the API had them before.
func readTools(r *wire.Reader, body []byte) error {
	for el := span.Elements(span.Member(body, "tools")); el.Next(); {
		if wire.Text(el.Value, "type") != "function" {
			continue // calls of others are blocked
		}
		if err := r.AddTool(openai.ReadFunction(span.Member(el.Value, "function"))); err != nil {
			return err
		}
	}
	for el := span.Elements(span.Member(body, "functions")); el.Next(); {
		if err := r.AddTool(openai.ReadFunction(el.Value)); err != nil {
			return err
		}
	}
	return nil
}

func readMessage(r *wire.Reader, m []byte) error {
	content := span.Member(m, "content")
	switch wire.Text(m, "role") {
	case "user":
		texts, other := wire.Parts(content, "text")
		for i := range texts {
			texts[i] = wire.OwnText(texts[i])
		}
		if other {
			if err := r.Add(wire.Step{Kind: wire.Foreign}); err != nil {
				return err
			}
		}
		return r.Add(wire.Step{Kind: wire.User, Text: strings.Join(texts, "\n\n")})
	case "tool":
		return r.Add(wire.Step{Kind: wire.Result, ID: wire.Text(m, "tool_call_id"), Text: openai.ReadOutput(content)})
	case "function":
		return r.Add(wire.Step{Kind: wire.Result, Name: wire.Text(m, "name"), Text: openai.ReadOutput(content)})
	case "assistant":
		return readCalls(r, m)
	}
	return nil
}

func readCalls(r *wire.Reader, m []byte) error {
	for el := span.Elements(span.Member(m, "tool_calls")); el.Next(); {
		f := span.Member(el.Value, "function")
		args, _ := span.Text(span.Member(f, "arguments"))
		if err := r.Add(wire.Step{Kind: wire.Call, ID: wire.Text(el.Value, "id"), Name: wire.Text(f, "name"), Args: args}); err != nil {
			return err
		}
	}
	if f := span.Member(m, "function_call"); len(f) > 0 && f[0] == '{' {
		args, _ := span.Text(span.Member(f, "arguments"))
		return r.Add(wire.Step{Kind: wire.Call, Name: wire.Text(f, "name"), Args: args})
	}
	return nil
}
