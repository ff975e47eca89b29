package loop

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// Owner is what a loop works for: an agent, or a turn.
type Owner interface {
	Asker
	Tools
	Ending
	Book
}

// Asker talks to the model.
type Asker interface {
	// PrepareQuestion returns the next question. It may add messages before. Where
	// Counts.WithoutTools is set the question has no tools.
	PrepareQuestion() Question
	// NoteAnswer is told of every answer before anything is done about it.
	NoteAnswer(r llm.Response)
}

// Question is what a model is asked, and how.
type Question struct {
	Request llm.Request
	Chat    func(ctx context.Context, r llm.Request) (llm.Response, error)
}

// Tools are what the model may call.
type Tools interface {
	// RefuseCalls returns the answer to all calls that are left, or "" where they are to
	// be made. They count as omitted.
	RefuseCalls() string
	// ListPrejudged returns what of a new answer's calls is to be judged ahead.
	ListPrejudged(calls []llm.ToolCall) []skills.Proposed
	// RunCall makes Queue.Call. It ends in one Loop.Answer, at once or later; a call that
	// takes time is a task of the kind TaskCall.
	RunCall(c *otp.Context)
	// OnCallEnd takes the end of such a task.
	OnCallEnd(c *otp.Context, m otp.TaskResult)
}

// Ending says what ends the loop.
type Ending interface {
	// Conclude takes an answer with a text and without calls. It ends the loop, or asks on.
	Conclude(c *otp.Context, r llm.Response)
	// Fail takes the reason why the loop can't go on: ErrRefused, ErrEmpty, a *RoundError,
	// or what the model returned as an error.
	Fail(c *otp.Context, why error)
}

// Book is where the owner's rounds are written down.
type Book interface {
	// PrepareRound returns the function that writes the round down, or nil where the owner
	// keeps no journal.
	PrepareRound(r Round) func(ctx context.Context) error
}

// Round is what the journal doesn't have yet: the messages since the round before, the
// last of which is the model's answer, and the calls of that answer in their order.
type Round struct {
	Counts
	Messages []llm.Message
	Calls    []llm.ToolCall
}

// Counts are what a loop has done, for its rounds and for its bounds.
type Counts struct {
	Questions    int  // to the model
	Records      int  // rounds in the journal
	Proposed     int  // calls that the owner gave to its desk
	Omitted      int  // calls that were not proposed
	WithoutTools bool // the model is asked without tools
	Nudged       bool // the model was told that its answer was empty
}

// Rules are where loops differ on purpose.
type Rules struct {
	// LastQuestion is the number of the first question without tools, from 1.
	LastQuestion int
	// Nudge tells a model that its answer was empty.
	Nudge string
	// NudgeIsKept says that the nudge is one of the messages. Otherwise it stands behind
	// the next question alone.
	NudgeIsKept bool
	// NudgeAtLast says that a model is nudged also where it has no tools any more.
	NudgeWithoutTools bool
	// IsWhole reports by its finish reason whether an answer is whole, so that its calls
	// are what the model meant.
	IsWhole func(finish string) bool
	// CutOff answers the calls of an answer that was cut off. If it is empty, such an answer
	// ends the loop.
	CutOff string
	// EchoIsKept says that the messages hold calls in the form that servers take.
	// Otherwise they hold them as the model wrote them, see Dialogue.EchoMessages.
	EchoIsKept bool
	// OrderCalls, if set, puts the calls of an answer into the order of their making.
	OrderCalls func([]llm.ToolCall) []llm.ToolCall
	// Prejudger, if set, judges the calls of an answer ahead.
	Prejudger Prejudger
}

// The failures of a loop, for Ending.Fail.
var (
	ErrRefused = errors.New("the model refused to answer")
	ErrEmpty   = errors.New("the model answered with nothing")
)

// RoundError is a round that could not be written down. None of its calls was made.
type RoundError struct{ Err error }

// Error implements error.
func (e *RoundError) Error() string { return "the round could not be written down: " + e.Err.Error() }

// Unwrap returns the journal's error.
func (e *RoundError) Unwrap() error { return e.Err }

// TaskKind is what a task does.
type TaskKind uint8

// The kinds of tasks.
const (
	TaskNone TaskKind = iota
	TaskJournal
	TaskModel
	TaskCall
)

// Loop is a model with tools. Its methods are for the process that owns it.
type Loop struct {
	Counts
	Dialogue
	Queue

	owner    Owner
	rules    Rules
	task     otp.Ref
	kind     TaskKind // of the task that is under way
	nudgeDue bool     // the next question says that the answer was empty
}

// New returns the loop of an owner. It does nothing before Ask or Next.
func New(o Owner, r Rules) Loop { return Loop{owner: o, rules: r} }

// Restore puts a new loop to where its rounds ended: their messages together, the counts
// of the last and its calls. hidden are the ids of calls whose secrets were not kept.
// Next goes on from there.
func (l *Loop) Restore(r Round, hidden []string) {
	for _, m := range r.Messages {
		l.Say(m)
	}
	l.MarkSaved()
	l.Counts = r.Counts
	l.calls, l.hidden = l.orderCalls(r.Calls), hidden
}

// Ask asks the model what to do next. The question of a loop whose questions or whose room
// are spent is its last.
func (l *Loop) Ask(c *otp.Context) {
	l.StopPrejudging(c)
	if l.Questions++; l.Questions >= l.rules.LastQuestion || l.Room.Spent() {
		l.WithoutTools = true
	}
	q := l.owner.PrepareQuestion()
	if l.nudgeDue {
		l.nudgeDue = false
		q.Request.Messages = append(q.Request.Messages, llm.Message{Role: llm.RoleUser, Content: l.rules.Nudge})
	}
	l.Start(c, TaskModel, func(ctx context.Context) (any, error) { return q.Chat(ctx, q.Request) })
}

// AskInstead gives up what is under way and asks the model.
func (l *Loop) AskInstead(c *otp.Context) {
	c.CancelTask(l.task)
	l.Ask(c)
}

// Next makes the next call of the answer, or asks the model again.
func (l *Loop) Next(c *otp.Context) {
	l.Call = llm.ToolCall{}
	if text := l.owner.RefuseCalls(); text != "" {
		l.omitCallsLeft(text)
	}
	l.prejudgeCalls(c)
	if !l.takeNextCall() {
		l.Ask(c)
		return
	}
	l.owner.RunCall(c)
}

// Answer answers the call that is under way, and goes on with the next.
func (l *Loop) Answer(c *otp.Context, text string) {
	l.addCallReply(l.Call, text)
	l.Next(c)
}

// Start starts the one task that the loop waits for. It has no timeout of its own.
func (l *Loop) Start(c *otp.Context, kind TaskKind, fn func(context.Context) (any, error)) {
	l.task, l.kind = c.Async(0, fn), kind
}

// Task is the kind of the task that is under way, TaskNone where none is.
func (l *Loop) Task() TaskKind { return l.kind }

// TakeEnd returns the kind of the task that has ended, TaskNone where it was another's or
// was given up.
func (l *Loop) TakeEnd(ref otp.Ref) TaskKind {
	if l.task != ref {
		return TaskNone
	}
	kind := l.kind
	l.kind = TaskNone
	return kind
}

// Withdraw ends the task that is under way. What it was for is wanted no more.
func (l *Loop) Withdraw(c *otp.Context) {
	if l.kind != TaskNone {
		c.CancelTaskFor(l.task, skills.ErrWithdrawn)
		l.kind = TaskNone
	}
}

// OnTaskEnd goes on after a task of that kind.
func (l *Loop) OnTaskEnd(c *otp.Context, kind TaskKind, m otp.TaskResult) {
	switch {
	case kind == TaskCall:
		l.owner.OnCallEnd(c, m)
	case kind == TaskModel:
		l.onModelEnd(c, m)
	case m.Err != nil:
		l.owner.Fail(c, &RoundError{m.Err})
	default:
		l.Next(c)
	}
}

// onModelEnd takes an answer of the model, or why there is none.
func (l *Loop) onModelEnd(c *otp.Context, m otp.TaskResult) {
	var e *llm.Error
	r, answered := m.Value.(llm.Response)
	switch {
	case answered:
		l.onAnswer(c, r)
	case errors.As(m.Err, &e) && e.Code == llm.CodeEmpty:
		l.onAnswer(c, llm.Response{})
	default:
		l.owner.Fail(c, m.Err)
	}
}

// onAnswer writes down an answer with calls, and concludes with any other.
func (l *Loop) onAnswer(c *otp.Context, r llm.Response) {
	long := len(r.Content) > MaxAnswer
	r.Content = Cut(r.Content, MaxAnswer)
	l.owner.NoteAnswer(r)
	whole := l.rules.IsWhole(r.FinishReason)
	if len(r.ToolCalls) == 0 || l.WithoutTools || !whole && l.rules.CutOff == "" {
		if long {
			r.FinishReason = "length"
		}
		l.concludeAnswer(c, r)
		return
	}
	calls, left := HearCalls(r.ToolCalls, l.messages)
	l.Omitted += left
	kept := calls
	if l.rules.EchoIsKept {
		kept = echoToolCalls(calls)
	}
	l.Say(llm.Message{Role: llm.RoleAssistant, Content: r.Content, ToolCalls: l.Room.FitCalls(kept)})
	l.setCalls(l.orderCalls(calls))
	if !whole {
		l.omitCallsLeft(l.rules.CutOff)
	}
	l.writeRound(c)
}

// concludeAnswer takes an answer whose calls, if any, don't count. It nudges the model once
// after an empty one.
func (l *Loop) concludeAnswer(c *otp.Context, r llm.Response) {
	switch {
	case r.Content != "":
		l.owner.Conclude(c, r)
	case r.Refusal != "":
		l.owner.Fail(c, ErrRefused)
	case l.Nudged || l.WithoutTools && !l.rules.NudgeWithoutTools:
		l.owner.Fail(c, ErrEmpty)
	default:
		l.nudgeModel(c)
	}
}

// nudgeModel asks again after an empty answer.
func (l *Loop) nudgeModel(c *otp.Context) {
	l.Nudged = true
	if l.rules.NudgeIsKept {
		l.Say(llm.Message{Role: llm.RoleUser, Content: l.rules.Nudge})
	} else {
		l.nudgeDue = true
	}
	l.Ask(c)
}

// writeRound writes the round down and goes on to its calls.
func (l *Loop) writeRound(c *otp.Context) {
	r := Round{Counts: l.Counts, Messages: l.unsavedMessages(), Calls: l.calls}
	r.Records++
	write := l.owner.PrepareRound(r)
	if write == nil {
		l.Next(c)
		return
	}
	l.Records = r.Records
	l.MarkSaved()
	l.Start(c, TaskJournal, func(ctx context.Context) (any, error) { return nil, write(ctx) })
}

// addCallReply adds the answer to a call.
func (l *Loop) addCallReply(k llm.ToolCall, text string) {
	l.Say(llm.Message{Role: llm.RoleTool, ToolCallID: k.ID, Content: l.Room.Fit(text)})
}

// omitCallsLeft answers the calls that are left instead of making them.
func (l *Loop) omitCallsLeft(text string) {
	for _, k := range l.calls {
		l.addCallReply(k, text)
	}
	l.Omitted += len(l.calls)
	l.calls = nil
}

// orderCalls returns the calls in the order of their making.
func (l *Loop) orderCalls(calls []llm.ToolCall) []llm.ToolCall {
	if l.rules.OrderCalls == nil {
		return calls
	}
	return l.rules.OrderCalls(calls)
}

// prejudgeCalls tells the desk of the calls of a new answer, so that it judges them while
// the first is under way. A single call has nothing to be ahead of.
func (l *Loop) prejudgeCalls(c *otp.Context) {
	if !l.takeNewAnswer() || l.rules.Prejudger == nil {
		return
	}
	list := l.owner.ListPrejudged(l.calls)
	if len(list) < 2 {
		return
	}
	desk := l.rules.Prejudger
	l.prejudging = c.Async(0, func(ctx context.Context) (any, error) {
		desk.Prejudge(ctx, list)
		return nil, nil
	})
}
