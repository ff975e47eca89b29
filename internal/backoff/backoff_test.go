package backoff_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/internal/backoff"
)

func TestPausesDouble(t *testing.T) {
	p := backoff.Pauses{First: 10 * time.Millisecond, Longest: 35 * time.Millisecond}
	for n, want := range map[int]int64{-1: 10, 0: 10, 1: 20, 2: 35, 3: 35, 62: 35, 63: 35, 64: 35, math.MaxInt: 35} {
		require.Equal(t, want, p.Pause(n).Milliseconds(), n)
	}
	open := backoff.Pauses{First: time.Second}
	require.Equal(t, 1024*time.Second, open.Pause(10))
	require.Positive(t, open.Pause(1000), "it doesn't overflow")
	require.Zero(t, backoff.Pauses{Longest: time.Second}.Pause(5))
	require.Zero(t, backoff.Pauses{First: -time.Second}.Pause(5))
	require.Equal(t, time.Second, backoff.Pauses{First: time.Minute, Longest: time.Second}.Pause(0))
}

// A pause is never shorter than the one before, at most the longest, and lies within its
// spread.
func TestPausesStayWithinTheirSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		figures := backoff.Pauses{
			First:   time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "first")),
			Longest: time.Duration(rapid.Int64Range(0, math.MaxInt64/8).Draw(t, "longest")),
		}
		n := rapid.IntRange(0, 100).Draw(t, "n")
		plain, next := figures.Pause(n), figures.Pause(n+1)
		require.LessOrEqual(t, plain, next)
		if figures.Longest > 0 {
			require.LessOrEqual(t, next, figures.Longest)
		}
		least := rapid.IntRange(0, 200).Draw(t, "least")
		figures.Spread = backoff.Spread{Least: least, Most: rapid.IntRange(least, 200).Draw(t, "most")}
		if figures.Spread == (backoff.Spread{}) {
			require.Equal(t, plain, figures.Pause(n))
			return
		}
		got := float64(figures.Pause(n))
		require.GreaterOrEqual(t, got, float64(plain)*float64(least)/100*(1-1e-9)-1)
		require.LessOrEqual(t, got, float64(plain)*float64(figures.Spread.Most)/100*(1+1e-9)+1)
	})
}

// Both ends of a spread are drawn, and so is what lies between.
func TestSpreadDrawsAll(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 2000 {
		seen[backoff.Spread{Least: 50, Most: 150}.Draw(4)] = true
	}
	require.Equal(t, map[time.Duration]bool{2: true, 3: true, 4: true, 5: true, 6: true}, seen)
	require.Equal(t, time.Second, backoff.Spread{Least: 100, Most: 100}.Draw(time.Second))
	require.Equal(t, time.Second, backoff.Spread{Least: 100, Most: 50}.Draw(time.Second))
	require.Equal(t, -time.Second, backoff.Spread{Least: 50, Most: 150}.Draw(-time.Second))
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.True(t, backoff.Wait(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, backoff.Wait(ctx, time.Hour))
		require.Equal(t, time.Minute+time.Second, time.Since(start))
		require.False(t, backoff.Wait(ctx, 0))
		require.True(t, backoff.Wait(t.Context(), -1))
	})
}
