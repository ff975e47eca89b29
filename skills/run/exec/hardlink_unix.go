//go:build unix

package exec

import (
	"io/fs"
	"syscall"
)

// fileID names a file whatever its names are.
type fileID struct{ dev, ino, links uint64 }

func identifyFile(info fs.FileInfo) (fileID, bool) {
	st, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), uint64(st.Ino), uint64(st.Nlink)}, true //nolint:gosec,unconvert,nolintlint // systems differ in their types
}
