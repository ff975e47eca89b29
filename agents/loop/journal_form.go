package loop

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/plainjson"
)

// Messages are messages in a form that a journal can hold: JSON that comes back
// as it was, arguments that are no text included.
type Messages []llm.Message

// Calls are calls in a form that a journal can hold. Arguments longer than any
// checkpoint takes are cut: the call will be refused for its length all the same.
type Calls []llm.ToolCall

// maxKeptArgs is a byte more than any skill's arguments may have.
const maxKeptArgs = 1<<20 + 1

type keptMessage struct {
	Role    string `json:"role"`
	Content string `json:"content,omitempty"`
	Name    string `json:"name,omitempty"`
	Calls   Calls  `json:"calls,omitempty"`
	Answers string `json:"answers,omitempty"`
}

type keptCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args,omitempty"`
	Raw  []byte `json:"raw,omitempty"` // in place of Args where those are no text
}

// MarshalJSON returns the messages as JSON.
func (m Messages) MarshalJSON() ([]byte, error) {
	out := make([]keptMessage, len(m))
	for i, k := range m {
		out[i] = keptMessage{k.Role, k.Content, k.Name, k.ToolCalls, k.ToolCallID}
	}
	return plainjson.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Messages) UnmarshalJSON(b []byte) error {
	var in []keptMessage
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*m = nil
	for _, k := range in {
		*m = append(*m, llm.Message{Role: k.Role, Content: k.Content, Name: k.Name, ToolCalls: k.Calls, ToolCallID: k.Answers})
	}
	return nil
}

// MarshalJSON returns the calls as JSON.
func (c Calls) MarshalJSON() ([]byte, error) {
	out := make([]keptCall, len(c))
	for i, k := range c {
		args := k.Arguments[:min(len(k.Arguments), maxKeptArgs)]
		out[i] = keptCall{ID: k.ID, Name: k.Name, Args: args}
		if !utf8.ValidString(args) {
			out[i].Args, out[i].Raw = "", []byte(args)
		}
	}
	return plainjson.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Calls) UnmarshalJSON(b []byte) error {
	var in []keptCall
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*c = nil
	for _, k := range in {
		if k.Raw != nil {
			k.Args = string(k.Raw)
		}
		*c = append(*c, llm.ToolCall{ID: k.ID, Name: k.Name, Arguments: k.Args})
	}
	return nil
}
