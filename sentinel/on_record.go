package sentinel

import (
	"encoding/json"
	"errors"

	"github.com/vedette-dev/vedette/skills"
)

// OnRecord is what the ledger says of a decision, for people who are shown it
// later: codes and fixed words, no value of the call.
type OnRecord struct {
	// Turn is the grant's; Outcome and BlockedBy are the decision's.
	Turn, BlockedBy string
	Outcome         Outcome
	Degraded        bool
	// Approver is who answered the question; empty where no person did.
	Approver string
	// Refusal is what a decision that didn't allow says, nil where it allowed. Of
	// a held call it says who asks and why, and its kind is skills.KindAsk.
	// How long to wait, and a gate's own advice, are not on record.
	Refusal *skills.Refusal
}

// ReadRecord reads the body of a record of kind RecordDecision, RecordHeld or
// RecordRefused. The error is for a body that is none of them.
func ReadRecord(kind string, raw []byte) (OnRecord, error) {
	var b struct {
		DecisionID string  `json:"decision"`
		Turn       string  `json:"turn"`
		Outcome    Outcome `json:"outcome"` // absent in a refused proposal's: deny
		BlockedBy  string  `json:"blocked_by"`
		Code       string  `json:"code"`
		Reason     string  `json:"reason"`
		Degraded   bool    `json:"degraded"`
		Approver   string  `json:"approver"`
		Gates      []struct {
			Gate string            `json:"gate"`
			Meta map[string]string `json:"meta"`
		} `json:"gates"`
	}
	if err := json.Unmarshal(raw, &b); err != nil || b.DecisionID == "" {
		return OnRecord{}, errors.New("the record of a decision can't be read")
	}
	r := OnRecord{Turn: b.Turn, BlockedBy: b.BlockedBy, Outcome: b.Outcome, Degraded: b.Degraded, Approver: b.Approver}
	if kind == RecordRefused {
		r.BlockedBy = GateParse
	}
	for _, g := range b.Gates { // a record of before it had a field for the approver
		if g.Gate == GateApproval && r.Approver == "" {
			r.Approver = g.Meta["by"]
		}
	}
	return r.refuse(kind, Decision{ID: b.DecisionID, Outcome: b.Outcome, BlockedBy: r.BlockedBy, Code: b.Code, Reason: b.Reason}), nil
}

// OnRecord returns what a record of that kind says of the decision, as ReadRecord does: no value
// of the call.
func (d Decision) OnRecord(kind string) OnRecord {
	r := OnRecord{BlockedBy: d.BlockedBy, Outcome: d.Outcome, Degraded: d.Degraded, Approver: d.Approver}
	if kind == RecordRefused {
		r.BlockedBy = GateParse
	}
	return r.refuse(kind, Decision{ID: d.ID, Outcome: d.Outcome, BlockedBy: r.BlockedBy, Code: d.Code, Reason: d.Reason})
}

// refuse adds the refusal of a decision that didn't allow.
func (r OnRecord) refuse(kind string, d Decision) OnRecord {
	if r.Outcome == Allow {
		return r
	}
	r.Refusal = newRefusal(d)
	switch kind {
	case RecordRefused:
		r.Refusal.Kind = skills.KindInvalid
		r.Refusal.Retryable = false
	case RecordHeld, EventAsked: // the gate that asks is no gate that refuses
		r.Refusal.Kind, r.Refusal.Retryable = skills.KindAsk, false
		r.Refusal.WhatYouCanDo = adviceWait
	}
	return r
}
