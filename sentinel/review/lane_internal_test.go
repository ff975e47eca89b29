package review

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A call that waits for the end of a pause is back after it and never too late. It may add any
// part of its own.
func TestRestEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			l := newLane(1, 0)
			l.pauseAfter("ann", &fault{kind: RateLimited, retry: time.Second, status: 429})
			by := time.Now().Add(time.Second + 10*time.Millisecond)
			began := time.Now()
			require.NoError(t, l.waitOutPause(t.Context(), "ann", by))
			require.GreaterOrEqual(t, time.Since(began), time.Second)
			require.False(t, time.Now().After(by))
		}
	})
}

// A pause beyond the time or the longest wait is told at once, with its own kind and the rest
// of it.
func TestRestIsNotBegunInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct{ pause, left time.Duration }{{longestPause + 1, time.Hour}, {time.Second, time.Second - 1}} {
			l := newLane(1, 0)
			l.pauseAfter("ann", &fault{kind: Server, retry: tc.pause, status: 503})
			began := time.Now()
			var f *fault
			require.ErrorAs(t, l.waitOutPause(t.Context(), "ann", began.Add(tc.left)), &f)
			require.Equal(t, fault{kind: Server, retry: tc.pause}, *f)
			require.Zero(t, time.Since(began))
		}
		l := newLane(1, 0)
		l.pauseAfter("ann", &fault{kind: Server, retry: longestPause, status: 503})
		require.NoError(t, l.waitOutPause(t.Context(), "ann", time.Now().Add(time.Hour)))
	})
}

// Of two pauses the longer holds, whatever their order; what is no wish of a
// server that answered holds no caller.
func TestTheLongerPauseHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long, short := &fault{kind: Server, retry: 2 * time.Second, status: 503}, &fault{kind: RateLimited, retry: time.Second, status: 429}
		for _, order := range [][]*fault{{long, short}, {short, long}} {
			l := newLane(1, 0)
			for _, f := range order {
				l.pauseAfter("ann", f)
			}
			wait, kind := l.pauseLeft("ann")
			require.Equal(t, 2*time.Second, wait)
			require.Equal(t, Server, kind)
		}
		l := newLane(1, 0)
		for _, f := range []*fault{nil, {kind: Server, status: 503}, {kind: Server, retry: time.Second},
			{kind: Auth, retry: time.Second, status: 401}} {
			l.pauseAfter("ann", f)
		}
		wait, _ := l.pauseLeft("ann")
		require.LessOrEqual(t, wait, time.Duration(0))
	})
}

// A turn that is just in time is waited for, and one that is late is not. A caller that gives
// up hands its turn back.
func TestTurnsOfTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(1, 60) // one a second
		now := time.Now()
		require.NoError(t, l.awaitRate(t.Context(), "ann", now))
		require.NoError(t, l.awaitRate(t.Context(), "ann", now.Add(time.Second)))
		require.Equal(t, time.Second, time.Since(now))
		var f *fault
		require.ErrorAs(t, l.awaitRate(t.Context(), "ann", now.Add(2*time.Second-1)), &f)
		require.Equal(t, fault{kind: Busy, retry: time.Second}, *f)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, l.awaitRate(gone, "ann", now.Add(time.Hour)), errCanceled)
		require.NoError(t, l.awaitRate(t.Context(), "ann", now.Add(2*time.Second)), "neither of the two has used it")
		require.Equal(t, 2*time.Second, time.Since(now))
	})
}

// Hundredths are written exactly, with a sign where they are less than nothing.
func TestHundredthsAreWritten(t *testing.T) {
	for n, want := range map[int]string{0: "0.00", 1: "0.01", -1: "-0.01", 33: "0.33", -33: "-0.33", 100: "1.00", -250: "-2.50"} {
		require.Equal(t, want, string(formatHundredths(n)))
	}
}
