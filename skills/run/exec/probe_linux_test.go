package exec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

// Probe runs the whole chain.
func TestProbe(t *testing.T) {
	grade, err := Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, GradeFull, grade)
}

// What snapshot needs can be tried before a call needs it.
func TestProbeSnapshot(t *testing.T) {
	state, folder := t.TempDir(), t.TempDir()
	require.NoError(t, ProbeSnapshot(t.Context(), state, folder))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
	ids, err := snapshot.IDs(state)
	require.NoError(t, err)
	require.Empty(t, ids)
	err = ProbeSnapshot(t.Context(), filepath.Join(folder, "state"), folder)
	var root *snapshot.RootError
	require.ErrorAs(t, err, &root)
}
