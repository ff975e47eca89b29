// Package storetest holds the tests that every limits.Store must pass. A store's
// own test calls Run:
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness { … })
//	}
//
// The package isn't stable: docs/api.md lists those that are.
//
// The tests use whole milliseconds, so a store may round its clock to those.
// They don't sleep and don't know what the store is made of. What they don't
// cover: bounds of memory, and what happens when a server is away.
package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
	"pgregory.net/rapid"
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
		{"a window slides exactly", testWindowSlides},
		// A bucket without a window gives no slot back by itself.
		{"a lifetime bucket stays full", testLifetimeStays},
		// A full bucket leaves its neighbours as they were, wherever it stands.
		{"all buckets or none", testAllOrNone},
		// A call that is proposed again uses no second slot, also when all are full.
		{"an id is counted once", testCountedOnce},
		// Once its window has passed, an id is new again.
		{"an id is new after its window", testNewAfterWindow},
		// A maximum that is lowered or raised counts at once.
		{"the maximum is the asker's", testMaximumChanges},
		// Zero is no room, not "no limit".
		{"zero holds none", testZeroHoldsNone},
		// However many ask at once, exactly Max get a slot.
		{"concurrent callers get exactly Max", testExactlyMax},
		// One id asked for by many is one slot.
		{"concurrent repeats are one slot", testConcurrentRepeats},
		// A clock that is set back frees nothing and breaks nothing.
		{"a clock set back unlocks nothing", testClockSetBack},
		// Forget takes whole segments and all below them (a turn its agents),
		// and lifetime buckets alone.
		{"forget", testForget},
		// Questions without an answer are errors, never room.
		{"malformed requests are errors", testMalformedTake},
		// What is held counts until it is spent, and then what it came to counts.
		{"a meter holds and spends", testMeterLife},
		// An amount counts from when it was held, for the window.
		{"a meter's window slides", testMeterWindow},
		// A clock that is set back frees no amount, and keeps none longer.
		{"a clock set back empties no meter", testMeterClockSetBack},
		{"what is spent within a fold is one amount", testMeterFolds},
		// A meter without room leaves its neighbours as they were.
		{"all meters or none", testMetersAllOrNone},
		// However many hold at once, no more than Max is held.
		{"concurrent holds stay within Max", testMeterRace},
		// Closed, open, half-open, closed.
		{"a breaker's life", testBreakerLife},
		// Failures count for a window, one per call.
		{"failures slide out", testFailuresSlide},
		// Half-open admits one, however many ask.
		{"one probe", testOneProbe},
		// A probe that never ends, or never ran, doesn't block for ever.
		{"a lost probe is replaced", testLostProbe},
		// Only the probe's word counts while a breaker isn't closed.
		{"late answers change nothing", testLateAnswers},
		// A breaker belongs to its key.
		{"breakers are apart", testBreakersApart},
		// A clock that is set back closes no breaker.
		{"a clock set back closes no breaker", testBreakerClockSetBack},
		// Questions without an answer are errors, never an admission.
		{"malformed breaker requests are errors", testMalformedBreaker},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
	// Whatever is asked in whatever order, the answers are a naive list's.
	t.Run("equals a naive model", func(t *testing.T) { testBucketModel(t, open) })
	// Whatever is held and spent in whatever order, the sums are a naive list's.
	t.Run("meters equal a naive model", func(t *testing.T) { testMeterModel(t, open) })
	// Whatever happens in whatever order, a breaker keeps its promises.
	t.Run("breaker equals a naive model", func(t *testing.T) { testBreakerModel(t, open) })
}

func drawMillis(lo, hi int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(lo, hi), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
}

// countYes calls f from n goroutines at once and returns how many said yes.
func countYes(t *testing.T, n int, f func(i int) (bool, error)) int {
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
