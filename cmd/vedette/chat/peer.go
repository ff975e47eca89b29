package chat

import (
	"context"
	"iter"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Peer is one conversation, and its approvals.
type Peer interface {
	// Describe says where the conversation is, and whose.
	Describe() Place
	// Send sends a message and yields what happens until its end. A message that was sent under
	// the id before is followed from here on. Leaving the loop stops nothing.
	Send(ctx context.Context, id, text string) iter.Seq2[Event, error]
	// Cancel stops a request.
	Cancel(ctx context.Context, id string) error
	// List lists what was said last, the oldest first. A conversation that is new has nothing.
	List(ctx context.Context) ([]Message, error)
	// Pending lists the ids of the conversation's questions that wait for an answer.
	Pending(ctx context.Context) ([]string, error)
	// Show returns a question. The error wraps approval.ErrUnknown where it isn't there yet.
	Show(ctx context.Context, id string) (approval.Card, error)
	// Answer answers a question in the name of the person at the terminal.
	Answer(ctx context.Context, a approval.Answer) (approval.Item, error)
	// Close ends what the peer holds, and says what of the work was cut off.
	Close(ctx context.Context) (cut string, err error)
}

// Place is where a conversation is.
type Place struct {
	Conversation, User string
	// At is the server's address, empty in this process.
	At string
	// Resume is the command that goes on with the conversation, Approvals the one that answers
	// its questions elsewhere, with a place for a subcommand.
	Resume, Approvals string
}

// Event is something that happened, in the form of the HTTP API.
type Event struct {
	ID       int64                  `json:"id"`
	Kind     orchestrator.EventKind `json:"kind"`
	Request  string                 `json:"request_id"`
	Text     string                 `json:"text"`
	Agent    *Agent                 `json:"agent"`
	Step     *Step                  `json:"step"`
	Approval string                 `json:"approval"`
	Link     string                 `json:"link"`
	Reply    *Reply                 `json:"reply"`
	Error    *Failure               `json:"error"`
}

// Agent is an agent that started or ended.
type Agent struct {
	Agent  string `json:"agent_id"`
	State  string `json:"state"`
	Reason string `json:"reason"`
	Calls  int    `json:"calls"`
	TookMS int64  `json:"took_ms"`
}

// Step is a call that was decided.
type Step struct {
	Decision string   `json:"decision"`
	Skill    string   `json:"skill"`
	Agent    string   `json:"agent"`
	Outcome  string   `json:"outcome"`
	Degraded bool     `json:"degraded"`
	Status   string   `json:"status"`
	Approver string   `json:"approver"`
	Refusal  *Refusal `json:"refusal"`
}

// Refusal is who stopped a call, why, and what can be done.
type Refusal struct {
	Why  string `json:"why"`
	Do   string `json:"do"`
	Gate string `json:"gate"`
	Code string `json:"code"`
}

// Reply is an answer.
type Reply struct {
	Text    string `json:"text"`
	Tainted bool   `json:"tainted"`
	Links   int    `json:"links"`
	TookMS  int64  `json:"took_ms"`
	Tokens  int64  `json:"tokens"`
}

// Failure is why a request has no answer.
type Failure struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	RetryAfter int    `json:"retry_after"` // in seconds
}

// Message is a request or its answer.
type Message struct {
	Role    string   `json:"role"`
	Text    string   `json:"text"`
	Request string   `json:"request_id"`
	Error   *Failure `json:"error"`
}

// shownBefore is how many earlier requests are listed.
const shownBefore = 5

// answerTime bounds a question to the peer that a person waits for.
const answerTime = 15 * time.Second
