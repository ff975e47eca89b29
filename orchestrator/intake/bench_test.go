package intake_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/intake"
)

// memoryFolder is a folder on a memory file system, where there is one.
func memoryFolder(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "intake") //nolint:usetesting // b.TempDir is on the disk
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(dir)) })
	return dir
}

// text2KB is a request of 2 KB.
var text2KB = "Find 3 experts about taxes for 4000 euros by 2026-12-24. " +
	strings.Repeat("We looked at this for a while and would be glad of help. ", 34)

// BenchmarkProcess is a request of 2 KB through all stages but models and people, with every record durable: one after
// the other, where p99-ms is the time that one in a hundred took or more, and many at a time.
func BenchmarkProcess(b *testing.B) {
	b.Run("one", func(b *testing.B) {
		c := newCounter(b, settings{store: memoryFolder(b)})
		var took []time.Duration
		for n := 0; b.Loop(); n++ {
			began := time.Now()
			a, err := c.Intake.Process(b.Context(), intake.Request{User: "ann", Session: fmt.Sprint("s", n), Text: text2KB})
			took = append(took, time.Since(began))
			if err != nil || a.Status != intake.Completed {
				b.Fatal(a.Status, a.Message, err)
			}
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	})
	b.Run("many", func(b *testing.B) {
		c := newCounter(b, settings{store: memoryFolder(b)})
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			for n := 0; pb.Next(); n++ {
				a, err := c.Intake.Process(b.Context(), intake.Request{User: "ann", Session: "s1", Text: text2KB})
				if err != nil || a.Status != intake.Completed {
					b.Error(a.Status, a.Message, err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	})
}
