package telemetry

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/metrics.md again")

const page = `# Metrics

What ` + "`telemetry.metrics`" + ` serves at ` + "`GET /metrics`" + `, and what a program's own registry gets. Labels are
names that the configuration declares and words of closed lists: a skill that no operator configured is
` + "`unknown`" + `, a word that is on no list ` + "`other`" + `, no word ` + "`none`" + `. Ids of users, conversations and agents,
arguments, results and texts are in no label. Each replica counts for itself. A server of
` + "`telemetry.metrics`" + ` has besides what Go and the process tell of themselves (` + "`go_*`, `process_*`" + `).

This page is made by ` + "`go test ./orchestrator/telemetry -update`" + `.

| metric | type | labels | what it counts |
|---|---|---|---|
`

// docs/metrics.md lists every metric, and no other.
func TestTableOfMetrics(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(page)
	for _, d := range NewMetrics(Names{}, nil).Definitions() {
		labels := "–"
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, labels, d.Help)
	}
	file := filepath.Join("..", "..", "docs", "metrics.md")
	if *update {
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644)) //nolint:gosec // a page of the repository
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text), "run go test ./orchestrator/telemetry -update")
}

// Names are as Prometheus wants them: counters end in _total, times are in
// seconds, nothing stands twice, and the linter of its own library finds
// nothing. What is defined is what is collected.
func TestNamesOfMetrics(t *testing.T) {
	m := NewMetrics(Names{}, func() State { return State{} })
	name := regexp.MustCompile(`^vedette_[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for _, d := range m.Definitions() {
		require.Regexp(t, name, d.Name)
		require.False(t, seen[d.Name], d.Name)
		seen[d.Name] = true
		require.Equal(t, d.Type == "counter", strings.HasSuffix(d.Name, "_total"), d.Name)
		if d.Type == "histogram" {
			require.True(t, strings.HasSuffix(d.Name, "_seconds"), d.Name)
		}
		for _, l := range d.Labels {
			require.NotContains(t, []string{"user", "conversation", "agent", "call", "turn", "le"}, l)
		}
	}
	descs := make(chan *prometheus.Desc, 1000)
	m.Describe(descs)
	require.Len(t, descs, len(seen))
	problems, err := testutil.CollectAndLint(m)
	require.NoError(t, err)
	require.Empty(t, problems)
}
