package skills

import "time"

// Retryable reports whether the very same call may come again and be decided otherwise, though
// nothing was changed:
//
//   - defer and paused: yes, after the time that the refusal names, if any;
//   - budget: where after, the refusal's RetryAfter, says that room comes back within the grant's life,
//     and for approval.pending_full, whose room comes back as people answer;
//     a budget of an agent or a turn doesn't come back;
//   - deny: where nothing was held against the call, but no judge could say
//     (limits.away, limits.error, limits.canceled, review.unavailable,
//     review.unjudgeable);
//   - ask_denied: where what was approved has changed (approval.changed,
//     approval.superseded), or the question reached no person (approval.error,
//     approval.panic, approval.no_answer, approval.canceled), so that a person may
//     be asked again; never after a person's no, or where no person can be asked;
//   - ask, ask_expired and invalid: no. A person may still answer a held call, an
//     agent doesn't repeat a question that expired, and a malformed call stays so.
//
// An unknown kind or code is not retryable.
func Retryable(kind, code string, after time.Duration) bool {
	switch kind {
	case KindDefer, KindPaused:
		return true
	case KindBudget:
		return after > 0 || code == "approval.pending_full"
	case KindDeny:
		switch code {
		case "limits.away", "limits.error", "limits.canceled", "review.unavailable", "review.unjudgeable":
			return true
		}
	case KindAskDenied:
		switch code {
		case "approval.changed", "approval.superseded", "approval.error", "approval.panic", "approval.no_answer", "approval.canceled":
			return true
		}
	}
	return false
}
