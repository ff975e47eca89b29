package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/cases"
)

const oneRow = `{"id":"1","decision":"allow"}` + "\n"

// A run that can't begin leaves what stands in the file. These are rows that another
// run wrote meanwhile, rows whose manifest is a foreign file, and rows whose manifest
// can't be written.
func TestRefusedKeepsRows(t *testing.T) {
	long := strings.Repeat("r", 250) // a name that no manifest's fits behind
	for name, c := range map[string]struct {
		file    string
		options ResultsOptions
		beside  func(t *testing.T, manifest string)
		says    string
	}{
		"ended meanwhile":      {"r", ResultsOptions{}, nil, "holds the results of an earlier run"},
		"a foreign manifest":   {"r", ResultsOptions{Overwrite: true}, foreignFile, "did not write what stands there"},
		"a folder as manifest": {"r", ResultsOptions{Overwrite: true}, folder, "it is a folder"},
		"no manifest possible": {long, ResultsOptions{Overwrite: true}, nil, "can't be written"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.File = filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(c.options.File, []byte(oneRow), 0o600))
			if c.beside != nil {
				c.beside(t, manifestName(c.options.File))
			}
			_, err := openResults(c.options, manifest{Format: 1})
			require.ErrorContains(t, err, c.says)
			got, err := os.ReadFile(c.options.File)
			require.NoError(t, err)
			require.Equal(t, oneRow, string(got))
		})
	}
}

func foreignFile(t *testing.T, name string) {
	require.NoError(t, os.WriteFile(name, []byte("mine\n"), 0o600))
}

func folder(t *testing.T, name string) { require.NoError(t, os.Mkdir(name, 0o700)) }

// With --resume nothing is begun over a manifest that eval didn't write, and
// nothing of it is lost.
func TestResumeKeepsForeignManifest(t *testing.T) {
	f := ResultsOptions{File: filepath.Join(t.TempDir(), "r"), Resume: true}
	foreignFile(t, manifestName(f.File))
	_, err := openResults(f, manifest{Format: 1})
	require.ErrorContains(t, err, "did not write what stands there")
	got, err := os.ReadFile(manifestName(f.File))
	require.NoError(t, err)
	require.Equal(t, "mine\n", string(got))
}

// A file that another took the place of between opening and locking is not this
// run's, though its lock is free.
func TestReplacedBeforeLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name+".other", []byte(oneRow), 0o600))
	require.NoError(t, os.Rename(name+".other", name))
	_, err = lockForRun(f, name)
	require.ErrorContains(t, err, "is being written by another eval")
}

// A row that can't be written ends the run with how to go on, and nothing is
// written behind it.
func TestUnwritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r")
	require.NoError(t, os.WriteFile(name, []byte(oneRow), 0o600))
	f, err := os.Open(name) // to read alone
	require.NoError(t, err)
	r := &resultsFile{f: f, name: name, taken: takenOut{rows: []Row{{ID: "1"}}, lines: [][]byte{[]byte(oneRow)}}}
	err = r.writeResultRow(Result{Case: cases.Case{ID: "2"}})
	var told *advice.Error
	require.ErrorAs(t, err, &told)
	require.ErrorContains(t, err, name+" can't be written")
	require.Contains(t, told.Todo, "--resume")
	require.NoError(t, r.close())
}

// Of results that are gone on with, half a last line is taken off, however short
// what comes after it is.
func TestResume(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.jsonl")
	const row = `{"id":"1","decision":"allow"}` + "\n"
	require.NoError(t, os.WriteFile(name, []byte(row+`{"id":"a long one that was cut`), 0o600))
	m := manifest{Format: 1, Policy: "p"}
	next, err := m.writeBeside(manifestName(name))
	require.NoError(t, err)
	require.NoError(t, replaceFile(next, manifestName(name)))
	r, err := resumeResults(name, m)
	require.NoError(t, err)
	require.NoError(t, terminal.WriteLine(r.f, []byte("{}")))
	require.NoError(t, r.close())
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, row+"{}\n", string(got))
}
