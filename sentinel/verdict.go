package sentinel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// The gates by name, in the order in which they run. Each Checkpoint accounts
// for every one of them in every Decision.
const (
	GateLimits     = "limits"
	GateSchema     = "schema"
	GateScope      = "scope"
	GatePermission = "permission"
	GateGuard      = "guard"
	GateJudge      = "judge"
	GateReview     = "review"
	GateApproval   = "approval"
)

// GateParse stands as blocked_by for a proposal that never became a Call. It
// is not a gate.
const GateParse = "parse"

// gateOrder is the gates in order, the inner ones between limits and approval.
var gateOrder = [...]string{GateLimits, GateSchema, GateScope, GatePermission, GateGuard, GateJudge, GateReview, GateApproval}

// GateNames returns the gates in order.
func GateNames() []string { return slices.Clone(gateOrder[:]) }

// Gate is one check. Check answers with a Verdict, or with an error when it
// could not judge; an error denies. A Gate must not keep or change the Call,
// and must return when ctx ends. Name is one of the constants above.
type Gate interface {
	Name() string
	Check(ctx context.Context, c Call) (Verdict, error)
}

// State says whether a gate judged.
type State uint8

// The states of a Verdict. The zero value is NotReached.
const (
	NotReached State = iota // an earlier outcome made it pointless
	Skipped                 // it was switched off, or does not apply
	Judged                  // it gave an outcome
	Failed                  // it could not judge; it counts as a denial
	Shadow                  // it gave an outcome that is recorded and not applied
)

var stateWords = [...]string{"not_reached", "skipped", "judged", "failed", "shadow"}

// String returns the state's word.
func (s State) String() string { return stateWords[min(int(s), len(stateWords)-1)] }

// MarshalText writes the state's word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Evidence is one finding behind a verdict. It never holds a value.
type Evidence struct {
	// Signal is a name from the gate's closed list: "traversal",
	// "intent_mention", "rule permissions[1]".
	Signal string `json:"signal"`
	// Amount is what it added to the score, in hundredths.
	Amount int `json:"amount,omitempty"`
	// Args are the declared arguments it was seen in.
	Args []string `json:"args,omitempty"`
	// Doubt is set where it is part of the verdict's doubt and not of its outcome.
	Doubt bool `json:"doubt,omitempty"`
}

// Verdict is one gate's outcome. Its zero value denies.
type Verdict struct {
	Gate    string
	State   State
	Outcome Outcome
	// Code is from the gate's closed list, "gate.what": "scope.not_granted".
	// Empty for a plain allow.
	Code string
	// Score is in hundredths, 0 to 100; only HasScore makes it count.
	Score    int
	HasScore bool
	// Reason is one line for people, made of codes, numbers, names from the
	// configuration and declared argument names alone: it is recorded.
	Reason string
	// Detail is free text (schema messages, a model's reason) that may hold
	// values: it is sealed, and shown to the agent, to the review and to the person who is asked.
	Detail   string
	Evidence []Evidence
	// Doubt is what the judge can't tell; nil where it has none.
	Doubt *Doubt
	// SpentDoubts is the DoubtsKey of the doubts that were before the model which
	// judged the call. It is the review's, and empty where no model judged or the model
	// may not spend doubts.
	SpentDoubts string
	// SpentEvidence is the digest of the evidence that was before that model, in hexadecimal
	// digits; empty where it was shown none. With evidence that is not the call's no doubt is
	// spent.
	SpentEvidence string
	// Question names what the review's models were asked about the call, and which models; empty where
	// none were. It is sealed in the journal, for a replay under another configuration.
	Question string
	// WhatYouCanDo tells the agent what would help; empty takes a default.
	WhatYouCanDo string
	// Degraded marks an outcome given because the gate's model, or the store
	// of the limits, was down.
	Degraded bool
	// RetryAfter goes with Defer and with limits.
	RetryAfter time.Duration
	// Edit goes with an approver's Deny of the code CodeApprovalEdited: the arguments that the
	// person wants the call to have. They are another call, which begins at the first gate.
	Edit json.RawMessage
	// Meta is what the gate wants recorded besides: model, prompt version,
	// tokens, who approved. Keys and values are the gate's or the
	// configuration's own words, never an argument's. Verdicts may share it: read it, and
	// write to a clone.
	Meta map[string]string
	// Elapsed is filled in by the Checkpoint.
	Elapsed time.Duration
}

// Pass returns an Allow without a code.
func Pass() Verdict { return Verdict{State: Judged, Outcome: Allow} }

// Refuse returns a Deny with code and reason.
func Refuse(code, reason string) Verdict {
	return Verdict{State: Judged, Outcome: Deny, Code: code, Reason: reason}
}

// Hold returns an Ask with code and reason.
func Hold(code, reason string) Verdict {
	return Verdict{State: Judged, Outcome: Ask, Code: code, Reason: reason}
}

// The bounds of a verdict, so that a record of eight of them always fits.
const (
	maxReason   = 2 << 10
	maxDetail   = 16 << 10
	maxEvidence = 64
)

// cutToBounds cuts what a gate says too much of.
func (v *Verdict) cutToBounds() {
	v.Reason, v.Detail = textcut.Head(v.Reason, maxReason), textcut.Head(v.Detail, maxDetail)
	if len(v.Evidence) > maxEvidence {
		v.Evidence = append(slices.Clip(v.Evidence[:maxEvidence]), Evidence{Signal: fmt.Sprintf("and %d more", len(v.Evidence)-maxEvidence)})
	}
}

// Counts reports whether the verdict takes part in the outcome.
func (v Verdict) Counts() bool { return v.State == Judged || v.State == Failed }

// Word is the outcome as check and eval print it: the outcome's word, or
// skipped or not_reached where the gate gave none.
func (v Verdict) Word() string {
	if v.Counts() {
		return v.Outcome.String()
	}
	if v.State == NotReached {
		return "not_reached"
	}
	return "skipped"
}

// Skip returns a gate that is accounted for and never judges: what a
// configuration puts in the place of a gate that it switches off.
func Skip(name, reason string) Gate { return skipGate{name, reason} }

type skipGate struct{ name, reason string }

func (g skipGate) Name() string { return g.name }

func (g skipGate) Check(context.Context, Call) (Verdict, error) {
	return Verdict{State: Skipped, Reason: g.reason}, nil
}
