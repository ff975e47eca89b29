package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/plainjson"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
)

// Journal keeps what an agent needs to go on in another process. Its methods
// return once what they were given is durable; an error ends the agent. What
// can't be kept at the moment they may try again: ctx ends when the agent's
// time is over, or a second after the agent's own end where that came later.
type Journal interface {
	// Round is told of an answer of the model with calls in it. None of them
	// is proposed before it has returned.
	Round(ctx context.Context, r Round) error
	// End is told how the agent ended, before anybody else is.
	End(ctx context.Context, r Result) error
}

// Round is what was added to an agent since the round before: what its calls
// returned, what it was told, and the model's next answer, whose calls have
// not been proposed yet. The rounds of an agent, in order, are the agent.
type Round struct {
	V        int      `json:"v"`
	Number   int      `json:"n"` // from 1
	Messages Messages `json:"messages"`
	// Queue are the calls of the answer as the model wrote them.
	Queue Calls `json:"queue,omitempty"`
	// Hidden are the ids of those in Queue whose secret arguments were left out,
	// so that they can't be proposed from here.
	Hidden  []string `json:"hidden,omitempty"`
	Entries []Entry  `json:"entries,omitempty"`
	// Read are the ids of the updates and answers that are in Messages.
	Read []string `json:"read,omitempty"`
	// Calls is how many calls were proposed and answered before this round.
	Calls       int           `json:"calls"`
	Rounds      int           `json:"rounds"` // with the model
	Helps       int           `json:"helps,omitempty"`
	Omitted     int           `json:"omitted,omitempty"` // calls that were not proposed
	Last        bool          `json:"last,omitempty"`
	Nudged      bool          `json:"nudged,omitempty"`
	Interrupted string        `json:"interrupted,omitempty"`
	Started     time.Time     `json:"started"`
	Left        time.Duration `json:"left"` // of the agent's time
}

// roundVersion is the form of Round. One of a later version is not understood;
// the first had nothing hidden.
const roundVersion = 2

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

// checkRounds refuses a history with a hole in it, or of another version.
func checkRounds(list []Round) error {
	for i, r := range list {
		if r.V < 1 || r.V > roundVersion || r.Number != i+1 {
			return fmt.Errorf("an agent's rounds must be numbered from 1 and of version 1 to %d; round %d is not", roundVersion, i+1)
		}
	}
	return nil
}

type saved struct{}

// save writes the round down and goes on to its calls.
func (w *worker) save(c *otp.Context) {
	j := w.a.o.Journal
	if j == nil {
		w.next(c)
		return
	}
	w.saves++
	r := Round{
		V: roundVersion, Number: w.saves, Messages: w.messages[w.saved:], Queue: w.queue,
		Entries: w.entries[max(0, len(w.entries)-w.noted):], Read: w.read, Calls: w.calls, Rounds: w.rounds, Helps: w.helps, Omitted: w.omitted,
		Last: w.last, Nudged: w.nudged, Interrupted: w.interrupted, Started: w.started, Left: w.remaining(),
	}
	w.conceal(&r)
	w.saved, w.noted, w.read = len(w.messages), 0, nil
	w.saving = true
	w.start(c, func(ctx context.Context) (any, error) { return saved{}, j.Round(ctx, r) })
}

// savedRound goes on after a round is durable.
func (w *worker) savedRound(c *otp.Context, m otp.TaskResult) {
	w.saving = false
	if _, ok := m.Value.(saved); !ok {
		w.finish(c, Failed, "", "what the agent did could not be written down")
		return
	}
	w.next(c)
}

// restore puts the agent to where its rounds end.
func (w *worker) restore(list []Round) {
	for _, r := range list {
		for _, m := range r.Messages {
			w.say(m)
		}
		w.entries = append(w.entries, r.Entries...)
		for _, id := range r.Read {
			w.told(id)
		}
	}
	if len(w.entries) > maxEntries {
		w.entries = w.entries[len(w.entries)-maxEntries:]
	}
	r := list[len(list)-1]
	w.saves, w.saved = len(list), len(w.messages)
	w.hidden = r.Hidden
	w.queue, w.calls, w.rounds, w.helps, w.omitted = r.Queue, r.Calls, r.Rounds, r.Helps, r.Omitted
	w.last, w.nudged, w.interrupted = r.Last, r.Nudged, r.Interrupted
	w.started, w.left = r.Started, min(max(r.Left, time.Second), w.a.o.Timeout)
}

// helpAhead reports whether a call for help of this answer is still to be made.
func (w *worker) helpAhead() bool {
	for _, k := range w.queue {
		if k.Name == ToolRequestHelp {
			return true
		}
	}
	return false
}

// told reports whether an update or answer is new, and takes note of it.
func (w *worker) told(id string) bool {
	if id == "" {
		return true
	}
	if w.known[id] {
		return false
	}
	if w.known == nil {
		w.known = map[string]bool{}
	}
	w.known[id] = true
	return true
}

// took notes that the words of that id are in the messages now.
func (w *worker) took(id string) {
	if id != "" {
		w.read = append(w.read, id)
	}
}

var errOnce = errors.New("agents: an agent runs once; make a new one")
