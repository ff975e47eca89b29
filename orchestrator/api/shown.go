package api

import (
	"errors"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/skills"
)

// reply is an answer as a caller reads it.
type reply struct {
	Turn    string       `json:"turn"`
	Text    string       `json:"text"`
	Tainted bool         `json:"tainted" doc:"Whether something that others could have written was read on the way."`
	Links   int          `json:"links,omitempty" doc:"How many links and images were made text."`
	TookMS  int64        `json:"took_ms"`
	Tokens  int64        `json:"tokens"`
	Cost    int64        `json:"cost,omitempty" doc:"In millionths of the currency of the configured prices."`
	Agents  []agentEntry `json:"agents" nullable:"false"`
	Steps   []step       `json:"steps" nullable:"false" doc:"The calls that were judged on the way."`
	Left    int          `json:"steps_left,omitempty" doc:"How many more there were; -1 where the ledger could not be read."`
}

// agentEntry is what became of an agent.
type agentEntry struct {
	Agent  string `json:"agent_id"`
	State  string `json:"state"`
	Answer string `json:"answer,omitempty"`
	Reason string `json:"reason,omitempty"`
	Calls  int    `json:"calls"`
	TookMS int64  `json:"took_ms"`
}

// step is a call that was judged. Its refusal is a card.
type step struct {
	Call     string    `json:"call"`
	Decision string    `json:"decision"`
	At       time.Time `json:"at"`
	Skill    string    `json:"skill,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Outcome  string    `json:"outcome"`
	Degraded bool      `json:"degraded,omitempty"`
	Status   string    `json:"status,omitempty" doc:"ok, failed or unknown, of a call that was allowed."`
	Approver string    `json:"approver,omitempty"`
	Refusal  *Card     `json:"refusal,omitempty"`
}

// message is a request or its answer.
type message struct {
	Role    string      `json:"role" enum:"user,assistant"`
	Text    string      `json:"text"`
	At      time.Time   `json:"at"`
	Request string      `json:"request_id,omitempty"`
	Turn    string      `json:"turn"`
	Reply   *reply      `json:"reply,omitempty"`
	Error   *eventError `json:"error,omitempty"`
}

// event is something that happened in a conversation.
type event struct {
	ID           int64                  `json:"id"`
	Kind         orchestrator.EventKind `json:"kind"`
	At           time.Time              `json:"at"`
	Conversation string                 `json:"conversation,omitempty"`
	Request      string                 `json:"request_id,omitempty"`
	Turn         string                 `json:"turn,omitempty"`
	Text         string                 `json:"text,omitempty"`
	Agent        *agentEntry            `json:"agent,omitempty"`
	Step         *step                  `json:"step,omitempty"`
	Approval     string                 `json:"approval,omitempty"`
	Link         string                 `json:"link,omitempty" doc:"Where a person answers the approval."`
	Reply        *reply                 `json:"reply,omitempty"`
	Error        *eventError            `json:"error,omitempty"`
}

// eventError is why a request ended without an answer.
type eventError struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	RetryAfter int    `json:"retry_after,omitempty" doc:"After how many seconds to send it again."`
}

// newReply is a reply as a caller reads it.
func (v view) newReply(r orchestrator.Reply) *reply {
	out := &reply{
		Turn: r.Turn, Text: r.Text, Tainted: r.Tainted, Links: r.Links, TookMS: r.Took.Milliseconds(), Tokens: r.Spent.Tokens, Cost: r.Spent.Cost,
		Agents: make([]agentEntry, len(r.Agents)), Steps: make([]step, len(r.Steps)), Left: r.Left,
	}
	for i, g := range r.Agents {
		out.Agents[i] = agentEntry{
			Agent: g.Agent, State: string(g.State), Answer: g.Answer, Reason: g.Reason, Calls: g.Calls, TookMS: g.Took.Milliseconds(),
		}
	}
	for i := range r.Steps {
		out.Steps[i] = *v.newStep(&r.Steps[i])
	}
	return out
}

// newStep is a step as a caller reads it.
func (v view) newStep(s *orchestrator.Step) *step {
	if s == nil {
		return nil
	}
	question := ""
	if s.Refusal != nil && s.Refusal.Kind == kindAsk {
		question = s.Decision
	}
	return &step{
		Call: s.Call, Decision: s.Decision, At: s.At, Skill: s.Skill, Agent: s.Agent, Outcome: s.Outcome, Degraded: s.Degraded, Status: s.Status,
		Approver: s.Approver, Refusal: v.newCard(s.Refusal, s.Skill, question),
	}
}

// kindAsk is the kind of a refusal while a person is asked.
const kindAsk = skills.KindAsk

// newEvent is an event as a caller reads it.
func (v view) newEvent(e orchestrator.Event) event {
	out := event{
		ID: e.ID, Kind: e.Kind, At: e.At, Conversation: e.Conversation, Request: e.Request, Turn: e.Turn, Text: e.Text,
		Step: v.newStep(e.Step), Approval: e.Approval, Error: newEventError(e.Error),
	}
	if e.Approval != "" {
		out.Link = v.link("/approvals/" + e.Approval)
	}
	if g := e.Agent; g != nil {
		out.Agent = &agentEntry{Agent: g.Agent, State: string(g.State), Reason: g.Reason, Calls: g.Calls, TookMS: g.Took.Milliseconds()}
	}
	if e.Reply != nil {
		out.Reply = v.newReply(*e.Reply)
	}
	return out
}

// newEventError is an error as a caller reads it.
func newEventError(e *orchestrator.EventError) *eventError {
	if e == nil {
		return nil
	}
	return &eventError{e.Code, e.Message, wholeSeconds(e.RetryAfter)}
}

// conversationCodes are the problems of the orchestrator's errors by their codes.
var conversationCodes = map[string]problem.Code{
	orchestrator.CodeEmptyRequest: problem.Invalid, orchestrator.CodeLongRequest: problem.Invalid, orchestrator.CodeBadID: problem.Invalid,
	orchestrator.CodeBadCursor: problem.BadRequest, orchestrator.CodeBadRequest: problem.Invalid, orchestrator.CodeOtherText: problem.Conflict,
	orchestrator.CodeOverloaded: problem.Overloaded, orchestrator.CodeDraining: problem.Draining, orchestrator.CodeClosed: problem.Draining,
	orchestrator.CodeInterrupted: problem.Conflict, orchestrator.CodeCancelled: problem.Conflict, orchestrator.CodeNotKept: problem.NotKept,
	orchestrator.CodeTimeout: problem.Unavailable, orchestrator.CodeBudget: problem.RateLimited, orchestrator.CodeModel: problem.ModelFailed,
	orchestrator.CodeBlocked: problem.Blocked,
}

// describeConversation is the problem of an error of the orchestrator. What belongs to another user is not there.
func describeConversation(err error) *problem.Problem {
	e := orchestrator.DescribeError(err)
	switch e.Code {
	case orchestrator.CodeOtherUser, orchestrator.CodeUnknownConversation, orchestrator.CodeOrphaned:
		return problem.New(problem.NotFound, "no conversation of this id is known")
	case orchestrator.CodeUnknownRequest:
		return problem.New(problem.NotFound, "no request of this id was sent, or its answer is gone")
	}
	code, ok := conversationCodes[e.Code]
	if !ok {
		return nil
	}
	p := problem.New(code, cutText(e.Message))
	if code == problem.Draining && e.RetryAfter == 0 {
		e.RetryAfter = drainedFor
	}
	return p.Later(e.RetryAfter)
}

// isPending reports whether a purge has erased all and old pages remain.
func isPending(err error) bool { return errors.Is(err, orchestrator.ErrPurgePending) }
