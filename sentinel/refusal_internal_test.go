package sentinel

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// What is put before a model or a program says whether the same call may come
// again, and what it is told to do says the same.
func TestRefusalsSayWhetherTheyAreRetryable(t *testing.T) {
	for name, tc := range map[string]struct {
		outcome    Outcome
		gate, code string
		after      time.Duration
		kind       string
		want       bool
	}{
		"a gate":            {gate: GateGuard, code: "guard.irrecoverable", kind: skills.KindDeny},
		"no judgement":      {gate: GateReview, code: "review.unavailable", kind: skills.KindDeny, want: true},
		"a rejection":       {gate: GateReview, code: "review.rejected", kind: skills.KindDeny},
		"a person's no":     {gate: GateApproval, code: "approval.denied", kind: skills.KindAskDenied},
		"nobody to ask":     {gate: GateApproval, code: "approval.nobody", kind: skills.KindAskDenied},
		"changed since":     {gate: GateApproval, code: "approval.changed", kind: skills.KindAskDenied, want: true},
		"no answer in time": {gate: GateApproval, code: "approval.expired", kind: skills.KindAskExpired},
		"not now": {outcome: Defer, gate: GateReview, code: "review.unavailable", after: time.Second, kind: skills.KindDefer,
			want: true},
		"a turn's budget":       {gate: GateLimits, code: "limits.turn_calls", kind: skills.KindBudget},
		"a window's budget":     {gate: GateLimits, code: "limits.conversation_calls", after: time.Minute, kind: skills.KindBudget, want: true},
		"nobody counts":         {gate: GateLimits, code: CodeLimitsAway, kind: skills.KindDeny, want: true},
		"an operator's stop":    {gate: GateLimits, code: CodePaused, kind: skills.KindPaused, want: true},
		"a call that was lost":  {gate: GateLimits, code: codeCanceled, kind: skills.KindDeny, want: true},
		"an unfinished gate":    {gate: GateSchema, code: "schema.panic", kind: skills.KindDeny},
		"a malformed proposal":  {gate: GateParse, code: "parse.syntax", kind: skills.KindDeny},
		"a skill out of a term": {gate: GateScope, code: "scope.expired", kind: skills.KindDeny},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decision{ID: "d", Outcome: tc.outcome, BlockedBy: tc.gate, Code: tc.code}
			d.Verdicts = []Verdict{{Gate: tc.gate, State: Judged, Outcome: tc.outcome, Code: tc.code, RetryAfter: tc.after}}
			r := newRefusal(d)
			require.Equal(t, tc.kind, r.Kind)
			require.Equal(t, tc.want, r.Retryable)
			require.Equal(t, tc.want && tc.gate == GateApproval, r.WhatYouCanDo == adviceAskAgain)
			raw, err := json.Marshal(r)
			require.NoError(t, err)
			var seen map[string]any
			require.NoError(t, json.Unmarshal(raw, &seen))
			require.Equal(t, tc.want, seen["retryable"], "also where it is no")
		})
	}
}

// A refusal from the journal of a version that didn't say is told likewise.
func TestEarlierRefusalsSayWhetherTheyAreRetryable(t *testing.T) {
	for text, want := range map[string]bool{
		`{"kind":"defer","code":"review.unavailable","reason":"x"}`: true,
		`{"kind":"deny","code":"guard.core","reason":"x"}`:          false,
	} {
		var p Past
		p.readRefusal(Record{Kind: RecordDecision, Values: []Value{{valueRefusal, []byte(text)}}})
		require.Equal(t, want, p.Refusal.Retryable)
	}
	var p Past
	p.readRefusal(Record{Kind: RecordDecision, Gate: GateLimits, Code: "limits.turn_calls"})
	require.False(t, p.Refusal.Retryable, "of what was erased the code must do")
}
