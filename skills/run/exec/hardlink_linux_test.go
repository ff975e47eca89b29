package exec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// A declared path that holds another name of what is guarded is refused like the thing itself.
func TestGuardedHardLinks(t *testing.T) {
	dir, guarded := guardedPlaces(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state/keys/signing"), nil, 0o600))
	for from, to := range map[string]string{"state/v.db": "work/sub/copy", "state/keys/signing": "work/other",
		"conf/vedette.yaml": "links/conf"} {
		require.NoError(t, os.Link(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		key, path, fault string
	}{
		"read the database":         {"read", "work/sub", "holds a hard link to the database"},
		"read it alone":             {"read", "work/sub/copy", "holds a hard link to the database"},
		"write the database":        {"write", "work/sub", "holds a hard link to the database"},
		"read a key":                {"read", "work/other", "holds a hard link to the keys"},
		"read the configuration":    {"read", "links/conf", ""},
		"write the configuration":   {"write", "links/conf", "holds a hard link to the configuration"},
		"a folder without any link": {"write", "work/sub2", ""},
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "work/sub2"), 0o700))
		o := opts{"argv": []string{"true"}, row.key: []string{filepath.Join(dir, row.path)}}
		_, err := New(runtest.Compile(t, spec(o), nil), kit.Redeemer, Options{Dir: dir, Guarded: guarded})
		if row.fault == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, []string{"run.exec." + row.key + "[0]"}, runtest.Paths(err), name)
		require.ErrorContains(t, err, row.fault, name)
		require.ErrorContains(t, err, "; remove that link", name)
	}
}
