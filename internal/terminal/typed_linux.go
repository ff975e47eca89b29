package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// DiscardTyped throws away what was typed into a terminal and not read yet.
// Of anything but a terminal it takes nothing.
func DiscardTyped(in io.Reader) {
	f, ok := in.(*os.File)
	if !ok {
		return
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return // closed: the read will tell
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) // no terminal, nothing typed
	})
}
