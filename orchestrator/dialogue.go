package orchestrator

import (
	"slices"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
)

// What the model is shown of earlier turns, at most.
const (
	maxHistory      = 200
	maxHistoryBytes = 256 << 10
)

// dialogue is what is said between a turn and its model.
type dialogue struct {
	// messages are what the model is shown; from base on they are this turn's,
	// and up to saved the journal has them. They are only added to.
	messages    []llm.Message
	echo        []llm.Message // the same, as far as a model was shown them, in a form that servers take
	base, saved int
	texts       agents.Room // the room that this turn's messages leave
}

// addMessage adds a message of this turn.
func (d *dialogue) addMessage(m llm.Message) {
	d.texts.Take(m)
	d.messages = append(d.messages, m)
}

// echoMessages returns all messages in a form that servers take.
func (d *dialogue) echoMessages() []llm.Message {
	d.echo = append(d.echo, agents.EchoMessages(d.messages[len(d.echo):])...)
	return slices.Clip(d.echo)
}

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
