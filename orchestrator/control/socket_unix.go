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
	"syscall"
)

// listen makes the socket, in the place of one that a dead process left. Its
// mode is right before anybody can reach it by its name: it is made in a folder
// that only its owner can enter, and moved.
func listen(ctx context.Context, path string) (_ net.Listener, err error) {
	if err := place(path); err != nil {
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

// place sees to it that the socket's folder is there and that nothing but an
// old socket of ours stands in its place.
func place(path string) error {
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if filepath.Dir(dir) == "/tmp" { // others can make folders there
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(st.Uid) != os.Getuid() {
			return fmt.Errorf("%s must be a folder of this user's with mode 0700", dir)
		}
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
