//go:build unix

package sentinel

import (
	"io/fs"
	"os"
	"syscall"
)

// openPlain opens a file or folder for reading. It never waits for the other end
// of a FIFO, and follows no link in the last place of the path.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
}

// stampOf takes the stamp of a file.
func stampOf(st fs.FileInfo) stamp {
	s := stamp{kind: st.Mode().Type(), size: st.Size(), mtime: st.ModTime().UnixNano()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.dev, s.ino = uint64(sys.Dev), sys.Ino //nolint:gosec,unconvert // its type differs between systems
		s.ctime = changeTime(sys)
	}
	return s
}
