package skills_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// A refusal says that the call may come again only where it could be decided
// otherwise though nothing is changed.
func TestRetryable(t *testing.T) {
	for _, row := range []struct {
		kind, code string
		after      time.Duration
		want       bool
	}{
		{skills.KindDefer, "", 0, true},
		{skills.KindPaused, "", 0, true},
		{skills.KindBudget, "limits.calls", time.Second, true},
		{skills.KindBudget, "limits.calls", 0, false},
		{skills.KindBudget, "limits.calls", -time.Second, false},
		{skills.KindDeny, "review.unjudgeable", 0, true},
		{skills.KindDeny, "guard.path", time.Hour, false},
		{skills.KindAsk, "judge.ask_below", 0, false},
		{skills.KindAskDenied, "approval.changed", 0, true},
		{skills.KindAskDenied, "approval.denied", 0, false},
		{skills.KindAskExpired, "approval.changed", time.Hour, false},
		{skills.KindInvalid, "limits.away", time.Hour, false},
		{"other", "limits.away", time.Hour, false},
	} {
		require.Equal(t, row.want, skills.Retryable(row.kind, row.code, row.after), "%+v", row)
	}
}
