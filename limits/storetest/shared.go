package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
)

// OpenTwo returns two stores over the same counts, as two processes have them,
// with one clock: shifting either shifts both.
type OpenTwo func(t *testing.T) (a, b Harness)

// RunShared runs the tests of what processes share. Run has the rest.
func RunShared(t *testing.T, open OpenTwo) {
	t.Helper()
	tests := []struct {
		name string
		run  func(t *testing.T, a, b Harness)
	}{
		// What one takes the other finds taken, and a repetition is free also
		// where it comes from the other.
		{"one budget", oneBudget},
		// However many ask on both sides, exactly Max get a slot.
		{"concurrent callers on both sides get exactly Max", exactlyMaxTogether},
		// What one forgets is forgotten for both.
		{"one forgets for both", forgetTogether},
		// Failures that both saw open one breaker, and a single probe of either
		// gets through; the other's may follow when it doesn't end.
		{"one breaker", oneBreaker},
		// However many ask on both sides, one is the probe.
		{"one probe among both", oneProbeTogether},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := open(t)
			test.run(t, a, b)
		})
	}
}

func oneBudget(t *testing.T, a, b Harness) {
	buckets := []limits.Bucket{{Key: "c/agent", Max: 3}, {Key: "c/calls", Max: 2, Window: time.Minute}}
	require.True(t, take(t, a, "1", buckets...).OK)
	require.True(t, take(t, b, "1", buckets...).OK, "the same call again")
	require.Equal(t, 2, take(t, b, "2", buckets...).Used)
	require.Equal(t, limits.Taken{Full: 1, Used: 2, RetryAfter: time.Minute}, take(t, a, "3", buckets...))
	b.Shift(time.Minute)
	require.Equal(t, 3, take(t, a, "3", buckets...).Used)
	require.Equal(t, limits.Taken{Full: 0, Used: 3}, take(t, b, "4", buckets...))
}

func exactlyMaxTogether(t *testing.T, a, b Harness) {
	const most = 23
	buckets := []limits.Bucket{{Key: "c/a", Max: 300}, {Key: "c/b", Max: most}, {Key: "c/c", Max: 200, Window: time.Minute}}
	got := race(t, 400, func(i int) (bool, error) {
		h := a
		if i%2 == 1 {
			h = b
		}
		taken, err := h.Store.Take(t.Context(), fmt.Sprint(i), buckets)
		return taken.OK, err
	})
	require.Equal(t, most, got)
	require.Equal(t, most+1, take(t, b, "x", buckets[0]).Used, "those that were refused took nothing")
}

func forgetTogether(t *testing.T, a, b Harness) {
	turn := limits.Bucket{Key: "c/turn/1/calls", Max: 1}
	require.True(t, take(t, a, "1", turn).OK)
	require.False(t, take(t, b, "2", turn).OK)
	require.NoError(t, b.Store.Forget(t.Context(), "c/turn/1"))
	require.True(t, take(t, a, "3", turn).OK)
}

func oneBreaker(t *testing.T, a, b Harness) {
	settle(t, a, "1", limits.Failed)
	settle(t, b, "2", limits.Failed)
	requireState(t, a, limits.Closed)
	settle(t, b, "1", limits.Failed) // The same call told by the other: once.
	requireState(t, b, limits.Closed)
	settle(t, b, "3", limits.Failed)
	requireState(t, a, limits.Open)
	require.False(t, admit(t, a, "4").OK)
	a.Shift(rule.OpenFor)
	require.True(t, admit(t, a, "5").Probe)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admit(t, b, "6"))
	a.Shift(rule.OpenFor) // The first process died with its probe.
	require.True(t, admit(t, b, "6").Probe)
	settle(t, a, "5", limits.Failed) // Its late word doesn't count.
	requireState(t, a, limits.HalfOpen)
	settle(t, b, "6", limits.Succeeded)
	requireState(t, a, limits.Closed)
}

func oneProbeTogether(t *testing.T, a, b Harness) {
	trip(t, a)
	a.Shift(rule.OpenFor)
	got := race(t, 200, func(i int) (bool, error) {
		h := a
		if i%2 == 1 {
			h = b
		}
		admitted, err := h.Store.Admit(t.Context(), skill, fmt.Sprint(i), rule)
		return admitted.OK, err
	})
	require.Equal(t, 1, got)
}
