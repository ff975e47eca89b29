//go:build !unix

package control

import (
	"context"
	"errors"
	"io/fs"
	"net"
)

// listenAt refuses: here nothing keeps other users from a socket.
func listenAt(context.Context, string) (net.Listener, error) {
	return nil, errors.New("this system has no sockets that other users are kept from")
}

// checkSocketOwner has nothing to look at: here is no server.
func checkSocketOwner(string, ...int) error { return nil }

// ownerOf returns -1: files have no user's id here.
func ownerOf(fs.FileInfo) int { return -1 }
