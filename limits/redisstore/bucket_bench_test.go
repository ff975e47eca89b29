package redisstore_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
)

// BenchmarkTake measures the slots of one proposal (agent, turn, conversation) on
// a server and in memory. Beside them it measures a bare round trip to the server.
func BenchmarkTake(b *testing.B) {
	url, prefix := redistest.Shared(b)
	s := open(b, redisstore.Options{URL: url, Prefix: prefix})
	take := func(store limits.Store) func(n int64) error {
		return func(n int64) error {
			owner := "c" + strconv.FormatInt(n/25, 10)
			t, err := store.Take(b.Context(), strconv.FormatInt(n, 10), []limits.Bucket{
				{Key: owner + "/t/a/calls", Max: 50}, {Key: owner + "/t/calls", Max: 50}, {Key: owner + "/calls", Max: 50, Window: time.Minute},
			})
			if err == nil && !t.OK {
				err = fmt.Errorf("no room: %+v", t)
			}
			return err
		}
	}
	for _, goroutines := range []int{1, 64} {
		for _, peer := range []struct {
			name string
			ask  func(int64) error
		}{
			{"redis", take(s)},
			{"memory", take(limits.NewMemory(limits.MemoryOptions{MaxKeys: 10_000_000}))},
			{"ping", func(int64) error { return s.Ping(b.Context()) }},
		} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", peer.name, goroutines), func(b *testing.B) { measure(b, goroutines, peer.ask) })
		}
	}
}

var asked atomic.Int64 // no id comes twice, over all runs

// measure asks b.N times from so many goroutines and reports the median and the
// 99th percentile beside the mean.
func measure(b *testing.B, goroutines int, ask func(int64) error) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	samples := make([][]time.Duration, goroutines)
	b.ResetTimer()
	for g := range goroutines {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				start := time.Now()
				if err := ask(asked.Add(1)); err != nil {
					b.Error(err)
					return
				}
				samples[g] = append(samples[g], time.Since(start))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(samples...)
	slices.Sort(all)
	if len(all) > 0 {
		b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), "p50-ns")
		b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds()), "p99-ns")
	}
}
