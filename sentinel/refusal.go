package sentinel

import (
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
	case d.BlockedBy == GateApproval && d.Code == "approval.expired":
		r.Kind = skills.KindAskExpired
	case d.BlockedBy == GateApproval:
		r.Kind = skills.KindAskDenied
	case d.Outcome == Defer:
		r.Kind = skills.KindDefer
	case d.BlockedBy == GateLimits && d.Code != codeCanceled:
		r.Kind = skills.KindBudget
	}
	if r.WhatYouCanDo == "" {
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

// The rate at which proposals that became no Call are recorded.
const (
	refusedPerMinute = 20
	refusedKeys      = 10_000
)

// refusedLimit bounds what a model can write into the ledger with noise. What
// is left out is counted and told with the next record.
type refusedLimit struct {
	mu sync.Mutex
	by map[string]*refusedCount
}

type refusedCount struct {
	since      time.Time
	n, omitted int
}

func (l *refusedLimit) take(conversation string, now time.Time) (ok bool, omitted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil || len(l.by) >= refusedKeys {
		l.by = map[string]*refusedCount{}
	}
	c := l.by[conversation]
	if c == nil {
		c = &refusedCount{since: now}
		l.by[conversation] = c
	}
	if now.Sub(c.since) >= time.Minute {
		c.since, c.n = now, 0
	}
	if c.n++; c.n > refusedPerMinute {
		c.omitted++
		return false, 0
	}
	omitted, c.omitted = c.omitted, 0
	return true, omitted
}
