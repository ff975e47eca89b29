//go:build !unix

package control

import (
	"context"
	"errors"
	"io/fs"
	"net"
)

// listen refuses: here nothing keeps other users from a socket.
func listen(context.Context, string) (net.Listener, error) {
	return nil, errors.New("this system has no sockets that other users are kept from")
}

// ours has nothing to look at: here is no server.
func ours(string, ...int) error { return nil }

// ownerOf returns -1: files have no user's id here.
func ownerOf(fs.FileInfo) int { return -1 }
