package redisstore_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
)

// BenchmarkAccountMemory measures what a server keeps at one use in five seconds,
// with one bound and with all nine. No other client may use the server meanwhile.
// Run it with -benchtime of more than a day of them: 18000x.
func BenchmarkAccountMemory(b *testing.B) {
	most := limits.Allowance{Calls: 1 << 40, Tokens: 1 << 40, Cost: 1 << 40}
	for name, a := range map[string]limits.Allowances{
		"one bound":   {Day: limits.Allowance{Calls: 1 << 40}},
		"nine bounds": {Conversation: most, User: most, Day: most},
	} {
		b.Run(name, func(b *testing.B) {
			url, prefix := redistest.Shared(b)
			o, err := redis.ParseURL(url)
			require.NoError(b, err)
			server := redis.NewClient(o)
			b.Cleanup(func() { _ = server.Close() })
			now := time.Unix(1_700_000_000, 0)
			store := redisstore.WithClock(open(b, redisstore.Options{URL: url, Prefix: prefix}), func() time.Time { return now })
			account, err := limits.NewAccount("sentinel", a, store)
			require.NoError(b, err)
			before := used(b, server)
			for i := 0; b.Loop(); i++ {
				now = now.Add(5 * time.Second)
				u := limits.Use{ID: "ABCDEFGHIJKLMNOPQRST" + strconv.Itoa(100_000_000+i), User: "ann", Conversation: "c1", Calls: 1, Tokens: 900,
					Cost: 4}
				v, err := account.Hold(b.Context(), u)
				if err != nil || !v.OK {
					b.Fatal(v, err)
				}
				u.Tokens = 700
				if err := account.Spend(b.Context(), u); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(used(b, server)-before), "B")
			b.ReportMetric(float64(used(b, server)-before)/float64(b.N), "B/use")
		})
	}
}

// used is the server's memory, in bytes.
func used(b *testing.B, c *redis.Client) int64 {
	b.Helper()
	info, err := c.Info(b.Context(), "memory").Result()
	require.NoError(b, err)
	m := regexp.MustCompile(`(?m)^used_memory:(\d+)`).FindStringSubmatch(info)
	require.Len(b, m, 2)
	n, err := strconv.ParseInt(m[1], 10, 64)
	require.NoError(b, err)
	return n
}
