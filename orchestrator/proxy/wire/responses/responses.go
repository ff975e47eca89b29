// Package responses reads requests to the Responses API of OpenAI.
//
// User turns are the input's text, or messages of the role user in it. Calls are function_call items, results
// function_call_output items. What the provider ran itself is foreign text, and so is a conversation that the
// provider keeps: what was said in it isn't in the request. A tool of a remote server, which the provider calls after
// the client's yes, is named mcp__SERVER__TOOL; its parameters are those of an mcp_list_tools item in the input.
//
// What it refuses: answers in the background. They are fetched later, past the proxy.
//
// The package isn't stable: docs/api.md lists those that are.
package responses

import (
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire/openai"
	"github.com/vedette-dev/vedette/sentinel/stream"
	codec "github.com/vedette-dev/vedette/sentinel/stream/responses"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// Format is the format of responses.
type Format struct{}

// NewCodec returns what reads and writes one answer.
func (Format) NewCodec() stream.Codec { return codec.New() }

// NewBody returns what reads and writes one answer that isn't streamed.
func (Format) NewBody() stream.BodyCodec { return codec.New() }

// ToolName is the call's name, with its server's where it has one.
func (Format) ToolName(c stream.Call) string {
	if c.Server == "" {
		return c.Name
	}
	return nameRemote(c.Server, c.Name)
}

// nameRemote names a tool of a remote server. Two servers never share a name.
func nameRemote(server, tool string) string {
	if strings.Contains(server, "__") || strings.HasSuffix(server, "_") || strings.Contains(server, "%") {
		server = strings.NewReplacer("%", "%25", "_", "%5f").Replace(server)
	}
	return "mcp__" + server + "__" + tool
}

// WriteError returns the body of an error.
func (Format) WriteError(e wire.Error) []byte { return openai.WriteError(e) }

// Read reads a request.
func (Format) Read(body []byte) (*wire.Request, error) {
	r := &wire.Reader{}
	body, err := r.Begin(body)
	if err != nil {
		return nil, err
	}
	if string(span.Member(body, "background")) == "true" {
		return nil, wire.Invalid("background isn't supported: the answer would be fetched past the proxy")
	}
	for el := span.Elements(span.Member(body, "tools")); el.Next(); {
		if wire.Text(el.Value, "type") != "function" {
			continue // the provider runs it, or its calls are blocked
		}
		if err := r.AddTool(openai.ReadFunction(el.Value)); err != nil {
			return nil, err
		}
	}
	for _, kept := range []string{"previous_response_id", "conversation", "prompt"} {
		if v := span.Member(body, kept); len(v) > 0 && !span.IsEmpty(v) {
			if err := r.Add(wire.Step{Kind: wire.Foreign}); err != nil {
				return nil, err
			}
		}
	}
	return readInput(r, span.Member(body, "input"))
}

func readInput(r *wire.Reader, input []byte) (*wire.Request, error) {
	if text, ok := span.Text(input); ok {
		err := r.Add(wire.Step{Kind: wire.User, Text: wire.OwnText(string(text))})
		return &r.Request, err
	}
	if len(input) == 0 || input[0] != '[' {
		return nil, wire.Invalid("input must be a text or a list")
	}
	for el := span.Elements(input); el.Next(); {
		if err := readItem(r, el.Value); err != nil {
			return nil, err
		}
	}
	return &r.Request, nil
}

func readItem(r *wire.Reader, item []byte) error {
	switch typ := wire.Text(item, "type"); typ {
	case "", "message":
		return readMessage(r, item)
	case "function_call":
		args, _ := span.Text(span.Member(item, "arguments"))
		return r.Add(wire.Step{Kind: wire.Call, ID: wire.Text(item, "call_id"), Name: wire.Text(item, "name"), Args: args})
	case "function_call_output":
		return r.Add(wire.Step{Kind: wire.Result, ID: wire.Text(item, "call_id"), Text: openai.ReadOutput(span.Member(item, "output"))})
	case "mcp_list_tools":
		return readRemoteTools(r, item)
	case "reasoning", "mcp_approval_request", "mcp_approval_response":
		return nil
	}
	return r.Add(wire.Step{Kind: wire.Foreign})
}

func readMessage(r *wire.Reader, m []byte) error {
	if wire.Text(m, "role") != "user" {
		return nil
	}
	texts, other := wire.Parts(span.Member(m, "content"), "input_text", "text")
	for i := range texts {
		texts[i] = wire.OwnText(texts[i])
	}
	if other {
		if err := r.Add(wire.Step{Kind: wire.Foreign}); err != nil {
			return err
		}
	}
	return r.Add(wire.Step{Kind: wire.User, Text: strings.Join(texts, "\n\n")})
}

// readRemoteTools reads the tools that a remote server had listed.
func readRemoteTools(r *wire.Reader, item []byte) error {
	server := wire.Text(item, "server_label")
	for el := span.Elements(span.Member(item, "tools")); el.Next(); {
		t := wire.Tool{Name: nameRemote(server, wire.Text(el.Value, "name")), Description: wire.Text(el.Value, "description"),
			Parameters: span.Member(el.Value, "input_schema")}
		if err := r.AddTool(t); err != nil {
			return err
		}
	}
	return nil
}
