package loop

import (
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/textcut"
)

// The bounds of what a model's answers add to the conversation with it.
const (
	// MaxCallsHeard is how many calls of one answer are heard.
	MaxCallsHeard = 64
	// MaxMessages is how many bytes all messages of one agent, or of one turn of
	// its orchestrator, may have. It is more text than models read at once. A loop that
	// reaches it asks once more, without tools. Only an answer's text may go
	// beyond it, by MaxAnswer, and the short replies to its calls.
	MaxMessages = 4 << 20
	// MaxAnswer is how many bytes of a model's text are kept. No honest answer is longer. A
	// server may send more than a journal takes.
	MaxAnswer = 256 << 10

	minReply = 512       // bytes of a reply that are kept however little room there is
	maxTool  = 256       // bytes of a tool's name that are kept
	maxEcho  = 256 << 10 // bytes of arguments that are sent back to the model
)

// Room is what is left of MaxMessages. Its zero value has all of it.
type Room struct{ used int }

// Take counts a message that is part of the conversation now.
func (r *Room) Take(m llm.Message) {
	r.used += len(m.Content) + len(m.ToolCallID)
	for _, k := range m.ToolCalls {
		r.used += len(k.ID) + len(k.Name) + len(k.Arguments)
	}
}

// Fit returns the text, cut to what there is room for, with a line behind it
// that says so.
func (r *Room) Fit(text string) string { return Cut(text, max(r.Left(), minReply)) }

// FitCalls returns the calls as the conversation keeps them: of arguments that
// are too long, or that there is no room for, it has the length alone.
func (r *Room) FitCalls(calls []llm.ToolCall) []llm.ToolCall {
	out, left := slices.Clone(calls), r.Left()
	for i := range out {
		k := &out[i]
		k.Name = textcut.Head(k.Name, maxTool)
		if n := len(k.Arguments); n > maxEcho || n > left {
			k.Arguments = EncodeJSON(map[string]int{"omitted_bytes": n})
		}
		left -= len(k.Name) + len(k.Arguments)
	}
	return out
}

// Left is how many bytes there is room for, zero at least.
func (r *Room) Left() int { return max(MaxMessages-r.used, 0) }

// Spent reports whether there is room for no further round.
func (r *Room) Spent() bool { return r.Left() <= minReply }

// Cut returns a text of at most n bytes whole, of a longer one the beginning, cut
// between two characters, with a line behind it that says so.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return textcut.Head(s, n) + "\n[cut here: the text was too long]"
}
