//go:build unix

package path

import (
	"os"
	"syscall"
)

// inspectEntry asks once what is at p: the kernel says of a file that is no link
// that it is none, so that most paths need one call and no memory.
func inspectEntry(p string) entry {
	var space [256]byte
	buf := space[:]
	n, err := syscall.Readlink(p, buf)
	for err == syscall.EINTR { //nolint:errorlint // a bare number, straight from the kernel
		n, err = syscall.Readlink(p, buf)
	}
	switch {
	case err == syscall.EINVAL: //nolint:errorlint // as above
		return entry{}
	case err != nil:
		return entry{missing: true}
	case n < len(buf):
		return entry{target: string(buf[:n])}
	}
	target, err := os.Readlink(p)
	return entry{missing: err != nil, target: target}
}
