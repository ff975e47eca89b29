package limits_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
)

// BenchmarkAccountMemory measures what a store in memory keeps where there is a
// use each 100 ms. Run it with -benchtime of more than a day of them: 900000x.
func BenchmarkAccountMemory(b *testing.B) {
	for name, a := range map[string]limits.Allowances{
		"one bound":   {Day: limits.Allowance{Calls: 1 << 40}},
		"nine bounds": {Conversation: all(1 << 40), User: all(1 << 40), Day: all(1 << 40)},
	} {
		b.Run(name, func(b *testing.B) {
			now := time.Unix(0, 0)
			m := limits.NewMemory(limits.MemoryOptions{Now: func() time.Time { return now }})
			account, err := limits.NewAccount("sentinel", a, m)
			require.NoError(b, err)
			before := heap()
			for i := 0; b.Loop(); i++ {
				now = now.Add(100 * time.Millisecond)
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
			b.ReportMetric(float64(heap()-before), "B")
			b.ReportMetric(float64(heap()-before)/float64(b.N), "B/use")
			runtime.KeepAlive(m)
		})
	}
}

func all(n int64) limits.Allowance { return limits.Allowance{Calls: n, Tokens: n, Cost: n} }

// heap is what is in use after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
