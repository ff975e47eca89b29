package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/compare"
	"github.com/vedette-dev/vedette/sentinel/intent/detect"
	"github.com/vedette-dev/vedette/sentinel/intent/vote"
)

// Status is where a request stands.
type Status string

// The statuses. Those that are pending go on by an answer; Running waits for the action; the others are ends.
const (
	Running             Status = "running"
	PendingConfirmation Status = "pending_confirmation" // the user is asked
	PendingApproval     Status = "pending_approval"     // an approver is asked
	Completed           Status = "completed"
	Blocked             Status = "blocked" // the detector stopped it
	Denied              Status = "denied"  // policy, approver or user said no
	Failed              Status = "failed"  // no parser read it, or the action failed
	Expired             Status = "expired" // no person answered in time
	Unknown             Status = "unknown" // the process ended while the action ran
)

// IsEnd reports whether nothing more can come of the request.
func (s Status) IsEnd() bool { return s != Running && s != PendingConfirmation && s != PendingApproval }

// The codes of answers. Names that are stored don't change.
const (
	CodeDetected    = "intake.detected"    // the detector blocked the text
	CodeNoIntent    = "intake.no_intent"   // no parser gave an intent
	CodeUnsupported = "intake.unsupported" // nothing runs the action
	CodeForbidden   = "intake.forbidden"   // the policy blocks it
	CodeMismatch    = "intake.mismatch"    // a hard mismatch
	CodeReference   = "intake.reference"   // a reference names nothing that the user may use
	CodeConflict    = "intake.conflict"    // the parsers are in conflict
	CodeAlways      = "intake.always"      // a person approves each such action
	CodeUnsure      = "intake.unsure"      // the parsers agree roughly
	CodeSoft        = "intake.soft"        // a soft mismatch
	CodeDeclined    = "intake.declined"    // the user said no
	CodeExpired     = "intake.expired"     // no person answered in time
	CodeRefused     = "intake.refused"     // an approver said no
	CodeNotAsked    = "intake.not_asked"   // a rule refused to ask, or no person can be asked
	CodeEdited      = "intake.edited"      // the approver chose what no parser said
	CodePaused      = "intake.paused"      // an operator has paused the work
	CodeFailed      = "intake.failed"      // the action failed
	CodeNotAllowed  = "intake.not_allowed" // the checkpoint refused the action's skill
	CodeInterrupted = "intake.interrupted" // the process ended while the action ran
	CodeLost        = "intake.lost"        // what was kept of the request is gone or can't be read
	CodeRate        = "intake.rate"        // too many requests of the action's risk
	CodeStore       = "intake.unresolved"  // the store of references failed
)

// Reasons for asking an approver, in the seed document's words.
const (
	ReasonConflict = "Parser conflict"
	ReasonPolicy   = "Policy mismatch"
	ReasonAlways   = "Approval required"
)

// Request is one text of a user. User, By and Client come from what the server knows of its caller.
type Request struct {
	// ID names the request; empty makes a new one.
	ID string
	// User is whose text it is, and Session in which conversation.
	User, Session string
	// By is who sent it in the user's name, as approvers are named; empty where the user did.
	By string
	// Principal is the id of who sent it at the program's doors, empty for none: once that may act no more, no call of the
	// request starts.
	Principal string
	Text      string
	// NoConfirm is set where the user can't be asked: what would be asked then goes to an approver.
	NoConfirm bool
	Client    Client

	turn bool // of a conversation: see Pipeline.Authorize
}

// Client is from where a request came.
type Client struct {
	// Address is an IP address. How much of it is kept, Options.Addresses says.
	Address string
	// Agent is the client's own word for itself. It is sealed.
	Agent string
}

// InputError is a request that is none. Nothing was recorded.
type InputError struct {
	// Field is text, user, session, by, principal or id.
	Field string
	Msg   string
}

// Error says what is wrong, without any word of the request.
func (e *InputError) Error() string { return "the request's " + e.Field + " " + e.Msg }

// Errors of Process, Confirm and Look.
var (
	// ErrNotRecorded: the store is unavailable. Nothing happened.
	ErrNotRecorded = errors.New("the request could not be recorded, so nothing was done")
	// ErrUnknownRequest: there is no such request of this user.
	ErrUnknownRequest = errors.New("there is no such request")
	// ErrDecided: the request waits for no answer of its user.
	ErrDecided = errors.New("the request waits for no confirmation")
	// ErrDigest: the answer is to another intent than the one that was shown.
	ErrDigest = errors.New("the confirmation is for another intent; look at the request again")
	// ErrClosed: the process is ending.
	ErrClosed = errors.New("the server is ending; send the request again later")
	// ErrBusy: too many requests are under way.
	ErrBusy = errors.New("too many requests are under way; try again later")
	// ErrNoReference is what a Resolver returns for an id that names nothing which the user may use.
	ErrNoReference = errors.New("the reference names nothing that the user may use")
)

// Resolver says whether a user may use what a reference names. The error is ErrNoReference, or that of its store.
type Resolver interface {
	Resolve(ctx context.Context, user string, r intent.Reference) error
}

// Handler does an action. What it returns is made JSON of. It is given no text: what is in the intent came from closed
// lists and normal forms.
type Handler func(ctx context.Context, t intent.Trusted) (any, error)

// Typed makes a Handler of a function with parameters of its own type: read takes them out of the intent.
func Typed[T any](read func(intent.Trusted) (T, error), do func(context.Context, T) (any, error)) Handler {
	return func(ctx context.Context, t intent.Trusted) (any, error) {
		args, err := read(t)
		if err != nil {
			return nil, fmt.Errorf("the intent doesn't fit the action: %w", err)
		}
		return do(ctx, args)
	}
}

// Action is what does an action of the vocabulary: Handler or Skill.
type Action struct {
	Handler Handler
	// Timeout bounds one run of the Handler. Zero is a minute.
	Timeout time.Duration
	// Skill is called through the checkpoint with Arguments: the skill's argument by the field of the intent that it is
	// made of, see ArgumentFields.
	Skill     string
	Arguments map[string]string
	// Grants are the skills, or domains of skills, that a turn may use whose request asks for this, within Limits. An
	// action with nothing else is for turns alone.
	Grants []string
	Limits Limits
	// Approve asks an approver each time.
	Approve bool
}

// Limits narrow those of a turn; zero narrows nothing.
type Limits struct {
	Agents, Calls int
	Tokens        int64
}

// Confirmation is what the user is asked.
type Confirmation struct {
	// Digest names the intent; Confirm wants it.
	Digest string `json:"digest"`
	// Fields are the intent in words.
	Fields  []intent.Field `json:"fields"`
	Reasons []string       `json:"reasons"`
	Expires time.Time      `json:"expires"`
}

// Answer is where a request stands. It holds values of the user's own.
type Answer struct {
	RequestID string `json:"request_id"`
	Status    Status `json:"status"`
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	// Trusted is the signed intent, once there is one.
	Trusted json.RawMessage `json:"trusted_intent,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	// Confirmation is set with PendingConfirmation, Approval and Expires with PendingApproval.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
	Approval     string        `json:"approval,omitempty"`
	Expires      time.Time     `json:"expires,omitzero"`
	// RetryAfter is after how long to send the request again, with CodeRate.
	RetryAfter time.Duration `json:"-"`
	// Info is what the stages found; nil where it was not kept.
	Info *Info `json:"pipeline_info,omitempty"`
}

// Info is what the stages found of one text.
type Info struct {
	Detection  detect.Report   `json:"malicious_detection"`
	Classifier *ClassifierInfo `json:"classifier,omitempty"`
	Parsers    []ParserInfo    `json:"parser_results,omitempty"`
	Vote       *VoteInfo       `json:"voting_result,omitempty"`
	Comparison *ComparisonInfo `json:"comparison_result,omitempty"`
	Took       Took            `json:"took_us"`
}

// ClassifierInfo is what the optional classifier said.
type ClassifierInfo struct {
	Name string `json:"name"`
	// Score is in hundredths; Failed says that there is none.
	Score  int  `json:"score"`
	Failed bool `json:"failed,omitempty"`
}

// ParserInfo is what one parser gave.
type ParserInfo struct {
	Parser string `json:"parser"`
	// Trust and Confidence are in hundredths.
	Trust      int             `json:"trust"`
	Confidence int             `json:"confidence,omitempty"`
	Intent     json.RawMessage `json:"intent,omitempty"`
	Failure    string          `json:"failure,omitempty"`
	TookUS     int64           `json:"took_us"`

	rules bool
	built intent.Intent
}

// VoteInfo is what the vote came to.
type VoteInfo struct {
	Canonical      json.RawMessage `json:"canonical_intent"`
	Parser         string          `json:"parser"`
	Level          vote.Level      `json:"confidence"`
	Agreement      vote.Agreement  `json:"agreement_level"`
	RequiresReview bool            `json:"requires_human_review"`
	Average        float64         `json:"average_similarity"`
	Minimum        float64         `json:"min_similarity"`
	Disputed       bool            `json:"action_disputed,omitempty"`
	Explanation    string          `json:"explanation"`
	Pairs          []vote.Pair     `json:"pairs,omitempty"`
}

// ComparisonInfo is what the comparison came to.
type ComparisonInfo struct {
	Verdict     compare.Verdict    `json:"decision"`
	Mismatches  []compare.Mismatch `json:"mismatches,omitempty"`
	Elevation   bool               `json:"requires_elevation"`
	Explanation string             `json:"explanation"`
}

// Took is how long the stages took, in microseconds.
type Took struct {
	Detect  int64 `json:"detect"`
	Parse   int64 `json:"parse"`
	Vote    int64 `json:"vote"`
	Compare int64 `json:"compare"`
}
