package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator"
)

// A model that fails its canaries is in the first lines of top.
func TestTopNamesMarkedModels(t *testing.T) {
	frame := strings.Join(frameLines(orchestrator.Top{CanaryFailed: []string{"fast\x1b[31m"}}, false), "\n")
	require.Contains(t, frame, "DEGRADED: model fast\\x1b[31m of the review fails its canaries")
	require.NotContains(t, strings.Join(frameLines(orchestrator.Top{}, false), "\n"), "DEGRADED")
}
