package eval

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Each case is asked about again. Offline nothing is paced or spent and no breaker
// opens, and the configuration itself stays as it is.
func TestMeasured(t *testing.T) {
	cfg := &config.Config{
		Models: map[string]config.Model{"m": {RequestsPerMinute: 5, Model: "x"}},
		Sentinel: config.Sentinel{CacheTTL: time.Minute, Retries: 2, Breaker: config.Breaker{Failures: 5}, Canaries: config.Canaries{Every: 1},
			Budget: config.ReviewBudget{Day: config.ReviewShare{Calls: 1}}},
	}
	before, err := json.Marshal(cfg)
	require.NoError(t, err)
	online, offline := measuredConfig(cfg, false), measuredConfig(cfg, true)
	require.Zero(t, online.Sentinel.CacheTTL)
	require.Equal(t, 2, online.Sentinel.Retries)
	require.Equal(t, 1, online.Sentinel.Budget.Day.Calls, "what a run may spend is the operator's word")
	require.Equal(t, 5, online.Models["m"].RequestsPerMinute)
	require.Equal(t, config.Sentinel{Breaker: config.Breaker{Failures: neverOpens}}, offline.Sentinel)
	require.Equal(t, map[string]config.Model{"m": {Model: "x"}}, offline.Models)
	after, err := json.Marshal(cfg)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// A wait is long enough for a breaker that opened to let a request through.
func TestWaitOutlastsBreaker(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{time.Second: 31 * time.Second, time.Minute: time.Minute} {
		require.Equal(t, want, (&Run{o: RunOptions{Wait: wait}, openFor: 30 * time.Second}).newRetryPolicy().For)
	}
	require.Nil(t, (&Run{openFor: 30 * time.Second}).newRetryPolicy())
}
