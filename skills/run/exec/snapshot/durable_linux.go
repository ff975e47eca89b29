package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writeDurably writes a file that is there as a whole or not at all, also after the power
// failed.
func writeDurably(folder, name string, content []byte) error {
	tmp := filepath.Join(folder, name+".new")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("snapshot: write %s: %w", name, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(folder, name))
	}
	if err != nil {
		return fmt.Errorf("snapshot: write %s: %w", name, err)
	}
	return syncFolder(folder)
}

func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("snapshot: open a folder: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("snapshot: write a folder: %w", err)
	}
	return nil
}

// syncPaths flushes files and all folders on the way to them.
func syncPaths(top int, paths []string) error {
	folders := map[string]bool{}
	for _, p := range paths {
		for _, f := range listParents(p) {
			folders[f] = true
		}
		fd, err := openBeneath(top, p, unix.O_RDONLY|unix.O_NONBLOCK)
		if errors.Is(err, unix.ELOOP) {
			continue // a link: its folder holds it
		}
		if err != nil {
			return err
		}
		err = unix.Fsync(fd)
		closeDescriptor(fd)
		if err != nil {
			return err
		}
	}
	return syncFolders(top, folders)
}

// syncFolders flushes folders below top. One that is gone needs none.
func syncFolders(top int, folders map[string]bool) error {
	for f := range folders {
		fd, err := openBeneath(top, f, folderFlags)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		err = unix.Fsync(fd)
		closeDescriptor(fd)
		if err != nil {
			return err
		}
	}
	return nil
}
