//go:build unix

package command

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
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
		for _, f := range []evalFlags{{results: row.file}, {results: row.file, overwrite: true}} {
			_, err := openResults(f, manifest{Format: 1})
			require.ErrorContains(t, err, row.says, name)
		}
		_, err := openResults(evalFlags{results: row.file, resume: true}, manifest{Format: 1})
		require.ErrorContains(t, err, "it is no regular file", name)
		_, err = promptsOut(row.file)
		require.ErrorContains(t, err, row.says, name)
	}
}

// A pipe that has a reader gets the rows.
func TestResultsIntoAPipe(t *testing.T) {
	name := pipe(t, filepath.Join(t.TempDir(), "p"))
	r, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	out, err := openResults(evalFlags{results: name}, manifest{Format: 1})
	require.NoError(t, err)
	require.NoError(t, out.write(eval.Result{Case: cases.Case{ID: "7"}}))
	require.NoError(t, out.close())
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Contains(t, string(b), `"id":"7"`)
}

// A device that takes what it is given is fine.
func TestResultsToNothing(t *testing.T) {
	out, err := openResults(evalFlags{results: os.DevNull}, manifest{Format: 1})
	require.NoError(t, err)
	require.NoError(t, out.write(eval.Result{Case: cases.Case{ID: "7"}}))
	require.NoError(t, out.close())
}

// A pipe where the manifest should be holds nothing up, whatever is asked.
func TestPipeAsManifest(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r")
	require.NoError(t, os.WriteFile(name, []byte(oneRow), 0o600))
	pipe(t, manifestName(name))
	_, err := openResults(evalFlags{results: name, overwrite: true}, manifest{Format: 1})
	require.ErrorContains(t, err, "did not write what stands there")
	_, err = openResults(evalFlags{results: name, resume: true}, manifest{Format: 1})
	require.ErrorContains(t, err, "no manifest that eval wrote")
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, oneRow, string(got))
}
