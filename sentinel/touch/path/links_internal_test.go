package path

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is at a path: nothing, a file, or a link with all of its target.
func TestLookAt(t *testing.T) {
	dir := t.TempDir()
	file, link, far := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "far")
	long := "/" + strings.Repeat("long/", 200) + "x"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, os.Symlink(long, far))
	l := NewLinks(Env{})
	for range 2 { // asked, then remembered
		for p, want := range map[string]entry{
			dir: {}, file: {}, link: {target: file}, far: {target: long},
			filepath.Join(dir, "none"): {missing: true}, filepath.Join(file, "below"): {missing: true},
			file + "\x00": {missing: true}, "/" + strings.Repeat("n", 300): {missing: true},
		} {
			require.Equal(t, want, l.lookUpEntry(p), p)
		}
	}
	require.Equal(t, len(l.first), l.n)
	require.Len(t, l.seen, 4)
}
