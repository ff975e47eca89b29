package agents

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/skills"
)

// worker is the agent's process: a loop.Loop whose calls are proposed to a desk, one at a
// time, each in a supervised goroutine.
//
// While it is Running or AwaitingApproval exactly one task of the loop is under way.
// While it is AwaitingOrchestrator there is none.
type worker struct {
	a      *Agent
	skills []*skills.Skill
	parent otp.Ref // monitor of the parent
	loop   loop.Loop

	entries []Entry // only appended to or replaced: snapshots share it
	updates []Update
	early   []Answer // to calls for help that a restored agent has yet to make again

	// The journal's next round has the newest entries, noted of them, and the ids in read.
	noted int
	read  []string
	known map[string]bool // ids of updates and answers; nil before the first

	current string // what the call under way names
	state   State
	help    string
	helps   int
	started time.Time
	left    time.Duration // of the agent's time, as of armed
	armed   time.Time
	timer   otp.Ref
	waiting otp.Ref // for the orchestrator

	interrupted string
	end         *Result // that is being written down
	ending      otp.Ref // the task that does so
}

type (
	deadline struct{}
	noHelp   struct{}
)

var errOnce = errors.New("agents: an agent runs once; make a new one")

// Init starts the agent's clock and asks the model for the first time.
func (w *worker) Init(c *otp.Context) error {
	if !w.a.started.CompareAndSwap(false, true) {
		return errOnce
	}
	if p := w.a.o.Parent; !p.IsZero() {
		w.parent = c.Monitor(p)
	}
	w.addSkills(w.a.o.Skills)
	w.loop = loop.New(w, w.buildLoopRules())
	w.started, w.left, w.state = time.Now(), w.a.o.Timeout, Running
	if len(w.a.o.Rounds) > 0 {
		w.restoreRounds(w.a.o.Rounds)
		w.startClock(c)
		for _, u := range w.a.o.Updates {
			w.onUpdate(u)
		}
		for _, m := range w.a.o.Answers {
			w.onHelpAnswer(c, m)
		}
		w.loop.Next(c)
		return nil
	}
	for _, id := range w.a.o.Heard {
		w.rememberWords(id)
		w.markWordsRead(id)
	}
	w.loop.Say(w.buildOpening())
	w.addTranscriptEntry(Entry{Kind: "mission", Text: w.a.o.Mission})
	w.startClock(c)
	w.loop.Ask(c)
	return nil
}

// Handle takes the parent's messages, timers and the ends of calls.
func (w *worker) Handle(c *otp.Context, msg any) {
	if w.end != nil {
		w.onEndMessage(c, msg)
		return
	}
	switch m := msg.(type) {
	case otp.TaskResult:
		if kind := w.loop.TakeEnd(m.Ref); kind != loop.TaskNone { // not one that was given up
			w.loop.OnTaskEnd(c, kind, m)
		}
	case deadline:
		w.finishMission(c, TimedOut, "", "the agent's time of "+w.a.o.Timeout.String()+" is over")
	case noHelp:
		w.endHelpWait(c, loop.DescribeFailure("no_answer", "The orchestrator did not answer. Go on without."))
	case Cancel: // the parent knows, so it isn't written down here
		w.loop.Withdraw(c)
		w.endAgent(c, Cancelled, "", m.Reason)
	case otp.Down: // the agent may be restored, so this is no end to write down
		if m.Ref == w.parent {
			w.endAgent(c, Cancelled, "", "the agent's parent ended")
		}
	case Interrupt:
		w.onInterrupt(c, m)
	case Update:
		w.onUpdate(m)
	case Answer:
		w.onHelpAnswer(c, m)
	case Held: // one that comes after its call's end would stop the clock for good
		if w.current != "" {
			w.pauseWork(c, AwaitingApproval)
		}
	case Released:
		if w.state == AwaitingApproval {
			w.resumeWork(c)
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
	w.publishSnapshot("", reason)
}

// startClock starts the clock for what is left of the agent's time.
func (w *worker) startClock(c *otp.Context) {
	w.armed = time.Now()
	w.timer = c.SendAfter(w.left, deadline{})
}

// remainingTime is what is left of the agent's time, at least a second. An agent whose wait
// for an answer failed has that second to report the failure.
func (w *worker) remainingTime() time.Duration {
	if w.state == Running {
		return max(w.left-time.Since(w.armed), time.Second)
	}
	return max(w.left, time.Second)
}

// pauseWork stops the clock: waiting for people is not the agent's time.
func (w *worker) pauseWork(c *otp.Context, s State) {
	if w.state != Running {
		return
	}
	c.CancelTimer(w.timer)
	w.left = w.remainingTime()
	w.state = s
	w.publishSnapshot("", "")
}

// resumeWork lets the clock run again.
func (w *worker) resumeWork(c *otp.Context) {
	w.state, w.help = Running, ""
	w.startClock(c)
	w.publishSnapshot("", "")
}

// addSkills extends the list of skills and returns how many were new to it.
func (w *worker) addSkills(list []*skills.Skill) (added int) {
	for _, s := range list {
		known := func(x *skills.Skill) bool { return x.Name() == s.Name() }
		if s != nil && !slices.ContainsFunc(w.skills, known) {
			w.skills = append(w.skills, s)
			added++
		}
	}
	return added
}

// onUpdate takes words of the orchestrator that the agent doesn't have yet.
func (w *worker) onUpdate(m Update) {
	if w.rememberWords(m.ID) {
		w.queueUpdate(m)
	}
}

// queueUpdate keeps words for the next question.
func (w *worker) queueUpdate(m Update) {
	if m.Text != "" {
		w.updates = append(w.updates, m)
	}
}

// onInterrupt ends the agent with what it has, after the call under way.
func (w *worker) onInterrupt(c *otp.Context, m Interrupt) {
	if w.interrupted != "" {
		return
	}
	asked := w.loop.WithoutTools // for the report already
	w.interrupted, w.loop.WithoutTools = m.Reason, true
	if w.interrupted == "" {
		w.interrupted = "the agent was interrupted"
	}
	switch {
	case w.state == AwaitingOrchestrator:
		w.endHelpWait(c, loop.DescribeFailure("interrupted", "Report what you have."))
	case w.loop.Task() == loop.TaskModel && !asked: // of a round, and of a call, the end is waited for
		w.loop.AskInstead(c)
	}
}

// addTranscriptEntry adds a line to the transcript.
func (w *worker) addTranscriptEntry(e Entry) {
	e.Text = textcut.Head(e.Text, maxEntryText)
	if len(w.entries) >= maxEntries {
		w.entries = slices.Clone(w.entries[1:])
	}
	w.entries = append(w.entries, e)
	w.noted++
}

// finishMission ends the agent: the result is written down, for which it has what is
// left of its time, then published, then the parent is told. Nothing may be done
// after it.
func (w *worker) finishMission(c *otp.Context, s State, text, reason string) {
	j := w.a.o.Journal
	if j == nil {
		w.endAgent(c, s, text, reason)
		return
	}
	w.loop.Withdraw(c)
	w.loop.StopPrejudging(c)
	c.CancelTimer(w.timer)
	left := w.remainingTime()
	r := w.buildResult(s, text, reason)
	w.end = &r
	w.ending = c.Async(left, func(ctx context.Context) (any, error) { return nil, j.End(ctx, r) })
}

// onEndMessage takes messages of an agent that has ended and is being written down:
// only that, or the end of the one who would read it, is of interest.
func (w *worker) onEndMessage(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case otp.TaskResult:
		if m.Ref != w.ending {
			return
		}
		if m.Err != nil {
			w.endAgent(c, Failed, "", "how the agent ended could not be written down")
			return
		}
		w.endAgent(c, w.end.State, w.end.Answer, w.end.Reason)
	case Cancel:
		w.endAgent(c, Cancelled, "", m.Reason)
	case otp.Down:
		if m.Ref == w.parent {
			w.endAgent(c, Cancelled, "", "the agent's parent ended")
		}
	}
}

// endAgent publishes the result, tells the parent and ends the process.
func (w *worker) endAgent(c *otp.Context, s State, text, reason string) {
	w.state = s
	r := w.publishSnapshot(text, reason)
	w.a.o.Parent.Send(Finished{r})
	c.Stop(otp.Normal())
}

// publishSnapshot stores a snapshot for callers of Agent.Snapshot.
func (w *worker) publishSnapshot(text, reason string) Result {
	r := w.buildResult(w.state, text, reason)
	w.a.snap.Store(&Snapshot{Result: r, Current: w.current, Help: w.help, Transcript: slices.Clip(w.entries)})
	return r
}

// buildResult returns what the agent has come to in that state.
func (w *worker) buildResult(s State, text, reason string) Result {
	return Result{
		Agent: w.a.o.ID, State: s, Answer: text, Reason: reason,
		Calls: w.loop.Proposed, Omitted: w.loop.Omitted, Took: time.Since(w.started),
	}
}
