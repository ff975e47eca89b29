package agents

import (
	"strings"

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
	// Kind is mission, thought, call, result, refusal, error, help or note.
	Kind  string `json:"kind"`
	Skill string `json:"skill,omitempty"`
	Text  string `json:"text"`
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// uniqueIDs gives every call of one answer an id of its own: servers refuse a
// conversation in which two answers carry the same one.
func uniqueIDs(calls []llm.ToolCall) []llm.ToolCall {
	out := make([]llm.ToolCall, len(calls))
	seen := map[string]bool{}
	for i, c := range calls {
		if c.ID == "" || seen[c.ID] {
			c.ID = newCallID(i, seen)
		}
		seen[c.ID] = true
		out[i] = c
	}
	return out
}
