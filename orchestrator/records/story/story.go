package story

import (
	"encoding/json"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// State says where a value is.
type State string

// The states of a Text.
const (
	Sealed  State = "sealed"  // it was not asked for
	Kept    State = "kept"    // here it is
	Erased  State = "erased"  // a purge erased it
	Expired State = "expired" // its retention is over
	None    State = "none"    // there never was one
)

// Text is a value, or why it isn't there.
type Text struct {
	State State  `json:"state"`
	Text  string `json:"text,omitempty"`
	// Base64 holds the bytes of what is no text.
	Base64 []byte `json:"base64,omitempty"`
	// Bytes is the size of the whole, where Text is its beginning.
	Bytes int `json:"bytes,omitempty"`
	// Why says in words where a value is that isn't here.
	Why string `json:"why,omitempty"`
}

// Story is what is kept of one call.
type Story struct {
	V int `json:"v"`
	// Record is the record that was asked for, Related are the others of its call.
	Record  ledger.Record   `json:"record"`
	Related []ledger.Record `json:"related"`
	// About is nil where the record is about no call: then no more than Record is told.
	About *Call  `json:"call,omitempty"`
	Gates []Gate `json:"gates"`
	// Question is nil where no person was asked, End where nothing ran or runs still.
	Question *Question `json:"question,omitempty"`
	End      *End      `json:"end,omitempty"`
	Values   Values    `json:"values"`
	// Steps are the calls of the turn that had ended before this one was decided, the oldest first.
	Steps     []Step `json:"steps"`
	MoreSteps bool   `json:"more_steps,omitempty"`
	// Others are the conversation's other calls, the oldest first.
	Others     []Other `json:"others"`
	MoreOthers bool    `json:"more_others,omitempty"`
	// Readings are those who were shown values of the call, the newest first.
	Readings []Reading `json:"readings"`
	// Opened is the reading under which the values of this story were opened; nil without values.
	Opened *Reading `json:"opened,omitempty"`

	index int64 // of the decision's record
}

// Call is what the ledger says of the call and its decision.
type Call struct {
	// Decided is the record whose decision this is.
	Decided      string    `json:"decided"`
	At           time.Time `json:"at"`
	Kind         string    `json:"kind"`
	ID           string    `json:"id"`
	Decision     string    `json:"decision"`
	Outcome      string    `json:"outcome"`
	Gate         string    `json:"gate,omitempty"`
	Code         string    `json:"code,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	Skill        string    `json:"skill,omitempty"`
	Effect       string    `json:"effect,omitempty"`
	User         string    `json:"user,omitempty"`
	Agent        string    `json:"agent,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
	Turn         string    `json:"turn,omitempty"`
	Grant        string    `json:"grant,omitempty"`
	Remote       string    `json:"remote,omitempty"`
	MissionBy    string    `json:"mission_by,omitempty"`
	Outward      bool      `json:"outward"`
	Tainted      bool      `json:"tainted"`
	Degraded     bool      `json:"degraded"`
	Policy       string    `json:"policy,omitempty"`
	Digest       string    `json:"digest,omitempty"`
	Names        []string  `json:"argument_names"`
	Undeclared   int       `json:"undeclared"`
	Bytes        int       `json:"argument_bytes"`
	Flags        []Flag    `json:"flags"`
	Rewritten    *Rewrite  `json:"rewritten,omitempty"`
	ElapsedUS    int64     `json:"elapsed_us"`
	// Deviation is how far the call is from what was asked for, Drift how far its conversation is, in hundredths; nil where no
	// gate could tell.
	Deviation *int `json:"deviation,omitempty"`
	Drift     *int `json:"drift,omitempty"`
	// AgentKey is the public key that the record names as its agent's: vedette ledger verify --agents checks it.
	AgentKey string `json:"agent_key,omitempty"`
}

// Flag is what an argument looks like.
type Flag struct {
	Code string   `json:"code"`
	Args []string `json:"args"`
}

// Rewrite is what rules, or a person, changed in the arguments.
type Rewrite struct {
	Rules    []string `json:"rules"`
	Args     []string `json:"args"`
	EditedBy string   `json:"edited_by,omitempty"`
}

// Gate is one gate's verdict.
type Gate struct {
	Gate    string `json:"gate"`
	State   string `json:"state"`
	Outcome string `json:"outcome"`
	Code    string `json:"code,omitempty"`
	// Score is in hundredths, nil where the gate gives none.
	Score  *int   `json:"score,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Said is what the gate says in free words: of the review its model's reason.
	Said      Text              `json:"said"`
	Signals   []Signal          `json:"signals"`
	Degraded  bool              `json:"degraded,omitempty"`
	Meta      map[string]string `json:"meta,omitempty"`
	ElapsedUS int64             `json:"elapsed_us"`
}

// Signal is one ground of a verdict.
type Signal struct {
	Signal string `json:"signal"`
	// Words say what the signal means.
	Words  string   `json:"words"`
	Amount int      `json:"amount"`
	Args   []string `json:"args,omitempty"`
	// Doubt is open, counted or spent; empty for what is no doubt.
	Doubt string `json:"doubt,omitempty"`
}

// Question is how a person was asked.
type Question struct {
	Asked    time.Time `json:"asked"`
	Expires  time.Time `json:"expires,omitzero"`
	Answered time.Time `json:"answered,omitzero"`
	// Approver and Via are who answered and how; empty where no person did.
	Approver string `json:"approver,omitempty"`
	Via      string `json:"via,omitempty"`
	// Waited says how long the answer took, in milliseconds.
	WaitedMS int64 `json:"waited_ms,omitempty"`
}

// End is what became of an allowed call.
type End struct {
	Record    string    `json:"record"`
	At        time.Time `json:"at"`
	Status    string    `json:"status"`
	Code      string    `json:"code,omitempty"`
	Bytes     int       `json:"bytes"`
	Trust     string    `json:"trust,omitempty"`
	Isolation string    `json:"isolation,omitempty"`
	Marks     []string  `json:"marks,omitempty"`
	ElapsedUS int64     `json:"elapsed_us"`
}

// Values are what the journal holds of the call.
type Values struct {
	// Request are the user's own words of the turn, Before those of the turn before, as far as they were
	// known to the gates.
	Request Text `json:"request"`
	Before  Text `json:"before"`
	// Mission is what the agent was told.
	Mission   Text `json:"mission"`
	Arguments Text `json:"arguments"`
	// Proposed are the arguments before they were rewritten, Skill the name of a skill that is none.
	Proposed Text `json:"proposed"`
	Skill    Text `json:"skill"`
	// Evidence says where values of the call had been seen, as JSON.
	Evidence Text `json:"evidence"`
	// Touches are what the call would touch; TouchState says why they aren't there.
	Touches    []sentinel.Touched `json:"touches"`
	TouchState Text               `json:"touch_state"`
	// Result is what came back, Failure the words of an error.
	Result  Text `json:"result"`
	Failure Text `json:"failure"`
}

// Step is a call of the turn that had ended before.
type Step struct {
	Record string    `json:"record"`
	At     time.Time `json:"at"`
	Agent  string    `json:"agent"`
	// Own says that it was the same agent's, under the same grant.
	Own       bool   `json:"own"`
	Skill     string `json:"skill"`
	Status    string `json:"status"`
	Trust     string `json:"trust,omitempty"`
	Bytes     int    `json:"bytes"`
	Arguments Text   `json:"arguments"`
	Result    Text   `json:"result"`

	call string
	time time.Time
}

// Other is another call of the conversation.
type Other struct {
	Record  string    `json:"record"`
	At      time.Time `json:"at"`
	Agent   string    `json:"agent,omitempty"`
	Skill   string    `json:"skill,omitempty"`
	Outcome string    `json:"outcome"`
	Gate    string    `json:"gate,omitempty"`
	Code    string    `json:"code,omitempty"`
	// Status is what became of it, empty where nothing ran.
	Status string `json:"status,omitempty"`
}

// Reading is that somebody was shown values of a call.
type Reading struct {
	Record string    `json:"record"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Via    string    `json:"via"`
}

// Reader is who is shown values, and by which way: cli, api or web.
type Reader struct{ By, Via string }

// decodeBody reads a record's body. What can't be read is as if it were empty.
func decodeBody(r *ledger.Record, into any) {
	if len(r.Body) > 0 {
		_ = json.Unmarshal(r.Body, into)
	}
}
