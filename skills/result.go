package skills

import (
	"encoding/json"
	"fmt"
	"time"
)

// Result is what a skill returned.
type Result struct {
	// Content is what the model reads: text, or JSON as text.
	Content string `json:"content"`
	// Trust is filled in by the checkpoint from the Spec, never by the
	// skill itself.
	Trust Trust `json:"trust,omitempty"`
	// Isolation says under what containment the skill ran, for example
	// "landlock", "namespaces", "os.Root", "in process".
	Isolation string `json:"isolation,omitempty"`
	// Egress is what the skill's program did on its sandbox's network; nil where it
	// had none.
	Egress *Egress `json:"egress,omitempty"`
	// Note is the checkpoint's word to the agent: that rules changed the call
	// before it ran. A skill's own is replaced.
	Note string `json:"note,omitempty"`
	// Truncated is set when Content was cut at the output limit.
	Truncated bool `json:"truncated,omitempty"`
	// Template is set when the result is a fixed text from configuration
	// and nothing was done.
	Template bool `json:"template,omitempty"`
	// Follow is the call that has to be decided before this one has an outcome; nil
	// for none. It is the checkpoint's to heed, also beside an error.
	Follow *Follow `json:"-"`
}

// Follow is a call that an Executor asks the checkpoint to decide: the second half of
// its own. The checkpoint decides it as one of the same grant.
type Follow struct {
	Skill string
	// Args is the JSON of its arguments.
	Args json.RawMessage
	// Paths are all that it would write, for the guard; Args has only what a person reads.
	// The digest in Args covers them.
	Paths []FollowPath
	// Reasons say why a person must be asked, whatever became of the call itself: a
	// closed list of words. Empty for none.
	Reasons []string
	// Drop throws away what waits for the call. The checkpoint calls it once the call is
	// refused for good, and never while it is held.
	Drop func() error
}

// CommitName is the one skill that a Follow may ask for. No scope grants it: a call of it
// that follows from none is refused.
const CommitName = "exec.commit"

// FollowPath is one absolute path that a Follow would write. It may hold any bytes but NUL.
type FollowPath struct {
	Path    string
	Deleted bool // with all that is below it
	// Inert is set where its content is known to run nothing, whatever its name says.
	Inert bool
}

// Egress counts what a program did on the network of its sandbox. The numbers hold no
// value and are recorded in the ledger.
type Egress struct {
	// Connections were made; Refused are attempts that were not let through.
	Connections int64 `json:"connections"`
	Refused     int64 `json:"refused"`
	// BytesOut left for hosts, BytesIn came from them.
	BytesOut int64 `json:"bytes_out"`
	BytesIn  int64 `json:"bytes_in"`
	// Unrecorded are those that Details leaves out, since there were too many.
	Unrecorded int64 `json:"unrecorded,omitempty"`
	// Details lists hosts, ports and outcomes as JSON, at most MaxEgress bytes. A
	// program chooses the hosts that it asks for, so they are values: they go to the
	// journal, never to the ledger or a log.
	Details json.RawMessage `json:"-"`
}

// MaxEgress is the greatest size in bytes of an Egress's details; longer ones are
// dropped, and the numbers stay.
const MaxEgress = 256 << 10

// The kinds of refusal: a closed list that a program can branch on.
const (
	KindDeny       = "deny"        // a gate said no
	KindAskDenied  = "ask_denied"  // a person said no, or no person was there to ask
	KindAskExpired = "ask_expired" // a person was asked and did not answer in time
	KindDefer      = "defer"       // not now: the same call may come again
	KindBudget     = "budget"      // a limit is used up
	KindInvalid    = "invalid"     // the proposal was not a well-formed call
	KindPaused     = "paused"      // an operator stopped all work
	KindAsk        = "ask"         // the call is held: a person is being asked, and it may still run
)

// Refusal is the typed answer to a call that did not run. The model is shown
// it and can act on it; a program can branch on Kind and Code.
type Refusal struct {
	Kind         string        `json:"kind"`
	Gate         string        `json:"gate,omitempty"`
	Code         string        `json:"code,omitempty"`
	Reason       string        `json:"reason"`
	WhatYouCanDo string        `json:"what_you_can_do,omitempty"`
	DecisionID   string        `json:"decision_id,omitempty"`
	RetryAfter   time.Duration `json:"retry_after,omitempty"`
	// Retryable says that the very same call may come again, see [Retryable].
	Retryable bool `json:"retryable"`
}

// Error returns the refusal as one line.
func (r *Refusal) Error() string {
	return fmt.Sprintf("refused by %s (%s): %s", r.Gate, r.Code, r.Reason)
}
