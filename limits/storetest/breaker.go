package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
)

var rule = limits.Rule{Failures: 3, Window: time.Minute, OpenFor: 30 * time.Second}

const skill = "skill/email.send"

func admit(t *testing.T, h Harness, call string) limits.Admission {
	t.Helper()
	got, err := h.Store.Admit(t.Context(), skill, call, rule)
	require.NoError(t, err)
	return got
}

func settle(t *testing.T, h Harness, call string, outcome limits.Outcome) {
	t.Helper()
	require.NoError(t, h.Store.Settle(t.Context(), skill, call, outcome, rule))
}

func requireState(t *testing.T, h Harness, want limits.State) {
	t.Helper()
	got, err := h.Store.State(t.Context(), skill, rule)
	require.NoError(t, err)
	require.Equal(t, want.String(), got.String())
}

// trip opens the breaker now.
func trip(t *testing.T, h Harness) {
	t.Helper()
	for i := range rule.Failures {
		requireState(t, h, limits.Closed)
		settle(t, h, fmt.Sprint("trip", i), limits.Failed)
	}
	requireState(t, h, limits.Open)
}

func breakerLife(t *testing.T, h Harness) {
	require.Equal(t, limits.Admission{OK: true}, admit(t, h, "1"))
	trip(t, h)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admit(t, h, "2"))
	h.Shift(rule.OpenFor - time.Millisecond)
	require.Equal(t, limits.Admission{RetryAfter: time.Millisecond}, admit(t, h, "2"))
	h.Shift(time.Millisecond)
	requireState(t, h, limits.HalfOpen)
	require.Equal(t, limits.Admission{OK: true, Probe: true}, admit(t, h, "3"))
	settle(t, h, "3", limits.Failed)
	requireState(t, h, limits.Open)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admit(t, h, "4"))
	h.Shift(rule.OpenFor)
	require.True(t, admit(t, h, "5").Probe)
	settle(t, h, "5", limits.Succeeded)
	requireState(t, h, limits.Closed)
	// The old failures are gone: it takes three new ones.
	trip(t, h)
}

func failuresSlide(t *testing.T, h Harness) {
	settle(t, h, "1", limits.Failed)
	settle(t, h, "1", limits.Failed)
	settle(t, h, "1", limits.Failed)
	requireState(t, h, limits.Closed)
	h.Shift(time.Second)
	settle(t, h, "1", limits.Failed) // Told again, it counts from when it was told first.
	settle(t, h, "2", limits.Failed)
	settle(t, h, "ok", limits.Succeeded) // A success between failures excuses none.
	settle(t, h, "gone", limits.Abandoned)
	h.Shift(rule.Window - time.Second)
	settle(t, h, "3", limits.Failed) // The first has just left.
	requireState(t, h, limits.Closed)
	h.Shift(time.Second - time.Millisecond)
	settle(t, h, "4", limits.Failed) // The second is about to.
	requireState(t, h, limits.Open)
}

func oneProbe(t *testing.T, h Harness) {
	trip(t, h)
	h.Shift(rule.OpenFor)
	got := race(t, 200, func(i int) (bool, error) {
		a, err := h.Store.Admit(t.Context(), skill, fmt.Sprint(i), rule)
		return a.OK, err
	})
	require.Equal(t, 1, got)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admit(t, h, "late"))
}

func lostProbe(t *testing.T, h Harness) {
	trip(t, h)
	h.Shift(rule.OpenFor)
	require.True(t, admit(t, h, "1").Probe)
	require.True(t, admit(t, h, "1").Probe, "asking again is the same probe")
	require.False(t, admit(t, h, "2").OK)
	settle(t, h, "2", limits.Abandoned) // Not the probe's to give back.
	require.False(t, admit(t, h, "2").OK)
	settle(t, h, "1", limits.Abandoned)
	require.True(t, admit(t, h, "2").Probe)

	h.Shift(rule.OpenFor - time.Millisecond)
	require.Equal(t, limits.Admission{RetryAfter: time.Millisecond}, admit(t, h, "3"))
	h.Shift(time.Millisecond)
	require.True(t, admit(t, h, "3").Probe, "the second never came back")
	settle(t, h, "2", limits.Succeeded)
	requireState(t, h, limits.HalfOpen)
	settle(t, h, "3", limits.Succeeded)
	requireState(t, h, limits.Closed)
}

func lateAnswers(t *testing.T, h Harness) {
	require.True(t, admit(t, h, "slow1").OK)
	require.True(t, admit(t, h, "slow2").OK)
	trip(t, h)
	settle(t, h, "slow1", limits.Succeeded)
	requireState(t, h, limits.Open)
	h.Shift(rule.OpenFor - time.Second)
	settle(t, h, "slow2", limits.Failed)
	h.Shift(time.Second)
	requireState(t, h, limits.HalfOpen) // The late failure didn't prolong it,
	require.True(t, admit(t, h, "probe").Probe)
	settle(t, h, "slow2", limits.Failed)
	settle(t, h, "slow1", limits.Succeeded)
	requireState(t, h, limits.HalfOpen) // nor decide in the probe's place.
}

func breakersApart(t *testing.T, h Harness) {
	trip(t, h)
	got, err := h.Store.Admit(t.Context(), "skill/email.read", "1", rule)
	require.NoError(t, err)
	require.Equal(t, limits.Admission{OK: true}, got)
	// Forgetting is for buckets.
	require.NoError(t, h.Store.Forget(t.Context(), "skill"))
	requireState(t, h, limits.Open)
}

func breakerClockSetBack(t *testing.T, h Harness) {
	h.Shift(time.Hour)
	settle(t, h, "1", limits.Failed)
	settle(t, h, "2", limits.Failed)
	h.Shift(-2 * time.Hour)
	settle(t, h, "3", limits.Failed)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admit(t, h, "4"))
	h.Shift(2 * time.Hour)
	requireState(t, h, limits.Open)
	h.Shift(rule.OpenFor)
	require.True(t, admit(t, h, "4").Probe)
	h.Shift(-time.Hour)
	require.False(t, admit(t, h, "5").OK)
}

func malformedBreaker(t *testing.T, h Harness) {
	bad := []limits.Rule{
		{}, {Failures: 1, Window: time.Second}, {Failures: 1, OpenFor: time.Second}, {Window: time.Second, OpenFor: time.Second},
	}
	for _, r := range bad {
		got, err := h.Store.Admit(t.Context(), skill, "1", r)
		require.ErrorIs(t, err, limits.ErrRequest)
		require.False(t, got.OK)
		require.ErrorIs(t, h.Store.Settle(t.Context(), skill, "1", limits.Failed, r), limits.ErrRequest)
		_, err = h.Store.State(t.Context(), skill, r)
		require.ErrorIs(t, err, limits.ErrRequest)
	}
	_, err := h.Store.Admit(t.Context(), "", "1", rule)
	require.ErrorIs(t, err, limits.ErrRequest)
	_, err = h.Store.Admit(t.Context(), skill, "", rule)
	require.ErrorIs(t, err, limits.ErrRequest)
	require.ErrorIs(t, h.Store.Settle(t.Context(), skill, "1", 0, rule), limits.ErrRequest)
	require.ErrorIs(t, h.Store.Settle(t.Context(), skill, "1", limits.Abandoned+1, rule), limits.ErrRequest)
	requireState(t, h, limits.Closed)
}
