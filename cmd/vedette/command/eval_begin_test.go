package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
)

const oneRow = `{"id":"1","decision":"allow"}` + "\n"

// A run that can't begin leaves what stands in the file: rows that another run
// wrote meanwhile, rows whose manifest somebody else's file stands for, and rows
// whose manifest can't be written.
func TestRefusedKeepsRows(t *testing.T) {
	long := strings.Repeat("r", 250) // a name that no manifest's fits behind
	for name, c := range map[string]struct {
		file   string
		flags  evalFlags
		beside func(t *testing.T, manifest string)
		says   string
	}{
		"ended meanwhile":      {"r", evalFlags{}, nil, "holds the results of an earlier run"},
		"a foreign manifest":   {"r", evalFlags{overwrite: true}, foreignFile, "did not write what stands there"},
		"a folder as manifest": {"r", evalFlags{overwrite: true}, folder, "it is a folder"},
		"no manifest possible": {long, evalFlags{overwrite: true}, nil, "can't be written"},
	} {
		t.Run(name, func(t *testing.T) {
			c.flags.results = filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(c.flags.results, []byte(oneRow), 0o600))
			if c.beside != nil {
				c.beside(t, manifestName(c.flags.results))
			}
			_, err := openResults(c.flags, manifest{Format: 1})
			require.ErrorContains(t, err, c.says)
			got, err := os.ReadFile(c.flags.results)
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
	f := evalFlags{results: filepath.Join(t.TempDir(), "r"), resume: true}
	foreignFile(t, manifestName(f.results))
	_, err := openResults(f, manifest{Format: 1})
	require.ErrorContains(t, err, "did not write what stands there")
	got, err := os.ReadFile(manifestName(f.results))
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
	_, err = owned(f, name)
	require.ErrorContains(t, err, "is being written by another eval")
}

// A wait is long enough for a breaker that opened to let a request through.
func TestWaitOutlastsBreaker(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{time.Second: 31 * time.Second, time.Minute: time.Minute} {
		require.Equal(t, want, (&evalRun{flags: evalFlags{wait: wait}, openFor: 30 * time.Second}).again().For)
	}
	require.Nil(t, (&evalRun{openFor: 30 * time.Second}).again())
}

// A row that can't be written ends the run with how to go on, and nothing is
// written behind it.
func TestUnwritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r")
	require.NoError(t, os.WriteFile(name, []byte(oneRow), 0o600))
	f, err := os.Open(name) // to read alone
	require.NoError(t, err)
	r := &results{f: f, name: name, taken: takenOut{rows: []eval.Row{{ID: "1"}}, lines: [][]byte{[]byte(oneRow)}}}
	err = r.write(eval.Result{Case: cases.Case{ID: "2"}})
	var told *failure
	require.ErrorAs(t, err, &told)
	require.ErrorContains(t, err, name+" can't be written")
	require.Contains(t, told.hint, "--resume")
	require.NoError(t, r.close())
}
