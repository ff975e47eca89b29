package snapshot

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// prepareState makes the state folder and asks its file system what a layer needs.
func prepareState(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err != nil || folder == "" {
		return "", &StateError{folder, "has no absolute path"}
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", &StateError{abs, "can't be made"}
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", &StateError{folder, "can't be looked at"}
	}
	var st unix.Stat_t
	if err := unix.Lstat(abs, &st); err != nil || int(st.Uid) != os.Geteuid() {
		return "", &StateError{abs, "belongs to another user"}
	}
	if st.Mode&0o077 != 0 {
		if err := os.Chmod(abs, 0o700); err != nil {
			return "", &StateError{abs, "can't be closed to other users"}
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(abs, &fs); err != nil {
		return "", &StateError{abs, "can't be looked at"}
	}
	if fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "", &StateError{abs, "is on an overlay, as containers have it, and the kernel takes no upper layer there (EINVAL)"}
	}
	return abs, nil
}

// readFreeBytes returns how many bytes a user may still write to a folder's file system.
func readFreeBytes(folder string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, fmt.Errorf("snapshot: look at the state's disk: %w", err)
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil //nolint:gosec,unconvert // no disk has as many bytes; 32-bit systems have another type
}

func removeLayer(folder string) error {
	parent, err := unix.Open(filepath.Dir(folder), folderFlags|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("snapshot: open the state folder: %w", err)
	}
	defer closeDescriptor(parent)
	return removeTree(parent, filepath.Base(folder))
}
