package review_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// BenchmarkCacheMemory measures what 10,000 kept answers take, and what twice as
// many do in the same room. Run it with -benchtime 1x.
func BenchmarkCacheMemory(b *testing.B) {
	const room = 10_000
	far := serveFar(b, 0)
	for b.Loop() {
		g, err := review.New(review.Options{Models: []*llm.Client{client(b, llm.Config{BaseURL: far.URL})}, CacheSize: room, CacheTTL: time.Hour})
		require.NoError(b, err)
		read := call(b, proposal{skill: "self.read"})
		fill := func() {
			for range room {
				c, err := alike(read)
				require.NoError(b, err)
				require.Equal(b, sentinel.Allow, check(b, g, c).Outcome)
			}
		}
		check(b, g, read) // connections and pools
		empty := weigh()
		fill()
		full := weigh()
		fill()
		twice := weigh()
		b.ReportMetric(float64(full.heap-empty.heap)/room, "B/answer")
		b.ReportMetric(float64(full.heap-empty.heap)/1e6, "MB-full")
		b.ReportMetric(float64(twice.heap-empty.heap)/1e6, "MB-twice-as-many")
		runtime.KeepAlive(g)
	}
}
