package control

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// readPeer returns who is at the other end: for a server who connected, for a
// client who listens.
func readPeer(c net.Conn) (who, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return who{}, fmt.Errorf("a %T tells no user", c)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return who{}, err
	}
	var cred *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return who{}, err
	}
	if cerr != nil {
		return who{}, cerr
	}
	return who{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}

// maxDepth bounds the walk up the tree of processes.
const maxDepth = 10_000

// isDescendant reports whether this process started the process of that id, itself or
// through others. A process that this one can't see (id 0) is outside of the
// namespace of this one's children. A process that is gone is an error: a caller
// that waits for its answer would still be there.
func isDescendant(pid int) (bool, error) {
	self := os.Getpid()
	if pid == self || pid == 0 {
		return false, nil
	}
	for range maxDepth {
		if pid <= 1 {
			return false, nil
		}
		next, err := readParent(pid)
		if err != nil {
			return false, err
		}
		if next == self {
			return true, nil
		}
		pid = next
	}
	return false, fmt.Errorf("there are more than %d processes above it", maxDepth)
}

// readParent reads the parent's id: the second field behind the program's name,
// which may hold brackets and blanks itself.
func readParent(pid int) (int, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("the state of process %d can't be read", pid)
	}
	return strconv.Atoi(string(fields[1]))
}
