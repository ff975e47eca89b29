package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary stand in for the program.
func TestMain(m *testing.M) {
	if os.Getenv("EMBED_AS_PROGRAM") != "" {
		main()
	}
	if dir := os.Getenv("EMBED_KEEPER"); dir != "" {
		os.Exit(runKeeper(dir))
	}
	os.Exit(m.Run())
}

func runEmbed(t *testing.T, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "EMBED_AS_PROGRAM=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The program's command line knows its Go skill: rules about it are validated
// and their tests run.
func TestCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vedette.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`version: 1
sentinel: {mode: "off"}
permissions: [{skill: clock.now, users: [guest], then: deny}]
tests: [{name: guests have no clock, user: guest, request: what time is it, call: {skill: clock.now}, expect: deny, code: `+
		`permission.denied}]
`), 0o600))
	out, err := runEmbed(t, "vedette", "validate", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "1 (1 read)")
	out, err = runEmbed(t, "vedette", "test", "--strict", "--config", file)
	require.NoError(t, err, out)
	require.Contains(t, out, "PASS 1/1")
	out, err = runEmbed(t, file)
	require.Error(t, err)
	require.Contains(t, out, "usage: embed CONFIG REQUEST, or embed vedette COMMAND")
}
