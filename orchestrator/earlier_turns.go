package orchestrator

import (
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
)

// What the model is shown of earlier turns, at most.
const (
	maxHistory      = 200
	maxHistoryBytes = 256 << 10
)

// trimHistory drops the oldest turns whole. Half a turn would leave answers whose calls
// the model doesn't see.
func trimHistory(h []llm.Message) []llm.Message {
	n, size := len(h), 0
	for n > 0 && len(h)-n < maxHistory && size <= maxHistoryBytes {
		n--
		size += measureMessage(h[n])
	}
	if size > maxHistoryBytes {
		n++
	}
	for n < len(h) && n > 0 && h[n].Role != llm.RoleUser {
		n++
	}
	return slices.Clone(h[n:])
}

// countBytes is how long messages are together.
func countBytes(list []llm.Message) (n int) {
	for _, m := range list {
		n += measureMessage(m)
	}
	return n
}

// measureMessage is how many bytes of text a message has.
func measureMessage(m llm.Message) int {
	n := len(m.Content)
	for _, k := range m.ToolCalls {
		n += len(k.Name) + len(k.Arguments)
	}
	return n
}
