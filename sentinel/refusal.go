package sentinel

import (
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// newRefusal puts a decision into words that a model can act on.
func newRefusal(d Decision) *skills.Refusal {
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
	case d.Code == CodeRevoked:
		r.Kind = skills.KindDeny
	case d.BlockedBy == GateApproval && d.Code == CodeApprovalExpired:
		r.Kind = skills.KindAskExpired
	case d.BlockedBy == GateApproval && d.Code == CodePendingFull:
		r.Kind = skills.KindBudget
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

// adviceAskAgain is for a call that needs a person and that no person refused.
const adviceAskAgain = "No person has refused it. You may make the call once more; a person is asked about it as it is then."

// adviceWait is for a call that a person is being asked about.
const adviceWait = "Wait for the person's answer; the call runs after a yes. Don't make it again."

// aboutTheCall are the gates that refuse a call for what it is. Limits refuse
// any, and a schema's refusal is an invitation to correct the arguments.
var aboutTheCall = map[string]bool{
	GateScope: true, GatePermission: true, GateGuard: true, GateJudge: true, GateReview: true, GateApproval: true,
}

// noAnswer are the codes of questions that no person answered, or whose answer is about another call.
var noAnswer = map[string]bool{
	CodeApprovalExpired: true, CodeApprovalCanceled: true, CodeApprovalNobody: true, CodeApprovalUnbindable: true,
	CodePendingFull: true, CodeApprovalEdited: true,
}

// isAboutTheCall reports whether a verdict that blocks a call says something of it.
func isAboutTheCall(v Verdict) bool {
	return v.State == Judged && v.Outcome != Defer && aboutTheCall[v.Gate] && !noAnswer[v.Code]
}
