package scripted

import (
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

const eventStream = "text/event-stream; charset=utf-8"

// pieceSize is about how many bytes of text one event carries.
const pieceSize = 8

// chunk is one event of a stream.
type chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
}

// countedChunk is a chunk of a stream whose client asked for the usage: null
// until the last one.
type countedChunk struct {
	chunk
	Usage *usage `json:"usage"`
}

// chunkChoice is the choice of a chunk.
type chunkChoice struct {
	Index        int       `json:"index"`
	Delta        delta     `json:"delta"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

// delta is what a chunk adds. A nil Content is left out but for the first
// delta of an answer that only calls.
type delta struct {
	Role      string      `json:"role,omitempty"`
	Content   any         `json:"content,omitzero"`
	Refusal   *string     `json:"refusal,omitempty"`
	ToolCalls []toolDelta `json:"tool_calls,omitempty"`
}

// toolDelta is what a chunk adds to a tool call.
type toolDelta struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function functionDelta `json:"function"`
}

// functionDelta is what a chunk adds to a function's name or arguments.
type functionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// encodeEvents turns an answer into the events of a stream. They are the role, the texts
// in pieces, each call's name and then its arguments in pieces, the finish reason in an
// event of its own, the usage if it was asked for, and [DONE].
func (c *completion) encodeEvents(withUsage bool) ([][]byte, error) {
	var out [][]byte
	add := func(choices []chunkChoice, u *usage) error {
		ch := chunk{ID: c.ID, Object: "chat.completion.chunk", Created: c.Created, Model: c.Model, Choices: choices}
		var v any = ch
		if withUsage {
			v = countedChunk{ch, u}
		}
		b, err := plainjson.Marshal(v)
		if err == nil {
			out = append(out, frameEvent(b))
		}
		return err
	}
	for _, ch := range c.Choices {
		for _, d := range ch.Message.splitDeltas() {
			if err := add([]chunkChoice{{Index: ch.Index, Delta: d}}, nil); err != nil {
				return nil, err
			}
		}
		finish := ch.FinishReason
		if err := add([]chunkChoice{{Index: ch.Index, FinishReason: &finish}}, nil); err != nil {
			return nil, err
		}
	}
	if withUsage {
		if err := add([]chunkChoice{}, &c.Usage); err != nil {
			return nil, err
		}
	}
	return append(out, frameEvent([]byte("[DONE]"))), nil
}

// frameEvent returns data as one event of a stream.
func frameEvent(b []byte) []byte { return append(append([]byte("data: "), b...), "\n\n"...) }

// null is written as null, where nil is left out.
type null struct{}

// MarshalJSON returns null.
func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// splitDeltas returns the message as the deltas of a stream.
func (m *spoken) splitDeltas() []delta {
	first := delta{Role: m.Role, Content: ""}
	if m.Content == nil {
		first.Content = &null{}
	}
	out := []delta{first}
	if m.Content != nil {
		for _, p := range cutPieces(*m.Content) {
			out = append(out, delta{Content: p})
		}
	}
	if m.Refusal != nil {
		for _, p := range cutPieces(*m.Refusal) {
			out = append(out, delta{Refusal: &p})
		}
	}
	for i, tc := range m.ToolCalls {
		out = append(out, delta{ToolCalls: []toolDelta{{Index: i, ID: tc.ID, Type: tc.Type, Function: functionDelta{Name: tc.Function.Name}}}})
		for _, p := range cutPieces(tc.Function.Arguments) {
			out = append(out, delta{ToolCalls: []toolDelta{{Index: i, Function: functionDelta{Arguments: p}}}})
		}
	}
	return out
}

// cutPieces cuts a text into pieces between characters.
func cutPieces(s string) []string {
	var out []string
	for len(s) > pieceSize {
		n := pieceSize
		for n > 1 && !utf8.RuneStart(s[n]) {
			n--
		}
		out, s = append(out, s[:n]), s[n:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}
