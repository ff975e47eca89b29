package testclock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testclock"
)

func TestClockStandsUntilItIsShifted(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC)
	c := testclock.New(at)
	require.Equal(t, at, c.Now())
	require.Equal(t, at, c.Now())
	c.Shift(time.Minute)
	require.Equal(t, at.Add(time.Minute), c.Now())
	c.Shift(-2 * time.Minute)
	require.Equal(t, at.Add(-time.Minute), c.Now())
}
