package agents

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
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
	V        int           `json:"v"`
	Number   int           `json:"n"` // from 1
	Messages loop.Messages `json:"messages"`
	// Queue are the calls of the answer as the model wrote them.
	Queue loop.Calls `json:"queue,omitempty"`
	// Hidden are the ids of those in Queue whose secret arguments were left out,
	// so that they can't be proposed from here.
	Hidden  []string `json:"hidden,omitempty"`
	Entries []Entry  `json:"entries,omitempty"`
	// Read are the ids of the updates and answers that are in Messages.
	Read []string `json:"read,omitempty"`
	// Proposed is how many calls were proposed and answered before this round.
	Proposed  int `json:"calls"`
	Questions int `json:"rounds"` // to the model
	Helps     int `json:"helps,omitempty"`
	Omitted   int `json:"omitted,omitempty"` // calls that were not proposed
	// WithoutTools says that the model gets no tools any more.
	WithoutTools bool          `json:"last,omitempty"`
	Nudged       bool          `json:"nudged,omitempty"`
	Interrupted  string        `json:"interrupted,omitempty"`
	Started      time.Time     `json:"started"`
	Left         time.Duration `json:"left"` // of the agent's time
}

// roundVersion is the form of Round. One of a later version is not understood;
// the first had nothing hidden.
const roundVersion = 2

// checkRounds refuses a history with a hole in it, or of another version.
func checkRounds(list []Round) error {
	for i, r := range list {
		if r.V < 1 || r.V > roundVersion || r.Number != i+1 {
			return fmt.Errorf("an agent's rounds must be numbered from 1 and of version 1 to %d; round %d is not", roundVersion, i+1)
		}
	}
	return nil
}

// PrepareRound implements loop.Book. An agent without a journal writes nothing.
func (w *worker) PrepareRound(added loop.Round) func(context.Context) error {
	j := w.a.o.Journal
	if j == nil {
		return nil
	}
	r := Round{
		V: roundVersion, Number: added.Records, Entries: w.entries[max(0, len(w.entries)-w.noted):], Read: w.read,
		Proposed: added.Proposed, Questions: added.Questions, Helps: w.helps, Omitted: added.Omitted,
		WithoutTools: added.WithoutTools, Nudged: added.Nudged,
		Interrupted: w.interrupted, Started: w.started, Left: w.remainingTime(),
	}
	r.Messages, _ = loop.HideMessages(added.Messages, w.hideCallSecrets)
	r.Queue, r.Hidden = loop.HideCalls(added.Calls, w.hideCallSecrets)
	w.noted, w.read = 0, nil
	return func(ctx context.Context) error { return j.Round(ctx, r) }
}

// restoreRounds puts the agent to where its rounds end.
func (w *worker) restoreRounds(list []Round) {
	r := list[len(list)-1]
	whole := loop.Round{Calls: r.Queue, Counts: loop.Counts{
		Questions: r.Questions, Records: len(list), Proposed: r.Proposed, Omitted: r.Omitted, WithoutTools: r.WithoutTools, Nudged: r.Nudged,
	}}
	for _, before := range list {
		whole.Messages = append(whole.Messages, before.Messages...)
		w.entries = append(w.entries, before.Entries...)
		for _, id := range before.Read {
			w.rememberWords(id)
		}
	}
	if len(w.entries) > maxEntries {
		w.entries = w.entries[len(w.entries)-maxEntries:]
	}
	w.loop.Restore(whole, r.Hidden)
	w.helps, w.interrupted = r.Helps, r.Interrupted
	w.started, w.left = r.Started, min(max(r.Left, time.Second), w.a.o.Timeout)
}

// hasHelpAhead reports whether a call for help of this answer is still to be made.
func (w *worker) hasHelpAhead() bool {
	return slices.ContainsFunc(w.loop.CallsLeft(), func(k llm.ToolCall) bool { return k.Name == ToolRequestHelp })
}

// rememberWords reports whether an update or answer is new, and takes note of it.
func (w *worker) rememberWords(id string) bool {
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

// markWordsRead notes that the words of that id are in the messages now.
func (w *worker) markWordsRead(id string) {
	if id != "" {
		w.read = append(w.read, id)
	}
}
