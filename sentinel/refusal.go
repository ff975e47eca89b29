package sentinel

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// refusal puts a decision into words that a model can act on.
func refusal(d Decision) *skills.Refusal {
	r := &skills.Refusal{
		Kind: skills.KindDeny, Gate: d.BlockedBy, Code: d.Code, Reason: d.Explanation(), DecisionID: d.ID,
	}
	if d.Modified != nil {
		r.Reason = strings.TrimSpace(d.Modified.Note() + " " + r.Reason)
	}
	if v, ok := d.Verdict(d.BlockedBy); ok {
		r.RetryAfter, r.WhatYouCanDo = v.RetryAfter, v.WhatYouCanDo
	}
	switch {
	case d.Code == CodePaused:
		r.Kind = skills.KindPaused
	case d.BlockedBy == GateApproval && d.Code == "approval.expired":
		r.Kind = skills.KindAskExpired
	case d.BlockedBy == GateApproval:
		r.Kind = skills.KindAskDenied
	case d.Outcome == Defer:
		r.Kind = skills.KindDefer
	case d.BlockedBy == GateLimits && d.Code != codeCanceled && d.Code != CodeLimitsAway:
		r.Kind = skills.KindBudget
	}
	r.Retryable = skills.Retryable(r.Kind, r.Code, r.RetryAfter)
	switch {
	case r.WhatYouCanDo != "":
	case r.Retryable && r.Kind == skills.KindAskDenied:
		r.WhatYouCanDo = adviceAskAgain
	default:
		r.WhatYouCanDo = advice[d.BlockedBy]
	}
	return r
}

// codeCanceled is the code of a call whose caller left before it could start.
const codeCanceled = "limits.canceled"

// advice is what an agent can do when a gate has nothing better to say.
var advice = map[string]string{
	GateParse:      "Send the arguments as one JSON object that fits the skill's parameters.",
	GateLimits:     "Finish with what you have, or ask the orchestrator for help.",
	GateSchema:     "Correct the arguments and call again.",
	GateScope:      "Use one of your own skills, or request_help for another.",
	GatePermission: "Leave this to the user; don't try again.",
	GateGuard:      "This is never allowed. Don't try it in another form.",
	GateJudge:      "Do only what the user asked for; report what you can't do.",
	GateReview:     "Do only what the user asked for; report what you can't do.",
	GateApproval:   "Don't repeat the call; tell the user what was not done.",
}

// adviceAskAgain is for a call that needs a person, and that nobody said no to.
const adviceAskAgain = "Nobody has said no. You may make the call once more; a person is asked about it as it is then."

// The rate at which proposals that became no Call are recorded.
const (
	refusedPerMinute = 20
	refusedKeys      = 10_000
)

// refusedLimit bounds what a model can write into the ledger with noise. What
// is left out is counted, and told with the next record of anybody.
type refusedLimit struct {
	mu      sync.Mutex
	by      map[string]*refusedCount
	omitted int
}

type refusedCount struct {
	since time.Time
	n     int
}

// take reports whether one more refusal of key may be recorded, and how many
// were left out so far.
func (l *refusedLimit) take(key string, now time.Time) (ok bool, omitted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.by[key]
	if c == nil {
		c = l.add(key, now)
	}
	if now.Sub(c.since) >= time.Minute {
		c.since, c.n = now, 0
	}
	if c.n++; c.n > refusedPerMinute {
		l.omitted++
		return false, 0
	}
	omitted, l.omitted = l.omitted, 0
	return true, omitted
}

// add makes room by dropping counts that are over, and one that is not where
// all are in use: that one starts anew.
func (l *refusedLimit) add(key string, now time.Time) *refusedCount {
	if l.by == nil {
		l.by = map[string]*refusedCount{}
	}
	if len(l.by) >= refusedKeys {
		dropped := false
		for k, c := range l.by {
			if now.Sub(c.since) >= time.Minute {
				delete(l.by, k)
				dropped = true
			}
		}
		for k := range l.by {
			if dropped {
				break
			}
			delete(l.by, k)
			dropped = true
		}
	}
	c := &refusedCount{since: now}
	l.by[key] = c
	return c
}

// putBack returns a count whose record was not written.
func (l *refusedLimit) putBack(omitted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.omitted += omitted
}

// OnRecord is what the ledger says of a decision, for whoever is shown it later:
// codes and fixed words, no value of the call.
type OnRecord struct {
	// Turn is the grant's; Outcome and BlockedBy are the decision's.
	Turn, BlockedBy string
	Outcome         Outcome
	Degraded        bool
	// Approver is who answered for a person, empty where nobody did.
	Approver string
	// Refusal is what a decision that didn't allow says, nil where it allowed.
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
		Gates      []struct {
			Gate string            `json:"gate"`
			Meta map[string]string `json:"meta"`
		} `json:"gates"`
	}
	if err := json.Unmarshal(raw, &b); err != nil || b.DecisionID == "" {
		return OnRecord{}, errors.New("the record of a decision can't be read")
	}
	r := OnRecord{Turn: b.Turn, BlockedBy: b.BlockedBy, Outcome: b.Outcome, Degraded: b.Degraded}
	if kind == RecordRefused {
		r.BlockedBy = GateParse
	}
	for _, g := range b.Gates {
		if g.Gate == GateApproval {
			r.Approver = g.Meta["by"]
		}
	}
	if r.Outcome == Allow {
		return r, nil
	}
	r.Refusal = refusal(Decision{ID: b.DecisionID, Outcome: b.Outcome, BlockedBy: r.BlockedBy, Code: b.Code, Reason: b.Reason})
	if kind == RecordRefused {
		r.Refusal.Kind = skills.KindInvalid
		r.Refusal.Retryable = false
	}
	return r, nil
}
