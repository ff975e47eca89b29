//go:build linux

package exec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// guardedPlaces is a folder with Vedette's own files and a program's beside them. The
// database is reached by a link that lies in links.
func guardedPlaces(t *testing.T) (dir string, guarded []Guarded) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, folder := range []string{"state/keys/old", "work/sub", "links", "conf"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	}
	for _, file := range []string{"state/v.db", "state/v.db-wal", "conf/vedette.yaml", "work/f"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "state"), filepath.Join(dir, "links/state")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "state/keys"), filepath.Join(dir, "work/keys")))
	for what, path := range map[string]string{"the keys": "state/keys", "the database": "links/state/v.db"} {
		guarded = append(guarded, Guarded{What: what, Path: filepath.Join(dir, path), Secret: true})
	}
	guarded = append(guarded, Guarded{What: "the owner's socket", Path: filepath.Join(dir, "state/later/sock"), Secret: true},
		Guarded{What: "the database", Path: filepath.Join(dir, "state/v.db-wal"), Secret: true},
		Guarded{What: "the configuration", Path: filepath.Join(dir, "conf/vedette.yaml")}, Guarded{What: "nothing"})
	return dir, guarded
}

// A declared path that holds what is Vedette's own, lies in it, or leads to it by a
// link is a mistake of the configuration at its place.
func TestGuardedPaths(t *testing.T) {
	dir, guarded := guardedPlaces(t)
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		key, path, fault string
	}{
		"a folder of its own":           {"write", "work/sub", ""},
		"a file of its own":             {"read", "work/f", ""},
		"around its links":              {"write", "work", ""},
		"read the configuration":        {"read", "conf", ""},
		"write the configuration":       {"write", "conf", "contains the configuration"},
		"write the configuration alone": {"write", "conf/vedette.yaml", "contains the configuration"},
		"read around all":               {"read", ".", "contains the "},
		"write around all":              {"write", ".", "contains the "},
		"read the state":                {"read", "state", "contains the "},
		"read the keys":                 {"read", "state/keys", "contains the keys"},
		"write among the keys":          {"write", "state/keys/old", "lies in the keys"},
		"read the keys by a link":       {"read", "work/keys", "contains the keys"},
		"read the database":             {"read", "state/v.db", "contains the database"},
		"read its log":                  {"read", "state/v.db-wal", "contains the database"},
		"replace a link on the way":     {"write", "links", "contains the database"},
		"read beside a link on the way": {"read", "links", ""},
	} {
		o := opts{"argv": []string{"true"}, row.key: []string{filepath.Join(dir, row.path)}}
		_, err := New(runtest.Compile(t, spec(o), nil), kit.Redeemer, Options{Dir: dir, Guarded: guarded})
		if row.fault == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, []string{"run.exec." + row.key + "[0]"}, runtest.Paths(err), name)
		require.ErrorContains(t, err, row.fault, name)
		require.ErrorContains(t, err, "; give the program a folder of its own", name)
	}
}

// A relative path is guarded like an absolute one.
func TestGuardedRelativePath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir)
	_, err = New(runtest.Compile(t, spec(opts{"argv": []string{"true"}, "read": []string{dir}}), nil), runtest.New(t).Redeemer,
		Options{Dir: dir, Guarded: []Guarded{{What: "the database", Path: "v.db", Secret: true}}})
	require.ErrorContains(t, err, "contains the database")
}
