package command

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/control"
)

// A status keeps within 100 columns whatever the names are, names what isn't well, and takes no control
// character to the terminal.
func TestStatusLines(t *testing.T) {
	open := 3
	now := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	long := strings.Repeat("/a-long-folder", 20) + "/vedette.yaml"
	lines := statusLines(orchestrator.Status{
		PID: 7, Version: "v1.2.3", Now: now, Started: now.Add(-time.Minute), Draining: true,
		Policy: orchestrator.PolicyStatus{Digest: "sha256:" + strings.Repeat("ab", 32), Since: now, File: long},
		Reload: &orchestrator.ReloadStatus{
			At: now, By: "file", Outcome: orchestrator.ReloadRefused, Error: "it lets more through:\n" + long + ":1:2: judge.threshold \x1b[31m",
		},
		Pauses:        []control.Pause{{Target: control.Target{User: "ann"}, Since: now, By: "uid:0"}},
		Conversations: orchestrator.ConversationCounts{Open: 4, AtWork: 2},
		Calls:         orchestrator.CallCounts{InFlight: 3, Held: 1, Queued: 1, Running: 1},
		Approvals:     &open, Review: []orchestrator.ModelStatus{{Model: "fast", Breaker: "open", LastFailure: "timeout"}},
		Health: []orchestrator.Check{{Name: "store", State: "failed"}, {Name: "review", State: "degraded"},
			{Name: "configuration", State: "degraded"}, {Name: "pause", State: "ok"}},
	})
	for _, l := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(l), statusWidth, l)
		require.NotContains(t, l, "\x1b")
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"vedette        v1.2.3, pid 7, up 1m0s\n", "DRAINING", "health         FAILED: store; DEGRADED: configuration, review\n",
		"policy         sha256:abab", "last reload    REFUSED, by file, ", "conversations  4 open, 2 at work\n",
		"calls          3 in flight: 1 held for a person, 0 awaiting places, 1 queued, 1 running\n", "approvals      3 without an end\n",
		"review         fast: breaker open, last failure timeout\n", "PAUSED         user ann, since ",
	} {
		require.Contains(t, text, want)
	}
	plain := strings.Join(statusLines(orchestrator.Status{}), "\n")
	require.Contains(t, plain, "health         ok\n")
	require.Contains(t, plain, "last reload    none since the start\n")
	require.NotContains(t, plain, "approvals")
	require.Equal(t, []string{""}, wrapText("", 10))
	require.Equal(t, []string{"a bc", "defgh", "i"}, wrapText("a bc defghi", 5))
}
