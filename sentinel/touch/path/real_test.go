package path_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// Real follows links that exist and leaves alone what can't be followed.
func TestReal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "d"), 0o700))
	for link, target := range map[string]string{"abs": "/etc", "rel": "d/../abs", "loop": "loop", "dangling": "nowhere/x"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	e := path.Env{Root: dir}
	for p, want := range map[string]string{
		"abs/x": "/etc/x", "rel/y/z": "/etc/y/z", "loop/x": dir + "/loop/x", "dangling/y": dir + "/nowhere/x/y",
		"d/new/file": dir + "/d/new/file",
	} {
		require.Equal(t, want, path.Real(filepath.Join(dir, p), e), p)
	}
	require.Equal(t, dir+"/abs/x", path.Real(dir+"/abs/x", path.Env{NoFS: true}))
	long := "/" + strings.Repeat("a/", 4000)
	require.Equal(t, long, path.Real(long, e))
}
