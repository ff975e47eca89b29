package agents

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/agents/llm"
)

// The limits of a transcript: the oldest entries go first.
const (
	maxEntries   = 100
	maxEntryText = 2_000
)

// Entry is one line of an agent's transcript, for the orchestrator's model and
// for people. It may hold values.
type Entry struct {
	// Kind is mission, update, thought, call, result, refusal, error or help.
	Kind  string `json:"kind"`
	Skill string `json:"skill,omitempty"`
	Text  string `json:"text"`
}

// MaxAnswer is how many bytes of a model's text are kept. More than models write
// who mean it; what a server may send is more than a journal takes.
const MaxAnswer = 256 << 10

// Cut returns a text of at most n bytes whole, of a longer one the beginning, cut
// between two characters, with a line behind it that says so.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return textcut.Head(s, n) + "\n[cut here: the text was too long]"
}

// echoed are calls as the conversation repeats them to the model. What a
// server would refuse there, and the agent would die of, is put into a form
// that it takes; what is proposed is not touched by this.
func echoed(calls []llm.ToolCall) []llm.ToolCall {
	out := slices.Clone(calls)
	for i := range out {
		k := &out[i]
		if !toolName(k.Name) {
			k.Name = "unknown_tool"
		}
		switch a := jsontext.Value(k.Arguments); {
		case len(a) == 0:
			k.Arguments = "{}"
		case len(a) > maxEcho:
			k.Arguments = encode(map[string]int{"omitted_bytes": len(a)})
		case a.Kind() != '{' || !json.Valid(a):
			k.Arguments = encode(map[string]string{"malformed": textcut.Head(k.Arguments, maxEntryText)})
		}
	}
	return out
}

func toolName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
