package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/limits/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a store on the shared server. Its time-out is long: these tests
// are about counting, on a machine that may be busy.
func open(t testing.TB, o redisstore.Options) *redisstore.Store {
	t.Helper()
	if o.URL == "" {
		url, prefix := redistest.Shared(t)
		o.URL, o.Prefix = url, prefix
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	s, err := redisstore.Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// client is a client of the test's own, to look at what is stored.
func client(t testing.TB, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	c := redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// The store passes what every store must pass, on a real server. Its scripts
// are handed a clock that can be moved.
func TestContract(t *testing.T) {
	url, base := redistest.Shared(t)
	s := open(t, redisstore.Options{URL: url, Prefix: base})
	n := 0
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		n++
		c := testclock.New(time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC))
		fresh := redisstore.WithPrefix(s, fmt.Sprintf("%s:%d", base, n))
		return storetest.Harness{Store: redisstore.WithClock(fresh, c.Now), Shift: c.Shift}
	})
}

// Clients that have never met share budgets and breakers.
func TestContractOverTwoClients(t *testing.T) {
	storetest.RunShared(t, func(t *testing.T) (a, b storetest.Harness) {
		url, prefix := redistest.Shared(t)
		c := testclock.New(time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC))
		of := func() storetest.Harness {
			s := open(t, redisstore.Options{URL: url, Prefix: prefix})
			return storetest.Harness{Store: redisstore.WithClock(s, c.Now), Shift: c.Shift}
		}
		return of(), of()
	})
}

// serverTime asks the server for its clock.
func serverTime(t *testing.T, c *redis.Client) time.Time {
	t.Helper()
	now, err := c.Time(t.Context()).Result()
	require.NoError(t, err)
	return now
}

// waitUntil asks the server for its clock until it shows at.
func waitUntil(t *testing.T, c *redis.Client, at time.Time) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for {
		now, err := c.Time(ctx).Result()
		require.NoError(t, err)
		if !now.Before(at) {
			return
		}
	}
}

// Windows go by the server's clock, for every client. A bucket is full until that
// clock shows that the window has passed.
func TestServersClockCounts(t *testing.T) {
	url, prefix := redistest.Shared(t)
	s, other := open(t, redisstore.Options{URL: url, Prefix: prefix}), open(t, redisstore.Options{URL: url, Prefix: prefix})
	c := client(t, url)
	const window = 400 * time.Millisecond
	b := []limits.Bucket{{Key: "c/calls", Max: 1, Window: window}}

	before := serverTime(t, c)
	got, err := s.Take(t.Context(), "1", b)
	require.NoError(t, err)
	require.True(t, got.OK)
	after := serverTime(t, c)

	got, err = other.Take(t.Context(), "2", b)
	require.NoError(t, err)
	if serverTime(t, c).Before(before.Add(window)) { // else the machine was asleep, and any answer is right
		require.False(t, got.OK)
		require.Positive(t, got.RetryAfter)
		require.LessOrEqual(t, got.RetryAfter, window)
	}
	waitUntil(t, c, after.Add(window))
	got, err = other.Take(t.Context(), "3", b)
	require.NoError(t, err)
	require.True(t, got.OK)
}

// A breaker opens, waits and closes by the server's clock as well.
func TestServersClockMovesBreakers(t *testing.T) {
	url, prefix := redistest.Shared(t)
	s, c := open(t, redisstore.Options{URL: url, Prefix: prefix}), client(t, url)
	rule := limits.Rule{Failures: 1, Window: time.Minute, OpenFor: 300 * time.Millisecond}
	before := serverTime(t, c)
	require.NoError(t, s.Settle(t.Context(), "skill/a", "1", limits.Failed, rule))
	after := serverTime(t, c)
	a, err := s.Admit(t.Context(), "skill/a", "2", rule)
	require.NoError(t, err)
	if serverTime(t, c).Before(before.Add(rule.OpenFor)) {
		require.False(t, a.OK)
	}
	waitUntil(t, c, after.Add(rule.OpenFor))
	a, err = s.Admit(t.Context(), "skill/a", "3", rule)
	require.NoError(t, err)
	require.Equal(t, limits.Admission{OK: true, Probe: true}, a)
	require.NoError(t, s.Settle(t.Context(), "skill/a", "3", limits.Succeeded, rule))
	st, err := s.State(t.Context(), "skill/a", rule)
	require.NoError(t, err)
	require.Equal(t, limits.Closed, st)
}
