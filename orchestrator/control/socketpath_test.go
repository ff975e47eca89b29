package control

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The socket stands beside the database, by whatever way the database is
// named, and always fits into an address.
func TestSocketPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	db := filepath.Join(dir, "v.db")
	require.NoError(t, os.WriteFile(db, nil, 0o600))
	link := filepath.Join(dir, "link.db")
	require.NoError(t, os.Symlink(db, link))
	require.Equal(t, db+".sock", SocketPath(db))
	require.Equal(t, SocketPath(db), SocketPath(link))

	long := filepath.Join(dir, strings.Repeat("d", 120), "v.db")
	other := filepath.Join(dir, strings.Repeat("d", 121), "v.db")
	require.LessOrEqual(t, len(SocketPath(long)), maxSocketPath)
	require.NotEqual(t, SocketPath(long), SocketPath(other))
	require.Equal(t, filepath.Dir(SocketPath(long)), filepath.Dir(SocketPath(other)))
}

// The folder among the temporary files is that of the database's owner, so root
// finds the process of another user.
func TestSocketOfAnotherUser(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir = filepath.Join(dir, strings.Repeat("d", 120))
	require.NoError(t, os.Mkdir(dir, 0o700))
	db := filepath.Join(dir, "v.db")
	require.Equal(t, os.Getuid(), DatabaseOwner(db), "before there is one")
	require.NoError(t, os.WriteFile(db, nil, 0o600))
	uid := os.Getuid()
	if uid == 0 { // who else could give it away
		uid = 4711
		require.NoError(t, os.Chown(db, uid, -1))
	}
	require.Equal(t, uid, DatabaseOwner(db))
	require.Equal(t, fmt.Sprintf("/tmp/vedette-%d", uid), filepath.Dir(SocketPath(db)))
}
