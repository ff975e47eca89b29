package skills

import "time"

// Retryable reports whether the very same call may come again and be decided
// otherwise, though nobody changes it, the configuration or the person's mind:
//
//   - defer and paused: yes, after the time that the refusal names, if any;
//   - budget: where after, the refusal's RetryAfter, says that room comes back within the grant's life;
//     a budget of an agent or a turn doesn't come back;
//   - deny: where nothing was held against the call, but nobody could say
//     (limits.away, limits.error, limits.canceled, review.unavailable,
//     review.unjudgeable);
//   - ask_denied: where what was approved has changed (approval.changed,
//     approval.superseded), or the question reached nobody (approval.error,
//     approval.panic, approval.no_answer, approval.canceled), so that a person may
//     be asked again; never after a person's no, or where nobody can be asked;
//   - ask_expired and invalid: no. Who didn't answer isn't asked again by an agent,
//     and a malformed call stays malformed.
//
// An unknown kind or code is not retryable.
func Retryable(kind, code string, after time.Duration) bool {
	switch kind {
	case KindDefer, KindPaused:
		return true
	case KindBudget:
		return after > 0
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
