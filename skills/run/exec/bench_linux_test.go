package exec

import (
	osexec "os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// BenchmarkLayers times one start of true in each grade beside true itself and a
// start of this binary that does nothing more. docs/sandbox.md holds the figures.
func BenchmarkLayers(b *testing.B) {
	path, err := osexec.LookPath("true")
	require.NoError(b, err)
	under := func(isolation string, ways ...way) func() {
		c := config{Argv: []string{path}, Stdin: "none", OutputLimit: defaultOutput, Isolation: isolation, Dir: "/"}
		p := &program{config: c, path: path}
		return func() {
			w := wayFull
			if len(ways) > 0 {
				w = ways[0]
			}
			r, err := p.start(b.Context(), w, p.Argv, environment{}, skills.Order{})
			require.NoError(b, err)
			require.NoError(b, p.outcome(b.Context(), r, r.awaitEnd()))
		}
	}
	for _, row := range []struct {
		name string
		run  func()
	}{
		{"true", func() { require.NoError(b, osexec.Command(path).Run()) }},
		{"none", under(IsolationNone, way{grade: GradeNone})},
		{"reexec", func() {
			cmd := osexec.Command("/proc/self/exe")
			cmd.Args, cmd.Env = []string{"vedette-exec-child"}, []string{}
			_ = cmd.Run() // it finds no plan and ends
		}},
		{"landlock", under(IsolationLandlock, wayLandlock)},
		{"landlock-strict", under(IsolationStrict, wayStrict)},
		{"landlock+namespaces", under(IsolationLandlock, wayBoth)},
		{"full", under(IsolationFull)},
	} {
		b.Run(row.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				row.run()
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
