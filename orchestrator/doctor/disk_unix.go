//go:build unix

package doctor

import "golang.org/x/sys/unix"

// checkAccess reports why this user can't write to a folder.
func checkAccess(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// freeBytes is what an ordinary user can still write.
func freeBytes(dir string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Bsize <= 0 {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true //nolint:gosec,unconvert // their types differ between systems
}
