package loop

import (
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Dialogue is what is said between a loop and its model. Messages are only added to.
type Dialogue struct {
	// Room is what the loop's own messages leave.
	Room Room

	messages    []llm.Message // from base on they are the loop's own; up to saved the journal has them
	echo        []llm.Message // the same, as far as a model was shown them, in a form that servers take
	base, saved int
}

// Begin sets the messages that stand before the loop's own. They take no room, and the
// loop's rounds don't hold them.
func (d *Dialogue) Begin(earlier []llm.Message) {
	d.messages, d.base = earlier, len(earlier)
	d.MarkSaved()
}

// Say adds a message.
func (d *Dialogue) Say(m llm.Message) {
	d.Room.Take(m)
	d.messages = append(d.messages, m)
}

// Messages are all messages, not to be changed.
func (d *Dialogue) Messages() []llm.Message { return d.messages }

// OwnMessages are those that were added to what Begin was given.
func (d *Dialogue) OwnMessages() []llm.Message { return d.messages[d.base:] }

// EchoMessages returns all messages in a form that servers take. What was put into that
// form once stays as it is.
func (d *Dialogue) EchoMessages() []llm.Message {
	d.echo = append(d.echo, echoMessages(d.messages[len(d.echo):])...)
	return slices.Clip(d.echo)
}

// MarkSaved notes that the journal has every message, or will have.
func (d *Dialogue) MarkSaved() { d.saved = len(d.messages) }

// unsavedMessages are those that the journal doesn't have.
func (d *Dialogue) unsavedMessages() []llm.Message { return d.messages[d.saved:] }
