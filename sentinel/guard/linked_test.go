package guard_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// A root is judged by where it really leads: not into the core by a link, and not
// to a folder with files of this program.
func TestRootsByTheirRealPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, d := range []string{"home/.ssh", "state"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	protected := filepath.Join(dir, "state", "vedette.db")
	require.NoError(t, os.WriteFile(protected, nil, 0o600))
	for link, to := range map[string]string{"keys": "home/.ssh", "work": "state", "fine": "home"} {
		require.NoError(t, os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)))
	}
	env := touch.Env{Root: dir}
	for link, want := range map[string]string{"keys": "guard.roots[0]: lies in a folder", "work": "guard.roots[0]: holds configuration"} {
		_, err := guard.New(guard.Options{Roots: []string{filepath.Join(dir, link)}, Protect: []string{protected}, Env: env})
		require.ErrorContains(t, err, want, link)
	}
	_, err = guard.New(guard.Options{Roots: []string{filepath.Join(dir, "fine")}, Protect: []string{protected}, Env: env})
	require.NoError(t, err)
}

// A list of private hosts opens no metadata service, in a command line neither.
func TestMetadataWhateverIsListed(t *testing.T) {
	for _, list := range [][]string{nil, {"wiki.internal"}} {
		b := setup(t, guard.Options{AllowHosts: list})
		v := b.shell(t, "curl http://169.254.169.254/latest/")
		require.Equal(t, sentinel.Deny, v.Outcome, list)
		require.Equal(t, guard.CodePrivateHost, v.Code, list)
	}
}
