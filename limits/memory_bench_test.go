package limits_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
)

// BenchmarkAccountMemory measures what a store in memory keeps of each use, for
// a day, per meter that has a bound. Run it with -benchtime of many uses:
// 200000x.
func BenchmarkAccountMemory(b *testing.B) {
	for name, a := range map[string]limits.Allowances{
		"one bound":   {Day: limits.Allowance{Calls: 1 << 40}},
		"nine bounds": {Conversation: all(1 << 40), User: all(1 << 40), Day: all(1 << 40)},
	} {
		b.Run(name, func(b *testing.B) {
			m := limits.NewMemory(limits.MemoryOptions{})
			account, err := limits.NewAccount("sentinel", a, m)
			require.NoError(b, err)
			before := heap()
			for i := 0; b.Loop(); i++ {
				u := limits.Use{ID: "ABCDEFGHIJKLMNOPQRST" + strconv.Itoa(100_000_000+i), User: "ann", Conversation: "c1", Calls: 1, Tokens: 900, Cost: 4}
				v, err := account.Hold(b.Context(), u)
				if err != nil || !v.OK {
					b.Fatal(v, err)
				}
				u.Tokens = 700
				if err := account.Spend(b.Context(), u); err != nil {
					b.Fatal(err)
				}
			}
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
