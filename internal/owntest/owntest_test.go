package owntest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A test runs once elsewhere, where it is told so, and passes here.
func TestElsewhere(t *testing.T) {
	file := os.Getenv("OWNTEST_FILE")
	if file == "" {
		file = t.TempDir() + "/ran"
		t.Setenv("OWNTEST_FILE", file)
	}
	if Elsewhere(t) {
		ran, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "there", string(ran))
		return
	}
	require.NoFileExists(t, file)
	require.NoError(t, os.WriteFile(file, []byte("there"), 0o600))
}

// One that fails elsewhere fails here.
func TestFailureElsewhere(t *testing.T) {
	if os.Getenv("OWNTEST_FAIL") != "" {
		require.False(t, Elsewhere(t), "it fails on purpose") // this process, or its copy
		t.Fatal("as it should")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailureElsewhere$")
	cmd.Env = append(os.Environ(), "OWNTEST_FAIL=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "in a process of its own")
	require.Contains(t, string(out), "as it should")
}
