package orchestrator

import (
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/sentinel"
)

// EventKind says what an Event tells.
type EventKind string

// The kinds of events.
const (
	// EventText is a piece of the answer, in Text. The pieces of a turn since the last
	// EventWithdrawn, one after the other, are Reply.Text. An answer that no reader followed
	// from its beginning has one piece.
	EventText EventKind = "text"
	// EventWithdrawn says that the text of the turn so far is not its answer: the model went
	// on with calls, or broke off and is asked again.
	EventWithdrawn EventKind = "withdrawn"
	// EventAgent is an agent that started or ended, in Agent.
	EventAgent EventKind = "agent"
	// EventCall is a call that was decided, in Step.
	EventCall EventKind = "call"
	// EventOutcome is an allowed call that has run, in Step: see its Status.
	EventOutcome EventKind = "outcome"
	// EventApproval is a call about which a person is asked (the Outcome of Step is ask), or
	// whose question is over. Approval names the question.
	EventApproval EventKind = "approval"
	// EventReply is the answer, in Reply.
	EventReply EventKind = "reply"
	// EventFailure is a request that ended without an answer, in Error.
	EventFailure EventKind = "error"
	// EventGap says that events are missing before this one: they were dropped, or an earlier
	// process had them. Read Messages and the approvals to know what was in them.
	EventGap EventKind = "gap"
)

// Event is something that happened in a conversation. It holds no argument and no result of
// a call; Text and Reply hold what the user is told.
type Event struct {
	// ID is larger than that of every earlier event of the conversation, over restarts too.
	// It is below 2^53.
	ID   int64     `json:"id"`
	Kind EventKind `json:"kind"`
	At   time.Time `json:"at"`
	// Conversation and User say whose it is. Request and Turn are empty for what belongs to
	// no request.
	Conversation string `json:"conversation"`
	Request      string `json:"request,omitempty"`
	Turn         string `json:"turn,omitempty"`
	// Text is a piece of the answer.
	Text  string      `json:"text,omitempty"`
	Agent *AgentEvent `json:"agent,omitempty"`
	Step  *Step       `json:"step,omitempty"`
	// Approval is the id of a question, as the inbox has it.
	Approval string `json:"approval,omitempty"`
	// Reply has no Steps in what Events yields; Stream's and StreamRequest's has them.
	Reply *Reply      `json:"reply,omitempty"`
	Error *EventError `json:"error,omitempty"`
}

// AgentEvent is an agent that started or ended. What it brought is in the Reply.
type AgentEvent struct {
	Agent string       `json:"agent_id"`
	State agents.State `json:"state"`
	// Reason says why, where the state is not completed. It holds no text of a model.
	Reason string        `json:"reason,omitempty"`
	Calls  int           `json:"calls"`
	Took   time.Duration `json:"took"`
}

// EventError is an error as an Event tells it.
type EventError struct {
	// Code is one of the Code constants of this package.
	Code    string `json:"code"`
	Message string `json:"message"`
	// RetryAfter is how long to wait before the request is sent again; zero where it
	// doesn't help.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
}

// tellDecision tells readers of the conversation what became of a call. An event that no
// reader can be shown is dropped.
func (t *eventTable) tellDecision(e sentinel.Event) {
	g := e.Call.Grant()
	l := t.findLog(g.User(), g.Conversation())
	if l == nil {
		return
	}
	if e.Kind == sentinel.RecordHeld {
		return
	}
	st := newStep(e)
	asked := Event{Kind: EventApproval, Turn: g.Turn(), Step: st, Approval: e.Decision.ID}
	switch v, _ := e.Decision.Verdict(sentinel.GateApproval); {
	case e.Kind == sentinel.EventAsked: // on record before; by now an answer finds the question
		l.addEvent(asked)
		return
	case e.Kind == sentinel.RecordDecision && !e.Decision.Asked.IsZero() && v.State != sentinel.NotReached:
		l.addEvent(asked)
	}
	switch e.Kind {
	case sentinel.RecordDecision, sentinel.RecordRefused:
		l.addEvent(Event{Kind: EventCall, Turn: g.Turn(), Step: st})
	case sentinel.RecordOutcome:
		st.Status = e.Status
		l.addEvent(Event{Kind: EventOutcome, Turn: g.Turn(), Step: st})
	}
}

// newStep is a decision as its event tells it: what the ledger has of it.
func newStep(e sentinel.Event) *Step {
	d, r := e.Decision, e.Decision.OnRecord(e.Kind)
	st := &Step{
		Call: e.Call.Proposed().ID(), Decision: d.ID, At: d.At, Agent: e.Call.Grant().Agent(), Outcome: d.Outcome.String(),
		Degraded: d.Degraded, Approver: r.Approver, Refusal: r.Refusal,
	}
	if s := e.Call.Skill(); s != nil {
		st.Skill = s.Name()
	}
	return st
}
