package limits_test

import (
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-dev/vedette/limits"
)

// BenchmarkReserve measures Reserve on all four levels, in a store of thousands of
// conversations. Each makes 25 calls in one turn by five agents. The turn ends,
// and the window slides out later.
func BenchmarkReserve(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			var ticks, workers atomic.Int64
			base := time.Now()
			now := func() time.Time { return base.Add(time.Duration(ticks.Add(1)) * time.Millisecond) }
			l, err := limits.New(limits.Config{}, limits.NewMemory(limits.MemoryOptions{Now: now}))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			if goroutines == 1 {
				for i := range b.N {
					reserveNth(b, l, "w0", i)
				}
				return
			}
			b.SetParallelism(max(1, goroutines/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				worker := "w" + strconv.FormatInt(workers.Add(1), 10)
				for i := 0; pb.Next(); i++ {
					reserveNth(b, l, worker, i)
				}
			})
		})
	}
}

func reserveNth(b *testing.B, l *limits.Limiter, worker string, i int) {
	n := strconv.Itoa(i)
	p := limits.Proposal{
		ID: worker + n, User: worker, Conversation: strconv.Itoa(i / 25), Turn: "1",
		Agent: strconv.Itoa(i % 25 / 5), Skill: "files.read",
	}
	v, err := l.Reserve(b.Context(), p)
	if err != nil || !v.OK {
		b.Errorf("call %d: %+v, %v", i, v, err)
	}
	if i%25 == 24 {
		if err := l.EndConversation(b.Context(), p); err != nil {
			b.Error(err)
		}
	}
}
