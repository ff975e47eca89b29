package intake

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/intent"
)

// Each user has a rate for each risk; it fills again with time, and a clock that was set back gives nothing.
func TestRates(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	r := newRates(map[intent.Risk]Rate{intent.High: {PerMinute: 6, Burst: 2}, intent.Medium: {PerMinute: 1}})
	for range 2 {
		require.Zero(t, r.take("ann", intent.High, now))
	}
	require.Equal(t, 10*time.Second, r.take("ann", intent.High, now).Round(time.Second))
	require.Zero(t, r.take("bob", intent.High, now))
	require.Zero(t, r.take("ann", intent.Medium, now))
	require.Equal(t, time.Minute, r.take("ann", intent.Medium, now))
	for range 100 {
		require.Zero(t, r.take("ann", intent.Low, now), "a risk without a rate has no bound")
	}
	back := now.Add(-time.Hour)
	require.Positive(t, r.take("ann", intent.High, back))
	require.Zero(t, r.take("ann", intent.High, back.Add(10*time.Second)), "and it fills from there")
	require.Positive(t, r.take("ann", intent.High, back.Add(10*time.Second)))
}

// There are at most maxRates rates: those at rest are forgotten, and beyond that users share one.
func TestRatesAreBounded(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	r := newRates(map[intent.Risk]Rate{intent.High: {PerMinute: 1}})
	for i := range maxRates {
		require.Zero(t, r.take(fmt.Sprint(i), intent.High, now))
	}
	require.Zero(t, r.take("first to share", intent.High, now))
	require.Positive(t, r.take("second to share", intent.High, now))
	require.LessOrEqual(t, len(r.of), maxRates+1)
	require.Zero(t, r.take("later", intent.High, now.Add(time.Hour)))
	require.LessOrEqual(t, len(r.of), 2, "all others were at rest")
}
