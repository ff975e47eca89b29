//go:build !linux

package control

import (
	"net"
	"os"
)

// peer takes the other end for the owner: the socket's mode lets in nobody
// else.
func peer(net.Conn) (uid int, err error) { return os.Getuid(), nil }
