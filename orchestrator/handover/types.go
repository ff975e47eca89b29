package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// State is where a call stands.
type State string

// The states of a call. Pending and Deferred ones go on when the call is proposed again under the
// same id; an Allowed one waits for its report. The others are final.
const (
	Pending  State = "pending"  // a person is asked
	Allowed  State = "allowed"  // its caller may run it, or runs it
	Denied   State = "denied"   // it must not run
	Deferred State = "deferred" // not now: Refusal says when
	Expired  State = "expired"  // no person answered in time
	Unknown  State = "unknown"  // it was allowed and not reported in time
	OK       State = "ok"       // it ran and succeeded
	Failed   State = "failed"   // it ran and failed
)

// Proposal is a call that another program would run. Principal, By, User, RequestHuman, Scope and
// Calls come from what the server knows of its caller, never from a body.
type Proposal struct {
	// Principal is who proposes: 1 to sentinel.MaxID bytes. Ids of two principals never meet.
	Principal string
	// By is who is behind Principal, as approvers are named: a person, or a token that is no person's. Rules
	// that keep a requester from approving hold for By as for User. Empty is Principal.
	By string
	// User is on whose behalf, and Conversation which one, in the principal's own words.
	User, Conversation string
	// CallID names the call within principal and conversation, in the principal's own words.
	CallID string
	// Turn names the request that the call belongs to, in the principal's own words; limits of a turn
	// count by it. It may be empty.
	Turn string
	// Agent names who proposes it in the record; empty is DefaultAgent.
	Agent     string
	Skill     string
	Arguments json.RawMessage
	// Request is what the user asked for. It counts as the user's own words only where RequestHuman
	// is set. Otherwise it grounds nothing.
	Request      *string
	RequestHuman bool
	// Mission is what the agent was told. It grounds nothing.
	Mission string
	// History is what the program read before, outside of this server, oldest first.
	History []Result
	// Scope are the skills that the principal may use. Empty means all that may be handed over.
	Scope skills.Scope
	// Only, where set, narrows Scope.
	Only *skills.Scope
	// Calls is how many calls the principal may propose with one request; zero means the server's
	// own number.
	Calls int
	// Wait is how long to wait for a person before the answer is Pending.
	Wait time.Duration
	// Forwarding is of a call that Forward decides; Propose refuses one that has it.
	Forwarding *Forwarding
}

// Result is something that a program had read before it proposed a call. Its trust is "client"
// whatever it says: it taints, and it grounds nothing.
type Result struct {
	Skill     string          `json:"skill_name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    string          `json:"result"`
}

// Report is what became of a call that its caller ran.
type Report struct {
	// Principal is who reports: the one who proposed the call.
	Principal string
	// ID is Answer.ID.
	ID string
	// Outcome is OK or Failed.
	Outcome State
	// Result is what the skill returned, or the words it failed with.
	Result string
}

// Answer is where a call stands after it was proposed or reported.
type Answer struct {
	// ID names the call on this server: Report wants it.
	ID    string `json:"id"`
	State State  `json:"state"`
	// Decision is the decision on record, in the form of the check contract under the caller's own
	// id of the call. It is nil where the proposal was no call.
	Decision *sentinel.Line `json:"decision,omitempty"`
	// DecisionID is the id of the decision where it was made now.
	DecisionID string `json:"-"`
	// Approval is the id of the question to a person.
	Approval string `json:"approval,omitempty"`
	// Warrant is the proof that the call was allowed: an Ed25519 token. It is given once.
	Warrant string `json:"warrant,omitempty"`
	// Arguments are what was allowed, in canonical form. They are there with the warrant alone.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Note says what rules changed in the arguments.
	Note string `json:"note,omitempty"`
	// Expires is when the question ends, or until when an allowed call is to be reported.
	Expires *time.Time `json:"expires,omitempty"`
	// Refusal says why a call must not run, and what can be done.
	Refusal *skills.Refusal `json:"refusal,omitempty"`
	// Result is what was reported, with its skill's trust.
	Result string       `json:"result,omitempty"`
	Trust  skills.Trust `json:"trust,omitempty"`
}

// Errors of Propose and Report. After any of them nothing may run.
var (
	// ErrProposal means that the proposal or the report itself is wrong; its text says how.
	ErrProposal = errors.New("the call can't be proposed or reported")
	// ErrDigest means that the id is another call's.
	ErrDigest = errors.New("another call was proposed under this id; give each call an id of its own")
	// ErrUnknownCall means that there is no such call, or none of this principal.
	ErrUnknownCall = errors.New("there is no such call; propose it first")
	// ErrNotAllowed means that the call may not run, so nothing can be reported of it.
	ErrNotAllowed = errors.New("the call was not allowed, so there is nothing to report of it")
	// ErrReported means that something else was reported of the call before.
	ErrReported = errors.New("another outcome was reported of the call; the first one stays")
	// ErrLate means that the call was not reported in time: it is unknown and stays so.
	ErrLate = errors.New("the warrant of the call has expired; what became of it stays unknown")
	// ErrConversationFull means that the conversation holds as many calls as one may.
	ErrConversationFull = errors.New("the conversation has too many calls; begin another")
	// ErrBusy means that too many calls are under way.
	ErrBusy = errors.New("too many proposed calls are under way; try again later")
	// ErrShare is ErrBusy of one principal: as many of its calls are under way as one may have.
	ErrShare = fmt.Errorf("%w; they are this principal's own: report or collect those that were proposed", ErrBusy)
	// ErrClosed means that the server is ending.
	ErrClosed = errors.New("the server is ending; propose the call again later")
)
