//go:build !linux

package control

import (
	"net"
	"os"
)

// readPeer takes the other end for this user: the socket's mode keeps other users out.
func readPeer(net.Conn) (who, error) { return who{uid: os.Getuid()}, nil }

// isDescendant can't tell here.
func isDescendant(int) (bool, error) { return false, nil }
