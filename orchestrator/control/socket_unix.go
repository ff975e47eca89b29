//go:build unix

package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// listenAt makes the socket, in the place of one that a dead process left. Its
// mode is right before anybody can reach it by its name: it is made in a folder
// that only its owner can enter, and moved.
func listenAt(ctx context.Context, path string) (_ net.Listener, err error) {
	if err := preparePlace(path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".ctl-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	made := filepath.Join(dir, "s")
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", made)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // by then the name may be another's
	if err := os.Chmod(made, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := os.Rename(made, path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// preparePlace makes the socket's folder. It refuses a place where anything but an old
// socket of ours stands.
func preparePlace(path string) error {
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := checkPrivateFolder(dir, os.Getuid()); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket", path)
	}
	return nil
}

// checkPrivateFolder refuses a folder among the temporary files that is not one of these
// users' alone. Every user can make one there.
func checkPrivateFolder(dir string, owners ...int) error {
	if filepath.Dir(dir) != "/tmp" {
		return nil
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !slices.Contains(owners, ownerOf(info)) {
		return fmt.Errorf("%w: %s must be a folder of this user's with mode 0700", ErrNotOwn, dir)
	}
	return nil
}

// checkSocketOwner refuses a socket that one of these users did not make.
func checkSocketOwner(path string, owners ...int) error {
	if err := checkPrivateFolder(filepath.Dir(path), owners...); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !slices.Contains(owners, ownerOf(info)) {
		return fmt.Errorf("%w: another user made %s", ErrNotOwn, path)
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
