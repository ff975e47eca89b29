package exec

import (
	osexec "os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childrenTime is the processor time of all children that have ended, which says
// more than the clock where others use the machine.
func childrenTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLayers times one start of true in each grade beside true itself and a
// start of this binary that does nothing more. docs/sandbox.md holds the figures.
func BenchmarkLayers(b *testing.B) {
	path, err := osexec.LookPath("true")
	require.NoError(b, err)
	under := func(w way) func() {
		p := &program{config: config{Argv: []string{path}, Stdin: "none", OutputLimit: defaultOutput, Dir: "/"}, path: path}
		return func() {
			r, err := p.startInWay(b.Context(), w, p.Argv, environment{}, stdio{})
			require.NoError(b, err)
			require.NoError(b, r.explainEnd(b.Context(), r.awaitEnd()))
		}
	}
	for _, row := range []struct {
		name string
		run  func()
	}{
		{"true", func() { require.NoError(b, osexec.Command(path).Run()) }},
		{"none", under(way{grade: GradeNone})},
		{"reexec", func() {
			cmd := osexec.Command("/proc/self/exe")
			cmd.Args, cmd.Env = []string{"vedette-exec-child"}, []string{}
			_ = cmd.Run() // it finds no plan and ends
		}},
		{"landlock", under(wayLandlock)},
		{"landlock-strict", under(wayStrict)},
		{"landlock+namespaces", under(wayBoth)},
		{"full", under(wayFull)},
	} {
		b.Run(row.name, func(b *testing.B) {
			var took []time.Duration
			before := childrenTime(b)
			for b.Loop() {
				start := time.Now()
				row.run()
				took = append(took, time.Since(start))
			}
			b.ReportMetric(float64((childrenTime(b)-before).Microseconds())/1000/float64(len(took)), "cpu-ms")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
