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
		{"one budget", testOneBudget},
		// However many ask on both sides, exactly Max get a slot.
		{"concurrent callers on both sides get exactly Max", testExactlyMaxTogether},
		// What one forgets is forgotten for both.
		{"one forgets for both", testForgetTogether},
		// Failures that both saw open one breaker. A single probe of either gets
		// through. The other's may follow when that probe doesn't end.
		{"one breaker", testOneBreaker},
		// However many ask on both sides, one is the probe.
		{"one probe among both", testOneProbeTogether},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := open(t)
			test.run(t, a, b)
		})
	}
}

func testOneBudget(t *testing.T, a, b Harness) {
	buckets := []limits.Bucket{{Key: "c/agent", Max: 3}, {Key: "c/calls", Max: 2, Window: time.Minute}}
	require.True(t, takeSlots(t, a, "1", buckets...).OK)
	require.True(t, takeSlots(t, b, "1", buckets...).OK, "the same call again")
	require.Equal(t, 2, takeSlots(t, b, "2", buckets...).Used)
	require.Equal(t, limits.Taken{Full: 1, Used: 2, RetryAfter: time.Minute}, takeSlots(t, a, "3", buckets...))
	b.Shift(time.Minute)
	require.Equal(t, 3, takeSlots(t, a, "3", buckets...).Used)
	require.Equal(t, limits.Taken{Full: 0, Used: 3}, takeSlots(t, b, "4", buckets...))
}

func testExactlyMaxTogether(t *testing.T, a, b Harness) {
	const most = 23
	buckets := []limits.Bucket{{Key: "c/a", Max: 300}, {Key: "c/b", Max: most}, {Key: "c/c", Max: 200, Window: time.Minute}}
	got := countYes(t, 400, func(i int) (bool, error) {
		h := a
		if i%2 == 1 {
			h = b
		}
		taken, err := h.Store.Take(t.Context(), fmt.Sprint(i), buckets)
		return taken.OK, err
	})
	require.Equal(t, most, got)
	require.Equal(t, most+1, takeSlots(t, b, "x", buckets[0]).Used, "those that were refused took nothing")
}

func testForgetTogether(t *testing.T, a, b Harness) {
	turn := limits.Bucket{Key: "c/turn/1/calls", Max: 1}
	require.True(t, takeSlots(t, a, "1", turn).OK)
	require.False(t, takeSlots(t, b, "2", turn).OK)
	require.NoError(t, b.Store.Forget(t.Context(), "c/turn/1"))
	require.True(t, takeSlots(t, a, "3", turn).OK)
}

func testOneBreaker(t *testing.T, a, b Harness) {
	settleCall(t, a, "1", limits.Failed)
	settleCall(t, b, "2", limits.Failed)
	requireState(t, a, limits.Closed)
	settleCall(t, b, "1", limits.Failed) // The same call told by the other: once.
	requireState(t, b, limits.Closed)
	settleCall(t, b, "3", limits.Failed)
	requireState(t, a, limits.Open)
	require.False(t, admitCall(t, a, "4").OK)
	a.Shift(rule.OpenFor)
	require.True(t, admitCall(t, a, "5").Probe)
	require.Equal(t, limits.Admission{RetryAfter: rule.OpenFor}, admitCall(t, b, "6"))
	a.Shift(rule.OpenFor) // The first process died with its probe.
	require.True(t, admitCall(t, b, "6").Probe)
	settleCall(t, a, "5", limits.Failed) // Its late word doesn't count.
	requireState(t, a, limits.HalfOpen)
	settleCall(t, b, "6", limits.Succeeded)
	requireState(t, a, limits.Closed)
}

func testOneProbeTogether(t *testing.T, a, b Harness) {
	openBreaker(t, a)
	a.Shift(rule.OpenFor)
	got := countYes(t, 200, func(i int) (bool, error) {
		h := a
		if i%2 == 1 {
			h = b
		}
		admitted, err := h.Store.Admit(t.Context(), skill, fmt.Sprint(i), rule)
		return admitted.OK, err
	})
	require.Equal(t, 1, got)
}
