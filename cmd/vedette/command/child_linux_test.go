package command

import (
	"os"
	osexec "os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// The child that isolates itself starts before the packages that cost
// milliseconds are initialised. It finds no plan here, and ends.
func TestChildStartsEarly(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.CommandContext(t.Context(), path)
	cmd.Args, cmd.Env = []string{isolate.ChildName}, []string{"GODEBUG=inittrace=1"}
	var trace strings.Builder
	cmd.Stderr = &trace
	var exit *osexec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.Equal(t, 126, exit.ExitCode())
	require.Contains(t, trace.String(), "init golang.org/x/sys/unix ")
	for _, late := range []string{
		"github.com/santhosh-tekuri/jsonschema",
		"github.com/vedette-dev/vedette/config", "github.com/vedette-dev/vedette/orchestrator", "github.com/vedette-dev/vedette/sentinel/judge",
		"github.com/vedette-dev/vedette/sentinel/guard",
		"github.com/vedette-dev/vedette/sentinel/touch/bash", "github.com/vedette-dev/vedette/sentinel/touch/code",
		"github.com/prometheus/client_golang", "google.golang.org/protobuf/types",
		"cel.dev/cel-go/parser", "modernc.org/sqlite",
	} {
		require.NotContains(t, trace.String(), "init "+late, "the child waits for %s", late)
	}
}
