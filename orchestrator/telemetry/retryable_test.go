package telemetry

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// Every kind of refusal with every code that there is says whether the same call
// may come again. A new code isn't retryable until it is written here.
func TestEveryRefusalSaysWhetherItIsRetryable(t *testing.T) {
	again := map[string][]string{
		skills.KindDeny: {"limits.away", "limits.canceled", "limits.error", "review.unavailable", "review.unjudgeable"},
		skills.KindAskDenied: {"approval.canceled", "approval.changed", "approval.error", "approval.no_answer", "approval.panic",
			"approval.superseded"},
		skills.KindAskExpired: nil, skills.KindInvalid: nil,
		skills.KindBudget: {"approval.pending_full"},
	}
	all := slices.Sorted(maps.Keys(codes))
	require.Greater(t, len(all), 80)
	for kind, want := range again {
		var got []string
		for _, code := range all {
			if skills.Retryable(kind, code, 0) {
				got = append(got, code)
			}
		}
		require.Equal(t, want, got, kind)
	}
	for _, code := range append(all, "") {
		require.True(t, skills.Retryable(skills.KindDefer, code, 0), code)
		require.True(t, skills.Retryable(skills.KindPaused, code, 0), code)
		require.True(t, skills.Retryable(skills.KindBudget, code, time.Second), "room comes back")
		require.False(t, skills.Retryable("another", code, time.Second))
	}
	require.Len(t, again, len(refusals)-2, "every kind")
}
