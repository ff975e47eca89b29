package agents

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/internal/textcut"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// worker is the agent's process: a state machine that talks to the model and
// proposes calls, one at a time, each in a supervised goroutine.
//
// While it is Running or AwaitingApproval exactly one task is under way: a
// skill call where current is set, a model call otherwise. While it is
// AwaitingOrchestrator there is none. Beside it, ahead may be under way.
type worker struct {
	a      *Agent
	skills []*skills.Skill
	parent otp.Ref // monitor of the parent

	messages []llm.Message  // without the system message
	room     Room           // that they leave
	omitted  int            // calls that were not proposed
	entries  []Entry        // only appended to or replaced: snapshots share it
	queue    []llm.ToolCall // calls of the last answer that are still to be proposed
	hidden   []string       // ids of those whose secrets an earlier process did not keep
	updates  []Update
	early    []Answer // to calls for help that a restored agent has yet to make again

	// What the journal has: messages up to saved, saves rounds; noted entries
	// and the ids in read are for the next.
	saves, saved, noted int
	read                []string
	known               map[string]bool // ids of updates and answers; nil before the first
	saving              bool            // the task under way is the journal's

	task    otp.Ref // the model call or skill call under way, zero if none is
	ahead   otp.Ref // what is judged before its turn, zero if nothing is
	fresh   bool    // the queue is a new answer's
	call    llm.ToolCall
	current string

	state   State
	help    string
	helps   int
	started time.Time
	left    time.Duration // of the agent's time, as of armed
	armed   time.Time
	timer   otp.Ref
	waiting otp.Ref // for the orchestrator

	calls, rounds int
	nudged, last  bool
	interrupted   string
	end           *Result // that is being written down; the task under way is the journal's
}

type (
	deadline struct{}
	noHelp   struct{}
)

// Init starts the agent's clock and asks the model for the first time.
func (w *worker) Init(c *otp.Context) error {
	if !w.a.started.CompareAndSwap(false, true) {
		return errOnce
	}
	if p := w.a.o.Parent; !p.IsZero() {
		w.parent = c.Monitor(p)
	}
	w.add(w.a.o.Skills)
	w.started, w.left, w.state = time.Now(), w.a.o.Timeout, Running
	if len(w.a.o.Rounds) > 0 {
		w.restore(w.a.o.Rounds)
		w.arm(c)
		for _, u := range w.a.o.Updates {
			w.updated(u)
		}
		for _, m := range w.a.o.Answers {
			w.answered(c, m)
		}
		w.next(c)
		return nil
	}
	for _, id := range w.a.o.Heard {
		w.told(id)
		w.took(id)
	}
	w.say(w.opening())
	w.note(Entry{Kind: "mission", Text: w.a.o.Mission})
	w.arm(c)
	w.ask(c)
	return nil
}

// Handle takes the parent's messages, timers and the ends of calls.
func (w *worker) Handle(c *otp.Context, msg any) {
	if w.end != nil {
		w.closing(c, msg)
		return
	}
	switch m := msg.(type) {
	case otp.TaskResult:
		if m.Ref == w.task { // not one that was given up
			w.task = 0
			w.ended(c, m)
		}
	case deadline:
		w.finish(c, TimedOut, "", "the agent's time of "+w.a.o.Timeout.String()+" is over")
	case noHelp:
		w.resume(c, failed("no_answer", "The orchestrator did not answer. Go on without."))
	case Cancel: // the parent knows, so it isn't written down here
		c.CancelTaskFor(w.task, skills.ErrWithdrawn)
		w.over(c, Cancelled, "", m.Reason)
	case otp.Down: // the agent may be restored, so this is no end to write down
		if m.Ref == w.parent {
			w.over(c, Cancelled, "", "the agent's parent ended")
		}
	case Interrupt:
		w.interrupt(c, m)
	case Update:
		w.updated(m)
	case Answer:
		w.answered(c, m)
	case Held: // one that comes after its call's end would stop the clock for good
		if w.current != "" {
			w.pause(c, AwaitingApproval)
		}
	case Released:
		if w.state == AwaitingApproval {
			w.proceed(c)
		}
	}
}

// Terminate leaves a final state behind when the agent is stopped from above
// or has crashed.
func (w *worker) Terminate(_ *otp.Context, r otp.Reason) {
	if w.state.Done() {
		return
	}
	w.state = Cancelled
	reason := "the agent was stopped"
	if r.Kind == otp.KindCrash {
		w.state, reason = Failed, "the agent crashed"
	}
	w.publish("", reason)
}

// arm starts the clock for what is left of the agent's time.
func (w *worker) arm(c *otp.Context) {
	w.armed = time.Now()
	w.timer = c.SendAfter(w.left, deadline{})
}

// remaining is what is left of the agent's time, at least a second. An agent whose wait
// for an answer failed has that second to report the failure.
func (w *worker) remaining() time.Duration {
	if w.state == Running {
		return max(w.left-time.Since(w.armed), time.Second)
	}
	return max(w.left, time.Second)
}

// pause stops the clock: waiting for people is not the agent's time.
func (w *worker) pause(c *otp.Context, s State) {
	if w.state != Running {
		return
	}
	c.CancelTimer(w.timer)
	w.left = w.remaining()
	w.state = s
	w.publish("", "")
}

func (w *worker) proceed(c *otp.Context) {
	w.state, w.help = Running, ""
	w.arm(c)
	w.publish("", "")
}

// add extends the list of skills and returns how many were new to it.
func (w *worker) add(list []*skills.Skill) (added int) {
	for _, s := range list {
		known := func(x *skills.Skill) bool { return x.Name() == s.Name() }
		if s != nil && !slices.ContainsFunc(w.skills, known) {
			w.skills = append(w.skills, s)
			added++
		}
	}
	return added
}

func (w *worker) updated(m Update) {
	if w.told(m.ID) {
		w.update(m)
	}
}

func (w *worker) update(m Update) {
	if m.Text != "" {
		w.updates = append(w.updates, m)
	}
}

// interrupt ends the agent with what it has, after the call under way.
func (w *worker) interrupt(c *otp.Context, m Interrupt) {
	if w.interrupted != "" {
		return
	}
	asked := w.last // for the report already
	w.interrupted, w.last = m.Reason, true
	if w.interrupted == "" {
		w.interrupted = "the agent was interrupted"
	}
	switch {
	case w.state == AwaitingOrchestrator:
		w.resume(c, failed("interrupted", "Report what you have."))
	case w.saving: // the calls are dropped when the round is durable
	case w.current == "" && !asked:
		c.CancelTask(w.task)
		w.ask(c)
	}
}

func (w *worker) note(e Entry) {
	e.Text = textcut.Head(e.Text, maxEntryText)
	if len(w.entries) >= maxEntries {
		w.entries = slices.Clone(w.entries[1:])
	}
	w.entries = append(w.entries, e)
	w.noted++
}

// finish ends the agent: the result is written down, for which it has what is
// left of its time, then published, then the parent is told. Nothing may be done
// after it.
func (w *worker) finish(c *otp.Context, s State, text, reason string) {
	j := w.a.o.Journal
	if j == nil {
		w.over(c, s, text, reason)
		return
	}
	if w.task != 0 {
		c.CancelTaskFor(w.task, skills.ErrWithdrawn)
	}
	w.stopPrejudging(c)
	c.CancelTimer(w.timer)
	left := w.remaining()
	r := Result{Agent: w.a.o.ID, State: s, Answer: text, Reason: reason, Calls: w.calls, Omitted: w.omitted, Took: time.Since(w.started)}
	w.end = &r
	w.task = c.Async(left, func(ctx context.Context) (any, error) { return saved{}, j.End(ctx, r) })
}

// closing takes messages of an agent that has ended and is being written down:
// only that, or the end of the one who would read it, is of interest.
func (w *worker) closing(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case otp.TaskResult:
		if m.Ref != w.task {
			return
		}
		if m.Err != nil {
			w.over(c, Failed, "", "how the agent ended could not be written down")
			return
		}
		w.over(c, w.end.State, w.end.Answer, w.end.Reason)
	case Cancel:
		w.over(c, Cancelled, "", m.Reason)
	case otp.Down:
		if m.Ref == w.parent {
			w.over(c, Cancelled, "", "the agent's parent ended")
		}
	}
}

// over publishes the result, tells the parent and ends the process.
func (w *worker) over(c *otp.Context, s State, text, reason string) {
	w.state = s
	r := w.publish(text, reason)
	w.a.o.Parent.Send(Finished{r})
	c.Stop(otp.Normal())
}

// publish stores a snapshot for callers of Agent.Snapshot.
func (w *worker) publish(text, reason string) Result {
	r := Result{Agent: w.a.o.ID, State: w.state, Answer: text, Reason: reason, Calls: w.calls, Omitted: w.omitted, Took: time.Since(w.started)}
	w.a.snap.Store(&Snapshot{Result: r, Current: w.current, Help: w.help, Transcript: slices.Clip(w.entries)})
	return r
}
