// Package storetest holds the tests that every limits.Store must pass. A store's
// own test calls Run:
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness { … })
//	}
//
// The tests use whole milliseconds, so a store may round its clock to those.
// They don't sleep and don't know what the store is made of. What they don't
// cover: bounds of memory, and what happens when a server is away.
package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
)

// Harness is an empty store with a clock that stands still.
type Harness struct {
	// Store is the store under test.
	Store limits.Store
	// Shift moves the store's clock: forwards, or backwards if d is negative.
	Shift func(d time.Duration)
}

// Open returns a fresh Harness; it uses t.Cleanup for what has to be closed.
type Open func(t *testing.T) Harness

// Run runs all tests of the contract.
func Run(t *testing.T, open Open) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		// An id counts from t up to, and not including, t+Window.
		{"a window slides exactly", windowSlides},
		// A bucket without a window gives no slot back by itself.
		{"a lifetime bucket stays full", lifetimeStays},
		// A full bucket leaves its neighbours as they were, wherever it stands.
		{"all buckets or none", allOrNone},
		// A call that is proposed again uses no second slot, also when all are full.
		{"an id is counted once", countedOnce},
		// Once its window has passed, an id is new again.
		{"an id is new after its window", newAfterWindow},
		// A maximum that is lowered or raised counts at once.
		{"the maximum is the asker's", maximumChanges},
		// Zero is no room, not "no limit".
		{"zero holds none", zeroHoldsNone},
		// However many ask at once, exactly Max get a slot.
		{"concurrent callers get exactly Max", exactlyMax},
		// One id asked for by many is one slot.
		{"concurrent repeats are one slot", concurrentRepeats},
		// A clock that is set back frees nothing and breaks nothing.
		{"a clock set back unlocks nothing", clockSetBack},
		// Forget takes whole segments and all below them (a turn its agents),
		// and lifetime buckets alone.
		{"forget", forget},
		// Questions without an answer are errors, never room.
		{"malformed requests are errors", malformedTake},
		// What is held counts until it is spent, and then what it came to counts.
		{"a meter holds and spends", meterLife},
		// An amount counts from when it was held, for the window.
		{"a meter's window slides", meterWindow},
		// A clock that is set back frees no amount, and keeps none longer.
		{"a clock set back empties no meter", meterClockSetBack},
		{"what is spent within a fold is one amount", meterFolds},
		// A meter without room leaves its neighbours as they were.
		{"all meters or none", metersAllOrNone},
		// However many hold at once, no more than Max is held.
		{"concurrent holds stay within Max", meterRace},
		// Closed, open, half-open, closed.
		{"a breaker's life", breakerLife},
		// Failures count for a window, one per call.
		{"failures slide out", failuresSlide},
		// Half-open admits one, however many ask.
		{"one probe", oneProbe},
		// A probe that never ends, or never ran, doesn't block for ever.
		{"a lost probe is replaced", lostProbe},
		// Only the probe's word counts while a breaker isn't closed.
		{"late answers change nothing", lateAnswers},
		// A breaker belongs to its key.
		{"breakers are apart", breakersApart},
		// A clock that is set back closes no breaker.
		{"a clock set back closes no breaker", breakerClockSetBack},
		// Questions without an answer are errors, never an admission.
		{"malformed breaker requests are errors", malformedBreaker},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
	// Whatever is asked in whatever order, the answers are a naive list's.
	t.Run("equals a naive model", func(t *testing.T) { equalsModel(t, open) })
	// Whatever is held and spent in whatever order, the sums are a naive list's.
	t.Run("meters equal a naive model", func(t *testing.T) { metersEqualModel(t, open) })
	// Whatever happens in whatever order, a breaker keeps its promises.
	t.Run("breaker equals a naive model", func(t *testing.T) { breakerEqualsModel(t, open) })
}

func take(t *testing.T, h Harness, id string, buckets ...limits.Bucket) limits.Taken {
	t.Helper()
	got, err := h.Store.Take(t.Context(), id, buckets)
	require.NoError(t, err)
	return got
}

func windowSlides(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/calls", Max: 2, Window: 10 * time.Second}
	require.Equal(t, limits.Taken{OK: true, Full: -1, Used: 1}, take(t, h, "1", b))
	h.Shift(4 * time.Second)
	require.Equal(t, limits.Taken{OK: true, Full: -1, Used: 2}, take(t, h, "2", b))
	require.Equal(t, limits.Taken{Full: 0, Used: 2, RetryAfter: 6 * time.Second}, take(t, h, "3", b))
	h.Shift(6*time.Second - time.Millisecond)
	require.Equal(t, limits.Taken{Full: 0, Used: 2, RetryAfter: time.Millisecond}, take(t, h, "3", b))
	h.Shift(time.Millisecond)
	require.True(t, take(t, h, "3", b).OK)
	// Only the first id has left: a window that started afresh would have room here.
	require.Equal(t, limits.Taken{Full: 0, Used: 2, RetryAfter: 4 * time.Second}, take(t, h, "4", b))
}

func lifetimeStays(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/turn/1", Max: 1}
	require.True(t, take(t, h, "1", b).OK)
	h.Shift(time.Hour)
	require.Equal(t, limits.Taken{Full: 0, Used: 1}, take(t, h, "2", b))
}

func allOrNone(t *testing.T, h Harness) {
	for full := range 3 {
		buckets := make([]limits.Bucket, 3)
		for i := range buckets {
			buckets[i] = limits.Bucket{Key: fmt.Sprintf("c%d/%d", full, i), Max: 2, Window: time.Duration(i) * time.Minute}
		}
		require.True(t, take(t, h, "a", buckets[full]).OK)
		require.True(t, take(t, h, "b", buckets[full]).OK)
		for range 5 {
			got := take(t, h, "c", buckets...)
			require.False(t, got.OK)
			require.Equal(t, full, got.Full)
			require.Equal(t, 2, got.Used)
		}
		for i, b := range buckets {
			if i != full {
				require.Equal(t, 1, take(t, h, "d", b).Used, "bucket %d was touched", i)
			}
		}
	}
	a, b := limits.Bucket{Key: "d/1", Max: 0}, limits.Bucket{Key: "d/2", Max: 0}
	require.Equal(t, 0, take(t, h, "x", a, b).Full, "the first full bucket is named")
}

func countedOnce(t *testing.T, h Harness) {
	a := limits.Bucket{Key: "c/a", Max: 2, Window: time.Minute}
	b := limits.Bucket{Key: "c/b", Max: 5}
	for range 3 {
		require.Equal(t, limits.Taken{OK: true, Full: -1, Used: 1}, take(t, h, "1", a, b))
	}
	require.Equal(t, 2, take(t, h, "2", a, b).Used)
	require.True(t, take(t, h, "1", a, b).OK, "full, and it is inside")
	require.False(t, take(t, h, "3", a, b).OK)
	require.Equal(t, 3, take(t, h, "4", b).Used)
}

func newAfterWindow(t *testing.T, h Harness) {
	a := limits.Bucket{Key: "c/a", Max: 1, Window: time.Minute}
	b := limits.Bucket{Key: "c/b", Max: 1}
	require.True(t, take(t, h, "1", a, b).OK)
	h.Shift(time.Minute)
	require.True(t, take(t, h, "2", a).OK)
	require.Equal(t, limits.Taken{Full: 0, Used: 1, RetryAfter: time.Minute}, take(t, h, "1", a, b))
}

func maximumChanges(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/a", Max: 3, Window: 10 * time.Second}
	for i := range 3 {
		require.True(t, take(t, h, fmt.Sprint(i), b).OK)
		h.Shift(time.Second)
	}
	b.Max = 1 // Ids 0, 1 and 2 all have to go; the last one leaves at 12 s, and it is 3 s now.
	require.Equal(t, limits.Taken{Full: 0, Used: 3, RetryAfter: 9 * time.Second}, take(t, h, "x", b))
	b.Max = 4
	require.True(t, take(t, h, "x", b).OK)
}

func zeroHoldsNone(t *testing.T, h Harness) {
	for _, most := range []int{0, -1} {
		require.Equal(t, limits.Taken{Full: 0}, take(t, h, "1", limits.Bucket{Key: "c/a", Max: most}))
		require.Equal(t, limits.Taken{Full: 0}, take(t, h, "1", limits.Bucket{Key: "c/b", Max: most, Window: time.Minute}))
	}
}

// race calls f from n goroutines at once and returns how many said yes.
func race(t *testing.T, n int, f func(i int) (bool, error)) int {
	t.Helper()
	var yes atomic.Int64
	var wg sync.WaitGroup
	start, failed := make(chan struct{}), make(chan error, n)
	for i := range n {
		wg.Go(func() {
			<-start
			ok, err := f(i)
			if err != nil {
				failed <- err
			}
			if ok {
				yes.Add(1)
			}
		})
	}
	close(start)
	wg.Wait()
	close(failed)
	require.NoError(t, <-failed)
	return int(yes.Load())
}

func exactlyMax(t *testing.T, h Harness) {
	const most = 37
	buckets := []limits.Bucket{
		{Key: "c/a", Max: 500}, {Key: "c/b", Max: most}, {Key: "c/c", Max: 400, Window: time.Minute},
	}
	got := race(t, 1000, func(i int) (bool, error) {
		taken, err := h.Store.Take(t.Context(), fmt.Sprint(i), buckets)
		return taken.OK, err
	})
	require.Equal(t, most, got)
	require.Equal(t, most+1, take(t, h, "x", buckets[0]).Used)
	require.Equal(t, most+1, take(t, h, "x", buckets[2]).Used)
}

func concurrentRepeats(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/a", Max: 10}
	got := race(t, 200, func(int) (bool, error) {
		taken, err := h.Store.Take(t.Context(), "same", []limits.Bucket{b})
		return taken.OK, err
	})
	require.Equal(t, 200, got)
	require.Equal(t, 2, take(t, h, "other", b).Used)
}

func clockSetBack(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/a", Max: 1, Window: time.Minute}
	h.Shift(time.Hour)
	require.True(t, take(t, h, "1", b).OK)
	h.Shift(-2 * time.Hour)
	require.Equal(t, limits.Taken{Full: 0, Used: 1, RetryAfter: time.Minute}, take(t, h, "2", b))
	h.Shift(2*time.Hour + time.Minute - time.Millisecond)
	require.Equal(t, limits.Taken{Full: 0, Used: 1, RetryAfter: time.Millisecond}, take(t, h, "2", b))
	h.Shift(time.Millisecond)
	require.True(t, take(t, h, "2", b).OK)
}

func forget(t *testing.T, h Harness) {
	buckets := []limits.Bucket{
		{Key: "c/turn/1/calls", Max: 9}, {Key: "c/turn/1", Max: 9}, {Key: "c/turn/12/calls", Max: 9},
		{Key: "c/turn/1/recent", Max: 9, Window: time.Minute}, {Key: "c2/turn/1/calls", Max: 9},
		{Key: "c/turn/1/agent/a/calls", Max: 9}, {Key: "c/turn/12/agent/a/calls", Max: 9},
	}
	used := func(id string) (n []int) {
		for _, b := range buckets {
			n = append(n, take(t, h, id, b).Used)
		}
		return n
	}
	require.Equal(t, []int{1, 1, 1, 1, 1, 1, 1}, used("a"))
	require.NoError(t, h.Store.Forget(t.Context(), "c/turn/1"))
	require.Equal(t, []int{1, 1, 2, 2, 2, 1, 2}, used("b"))
	require.NoError(t, h.Store.Forget(t.Context(), "c/turn/12/agent/a"))
	require.Equal(t, []int{2, 2, 3, 3, 3, 2, 1}, used("c"))
	require.NoError(t, h.Store.Forget(t.Context(), "c"))
	require.Equal(t, []int{1, 1, 1, 4, 4, 1, 1}, used("d"))
	require.NoError(t, h.Store.Forget(t.Context(), "nobody/turn"))
	require.Equal(t, []int{2, 2, 2, 5, 5, 2, 2}, used("e"))
	require.ErrorIs(t, h.Store.Forget(t.Context(), ""), limits.ErrRequest)
}

func malformedTake(t *testing.T, h Harness) {
	good := limits.Bucket{Key: "c/a", Max: 1}
	for _, ask := range []struct {
		id      string
		buckets []limits.Bucket
	}{
		{"", []limits.Bucket{good}},
		{"1", nil},
		{"1", []limits.Bucket{{Max: 1}}},
		{"1", []limits.Bucket{good, {Key: "c/b", Max: 1, Window: -1}}},
		{"1", []limits.Bucket{good, good}},
	} {
		got, err := h.Store.Take(t.Context(), ask.id, ask.buckets)
		require.ErrorIs(t, err, limits.ErrRequest)
		require.False(t, got.OK)
	}
	require.Equal(t, 1, take(t, h, "2", good).Used)
}
