//go:build unix

package eval

import (
	"errors"
	"os"
	"syscall"
)

// openUnblocked opens a file without waiting for the other end of a pipe.
func openUnblocked(name string, flag int) (*os.File, error) {
	return os.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
}

// isUnread reports whether an error of openUnblocked says that a pipe has no
// reader.
func isUnread(err error) bool { return errors.Is(err, syscall.ENXIO) }
