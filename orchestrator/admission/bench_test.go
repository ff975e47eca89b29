package admission

import (
	"context"
	"slices"
	"testing"
	"time"
)

// burst is how many requests are one sample: one alone is as short as a look at
// the clock.
const burst = 1_000

// beside takes samples of ours and of the semaphore in turns and reports the
// time of one request: median, 99th percentile and worst of both, and the
// ratio of the medians.
func beside(b *testing.B, ours func()) {
	s := make(chan struct{}, 256)
	twin := func() { s <- struct{}{}; <-s }
	var a, t []time.Duration
	sample := func(fn func()) time.Duration {
		began := time.Now()
		for range burst {
			fn()
		}
		return time.Since(began)
	}
	for b.Loop() {
		a, t = append(a, sample(ours)), append(t, sample(twin))
	}
	for who, list := range map[string][]time.Duration{"": a, "semaphore-": t} {
		slices.Sort(list)
		for what, i := range map[string]int{"p50-ns": len(list) / 2, "p99-ns": len(list) * 99 / 100, "max-ns": len(list) - 1} {
			b.ReportMetric(float64(list[i])/burst, who+what)
		}
	}
	b.ReportMetric(float64(a[len(a)/2])/float64(t[len(t)/2]), "ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCredit is one request's way through the pool, beside a buffered
// channel as a plain semaphore, which knows no users, no lives and no queue.
func BenchmarkCredit(b *testing.B) {
	p := New(Options{What: "x", Process: 256, User: 32})
	life, end := context.WithCancel(b.Context())
	defer end()
	for name, ask := range map[string]Ask{"free": {User: "ann"}, "tied to a life": {User: "ann", Life: life}} {
		b.Run(name, func(b *testing.B) {
			beside(b, func() {
				c, err := p.Try(ask)
				if err != nil {
					b.Fatal(err)
				}
				c.Release()
			})
			if s := p.Stats(); s.Used != 0 {
				b.Fatalf("%d credits are out", s.Used)
			}
		})
	}
	b.Run("refused", func(b *testing.B) {
		p := New(Options{What: "x", Process: 1})
		if _, err := p.Try(Ask{User: "ann"}); err != nil {
			b.Fatal(err)
		}
		beside(b, func() {
			if _, err := p.Try(Ask{User: "bob"}); err == nil {
				b.Fatal("there was room")
			}
		})
	})
}

// BenchmarkContended is a request that waits for its turn among 64 askers of
// eight users, beside the semaphore's.
func BenchmarkContended(b *testing.B) {
	b.Run("semaphore", func(b *testing.B) {
		s := make(chan struct{}, 4)
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s <- struct{}{}
				<-s
			}
		})
	})
	b.Run("pool", func(b *testing.B) {
		p := New(Options{What: "x", Process: 4, Waiting: 1000, UserWaiting: 1000})
		users := make(chan string, 8)
		for _, u := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			users <- u
		}
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			user := <-users
			users <- user
			for pb.Next() {
				c, err := p.Acquire(context.Background(), Ask{User: user})
				if err != nil {
					b.Error(err)
					return
				}
				c.Release()
			}
		})
	})
}
