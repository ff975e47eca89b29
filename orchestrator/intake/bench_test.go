//go:build unix

package intake_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/intake"
)

// text2KB is a request of 2 KB.
var text2KB = "Find 3 experts about taxes for 4000 euros by 2026-12-24. " +
	strings.Repeat("We looked at this for a while and would be glad of help. ", 34)

// processorTime is what this process has used of processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkProcess is a request of 2 KB through all stages but models and people, with every record durable: one after
// the other, where p99-ms is the time that one in a hundred took or more, and many at a time. cpu-µs is the processor's
// time for each, which other work on the machine changes least. With TMPDIR=/dev/shm the database is on a memory
// file system.
func BenchmarkProcess(b *testing.B) {
	b.Run("one", func(b *testing.B) {
		c := newCounter(b, settings{})
		var took []time.Duration
		used := processorTime(b)
		for n := 0; b.Loop(); n++ {
			began := time.Now()
			a, err := c.Intake.Process(b.Context(), intake.Request{User: "ann", Session: fmt.Sprint("s", n), Text: text2KB})
			took = append(took, time.Since(began))
			if err != nil || a.Status != intake.Completed {
				b.Fatal(a.Status, a.Message, err)
			}
		}
		b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(len(took)), "cpu-µs")
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	})
	b.Run("many", func(b *testing.B) {
		c := newCounter(b, settings{})
		b.SetParallelism(64)
		used := processorTime(b)
		b.RunParallel(func(pb *testing.PB) {
			for n := 0; pb.Next(); n++ {
				a, err := c.Intake.Process(b.Context(), intake.Request{User: "ann", Session: "s1", Text: text2KB})
				if err != nil || a.Status != intake.Completed {
					b.Error(a.Status, a.Message, err)
					return
				}
			}
		})
		b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(b.N), "cpu-µs")
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	})
}
