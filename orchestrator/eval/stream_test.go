//go:build unix

package eval

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
)

func pipe(t *testing.T, name string) string {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	return name
}

// What can take no results is refused at once, and says why.
func TestResultsThatAreNoFile(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	for name, row := range map[string]struct{ file, says string }{
		"a pipe without a reader": {pipe(t, filepath.Join(dir, "p")), "it is a pipe that no program reads"},
		"a folder":                {dir, "it is a folder"},
		"a socket":                {filepath.Join(dir, "s"), "it is a socket"},
	} {
		for _, f := range []ResultsOptions{{File: row.file}, {File: row.file, Overwrite: true}} {
			_, err := openResults(f, manifest{Format: 1})
			require.ErrorContains(t, err, row.says, name)
		}
		_, err := openResults(ResultsOptions{File: row.file, Resume: true}, manifest{Format: 1})
		require.ErrorContains(t, err, "it is no regular file", name)
		_, err = openPrompts(row.file)
		require.ErrorContains(t, err, row.says, name)
	}
}

// A pipe that has a reader gets the rows.
func TestResultsIntoAPipe(t *testing.T) {
	name := pipe(t, filepath.Join(t.TempDir(), "p"))
	r, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	out, err := openResults(ResultsOptions{File: name}, manifest{Format: 1})
	require.NoError(t, err)
	require.NoError(t, out.writeResultRow(Result{Case: cases.Case{ID: "7"}}))
	require.NoError(t, out.close())
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Contains(t, string(b), `"id":"7"`)
}

// A device that takes what it is given is fine.
func TestResultsToNothing(t *testing.T) {
	out, err := openResults(ResultsOptions{File: os.DevNull}, manifest{Format: 1})
	require.NoError(t, err)
	require.NoError(t, out.writeResultRow(Result{Case: cases.Case{ID: "7"}}))
	require.NoError(t, out.close())
}

// A pipe where the manifest should be holds nothing up, whatever is asked.
func TestPipeAsManifest(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r")
	require.NoError(t, os.WriteFile(name, []byte(oneRow), 0o600))
	pipe(t, manifestName(name))
	_, err := openResults(ResultsOptions{File: name, Overwrite: true}, manifest{Format: 1})
	require.ErrorContains(t, err, "did not write what stands there")
	_, err = openResults(ResultsOptions{File: name, Resume: true}, manifest{Format: 1})
	require.ErrorContains(t, err, "no manifest that eval wrote")
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, oneRow, string(got))
}

// A file that was open to others is its owner's alone once it holds values.
func TestPrivate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(name, 0o644))
	f, err := openPrivate(name)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Zero(t, info.Size())
}
