package limits_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/storetest"
)

// newClock is a minute before a clock that knows summer is put forward.
func newClock() *testclock.Clock { return testclock.New(time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC)) }

func TestMemoryContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		c := newClock()
		return storetest.Harness{Store: limits.NewMemory(limits.MemoryOptions{Now: c.Now}), Shift: c.Shift}
	})
}

// Two users of one Memory are what two processes on one server are.
func TestMemorySharedContract(t *testing.T) {
	storetest.RunShared(t, func(*testing.T) (a, b storetest.Harness) {
		c := newClock()
		h := storetest.Harness{Store: limits.NewMemory(limits.MemoryOptions{Now: c.Now}), Shift: c.Shift}
		return h, h
	})
}

// With no clock given, a Memory goes by the process's own.
func TestMemoryDefaultClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := limits.NewMemory(limits.MemoryOptions{})
		b := []limits.Bucket{{Key: "c/a", Max: 1, Window: time.Minute}}
		got, err := m.Take(t.Context(), "1", b)
		require.NoError(t, err)
		require.True(t, got.OK)
		time.Sleep(time.Minute - 1) // Fake time: the bubble's clock jumps.
		got, err = m.Take(t.Context(), "2", b)
		require.NoError(t, err)
		require.Equal(t, limits.Taken{Full: 0, Used: 1, RetryAfter: 1}, got)
		time.Sleep(time.Nanosecond)
		got, err = m.Take(t.Context(), "2", b)
		require.NoError(t, err)
		require.True(t, got.OK)
	})
}

// A slot that was given back stays free when the clock is set back. The id that
// takes the slot then counts for its whole window.
func TestMemoryClockSetBackAfterWindow(t *testing.T) {
	c := newClock()
	m := limits.NewMemory(limits.MemoryOptions{Now: c.Now})
	b := []limits.Bucket{{Key: "c/a", Max: 1, Window: time.Minute}}
	for i, shift := range []time.Duration{0, time.Minute} {
		c.Shift(shift)
		got, err := m.Take(t.Context(), fmt.Sprint(i), b)
		require.NoError(t, err)
		require.True(t, got.OK)
	}
	c.Shift(-time.Hour)
	got, err := m.Take(t.Context(), "0", b)
	require.NoError(t, err)
	require.Equal(t, limits.Taken{Full: 0, Used: 1, RetryAfter: time.Minute}, got)
}

// Buckets go when no call asks for them: windowed ones once their window has
// passed, the others after IdleTTL. A bucket in use stays.
func TestMemoryDropsIdleBuckets(t *testing.T) {
	c := newClock()
	m := limits.NewMemory(limits.MemoryOptions{Now: c.Now, IdleTTL: time.Hour})
	ask := func(id, key string, window time.Duration) limits.Taken {
		got, err := m.Take(t.Context(), id, []limits.Bucket{{Key: key, Max: 1, Window: window}})
		require.NoError(t, err)
		return got
	}
	for i := range 100 {
		ask("1", fmt.Sprintf("c%d/life", i), 0)
		ask("1", fmt.Sprintf("c%d/window", i), time.Minute)
	}
	requireBuckets(t, m, 200)
	c.Shift(time.Minute)
	ask("1", "d/life", 0)
	requireBuckets(t, m, 101)
	c.Shift(58 * time.Minute)
	require.False(t, ask("2", "c7/life", 0).OK)
	c.Shift(time.Minute)
	require.False(t, ask("2", "c7/life", 0).OK, "a refused question also keeps a bucket alive")
	requireBuckets(t, m, 2)
}

func requireBuckets(t *testing.T, m *limits.Memory, want int) {
	t.Helper()
	buckets, _ := m.Len()
	require.Equal(t, want, buckets)
}

// At MaxKeys a new key is an error that takes nothing, known keys go on, and
// Forget makes room.
func TestMemoryIsBounded(t *testing.T) {
	c := newClock()
	m := limits.NewMemory(limits.MemoryOptions{Now: c.Now, MaxKeys: 3})
	ctx := t.Context()
	a, b := limits.Bucket{Key: "c/a", Max: 5}, limits.Bucket{Key: "c/b", Max: 5}
	x, y := limits.Bucket{Key: "d/x", Max: 5}, limits.Bucket{Key: "d/y", Max: 5}
	_, err := m.Take(ctx, "1", []limits.Bucket{a, b})
	require.NoError(t, err)
	got, err := m.Take(ctx, "2", []limits.Bucket{a, x, y})
	require.ErrorIs(t, err, limits.ErrFull)
	require.False(t, got.OK)
	got, err = m.Take(ctx, "3", []limits.Bucket{a, x})
	require.NoError(t, err)
	require.Equal(t, 2, got.Used, "the refused id is not inside")
	require.NoError(t, m.Forget(ctx, "c"))
	requireBuckets(t, m, 1)
	_, err = m.Take(ctx, "2", []limits.Bucket{x, y})
	require.NoError(t, err)
}

// Breakers are bounded as well; the ones whose failures are over make room.
func TestMemoryBoundsBreakers(t *testing.T) {
	c := newClock()
	m := limits.NewMemory(limits.MemoryOptions{Now: c.Now, MaxKeys: 2})
	r := limits.Rule{Failures: 2, Window: time.Minute, OpenFor: time.Second}
	fail := func(key, call string) error { return m.Settle(t.Context(), key, call, limits.Failed, r) }
	require.NoError(t, fail("s/a", "1"))
	require.NoError(t, fail("s/b", "1"))
	require.NoError(t, fail("s/b", "2")) // open
	require.ErrorIs(t, fail("s/c", "1"), limits.ErrFull)
	require.NoError(t, m.Settle(t.Context(), "s/d", "1", limits.Succeeded, r), "a success needs no room")
	c.Shift(time.Minute)
	require.NoError(t, fail("s/c", "1"))
	state, err := m.State(t.Context(), "s/b", r)
	require.NoError(t, err)
	require.Equal(t, limits.HalfOpen, state, "a tripped breaker is kept")
	require.ErrorIs(t, fail("s/d", "1"), limits.ErrFull)
}

// A cancelled caller gets its error and changes nothing.
func TestMemoryCancelled(t *testing.T) {
	m := limits.NewMemory(limits.MemoryOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := limits.Rule{Failures: 1, Window: time.Minute, OpenFor: time.Minute}
	got, err := m.Take(ctx, "1", []limits.Bucket{{Key: "c/a", Max: 1}})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, got.OK)
	require.ErrorIs(t, m.Forget(ctx, "c"), context.Canceled)
	require.ErrorIs(t, m.Settle(ctx, "s/a", "1", limits.Failed, r), context.Canceled)
	a, err := m.Admit(ctx, "s/a", "1", r)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, a.OK)
	buckets, breakers := m.Len()
	require.Zero(t, buckets+breakers)
}
