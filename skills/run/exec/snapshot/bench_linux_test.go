package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fillMany makes a root of n files, a thousand to a folder.
func fillMany(b *testing.B, root string, n int) {
	b.Helper()
	for i := range n {
		folder := filepath.Join(root, fmt.Sprintf("d%03d", i/1000))
		if i%1000 == 0 {
			require.NoError(b, os.Mkdir(folder, 0o755))
		}
		require.NoError(b, os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%03d", i%1000)), []byte("content"), 0o644))
	}
}

// reportSamples reports the middle and the end of samples.
func reportSamples(b *testing.B, what string, samples []time.Duration) {
	b.Helper()
	slices.Sort(samples)
	b.ReportMetric(float64(samples[len(samples)/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(samples[len(samples)*99/100].Microseconds())/1000, what+"-p99-ms")
}

// childrenTime is the processor time of all children that have ended.
func childrenTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_CHILDREN, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOpen makes layers over a root of 100,000 files, and throws them away.
func BenchmarkOpen(b *testing.B) {
	s := newSite(b, false)
	fillMany(b, s.root, 100_000)
	var open, discard []time.Duration
	for b.Loop() {
		start := time.Now()
		l := s.open(b)
		open = append(open, time.Since(start))
		start = time.Now()
		require.NoError(b, l.Discard())
		discard = append(discard, time.Since(start))
	}
	reportSamples(b, "open", open)
	reportSamples(b, "discard", discard)
}

// BenchmarkMount starts a shell over a root of 100,000 files, with a layer and without:
// what lies between is the mounting. The two take turns, so that they share what else this
// machine does. Each start has a layer of its own, since the kernel mounts a volatile one
// once alone.
func BenchmarkMount(b *testing.B) {
	s := newSite(b, false)
	fillMany(b, s.root, 100_000)
	rows := []string{"overlay", "without"}
	took, spent := map[string][]time.Duration{}, map[string]time.Duration{}
	for b.Loop() {
		for _, row := range rows {
			var env []string
			if row == "without" {
				env = []string{"SNAPSHOT_NO_MOUNT=1"}
			}
			l := s.open(b)
			before, start := childrenTime(b), time.Now()
			runIn(b, l, "exit 0", env...)
			took[row] = append(took[row], time.Since(start))
			spent[row] += childrenTime(b) - before
			require.NoError(b, l.Discard())
		}
	}
	for _, row := range rows {
		reportSamples(b, row, took[row])
		b.ReportMetric(float64(took[row][0].Microseconds())/1000, row+"-least-ms")
		b.ReportMetric(float64(spent[row].Microseconds())/1000/float64(len(took[row])), row+"-cpu-ms")
	}
}

// BenchmarkThousand lists and commits 1,000 changes among 100,000 files: 400 changed, 300
// made and 300 removed.
func BenchmarkThousand(b *testing.B) {
	for _, apart := range []bool{false, true} {
		name := "one file system"
		if apart {
			name = "two file systems"
		}
		b.Run(name, func(b *testing.B) {
			s := newSite(b, apart)
			fillMany(b, s.root, 100_000)
			var list, commit []time.Duration
			for b.Loop() {
				l := s.open(b)
				runIn(b, l, `cd d050; for i in {000..399}; do echo $RANDOM$RANDOM >f$i; done
					for i in {1..300}; do echo x >new$i; done; rm f{400..699}`)
				start := time.Now()
				c, err := l.Changes(b.Context())
				require.NoError(b, err)
				list = append(list, time.Since(start))
				b.ReportMetric(float64(len(c.List)), "changes")
				start = time.Now()
				_, err = l.Commit(b.Context(), c.Digest, CommitOptions{})
				require.NoError(b, err)
				commit = append(commit, time.Since(start))
				runDirectly(b, s.root, "for i in {400..699}; do echo content >d050/f$i; done; rm d050/new*")
				require.NoError(b, l.Discard())
			}
			reportSamples(b, "list", list)
			reportSamples(b, "commit", commit)
		})
	}
}
