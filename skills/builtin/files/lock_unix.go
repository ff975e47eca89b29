//go:build unix

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of an open folder if no other process holds it.
func tryLock(d *os.File) (bool, error) {
	err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}
