//go:build unix

package anchors

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openSafely are flags with which a file is opened that must be a file: a link isn't followed, and a pipe that no other
// side has open doesn't hold up the opening.
const openSafely = unix.O_NOFOLLOW | unix.O_NONBLOCK

// syncFolder makes new names in a folder durable.
func syncFolder(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
