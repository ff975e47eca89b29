package snapshot

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// remover removes trees of any depth with few open folders: what is deep is moved to the
// top first.
type remover struct {
	top   int
	deep  int      // how many were moved
	queue []string // their names at the top
}

const (
	openDepth  = 64
	deepPrefix = ".vedette-deep-"
)

// removeTree removes a folder and all that is in it, or a file. It follows no link and
// enters no mount.
func removeTree(parent int, name string) error {
	st, found, err := lookAtEntry(parent, name)
	if err != nil || !found {
		return err
	}
	if entryTypeOf(st) != Folder {
		return removeEntry(parent, name, 0)
	}
	top, err := openToRemove(parent, name)
	if err != nil {
		return err
	}
	defer closeDescriptor(top)
	r := &remover{top: top}
	if err := r.emptyFolder(top, 0); err != nil {
		return err
	}
	return removeEntry(parent, name, unix.AT_REMOVEDIR)
}

// openToRemove opens a folder, also one that its owner closed to itself.
func openToRemove(parent int, name string) (int, error) {
	fd, err := openBeneath(parent, name, folderFlags)
	if errors.Is(err, unix.EACCES) {
		if err := openFolderMode(parent, name); err != nil {
			return -1, err
		}
		fd, err = openBeneath(parent, name, folderFlags)
	}
	if err != nil {
		return -1, fmt.Errorf("snapshot: open a folder to remove: %w", err)
	}
	return fd, nil
}

// openFolderMode lets its owner into a folder, which no link can stand in for.
func openFolderMode(parent int, name string) error {
	fd, err := openBeneath(parent, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("snapshot: open a folder to remove: %w", err)
	}
	defer closeDescriptor(fd)
	if err := unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700); err != nil {
		return fmt.Errorf("snapshot: open a folder for its owner: %w", err)
	}
	return nil
}

// removeEntry removes a file or an empty folder. Where the folder that holds it is closed
// to its owner, it is opened.
func removeEntry(parent int, name string, flags int) error {
	err := unix.Unlinkat(parent, name, flags)
	if errors.Is(err, unix.EACCES) && unix.Fchmod(parent, 0o700) == nil {
		err = unix.Unlinkat(parent, name, flags)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("snapshot: remove: %w", err)
	}
	return nil
}

// maxNames is how many names of one folder are read at a time to be removed.
const maxNames = 1 << 24

func (r *remover) emptyFolder(fd, depth int) error {
	names, err := listNames(fd, maxNames)
	if err != nil {
		return err
	}
	for _, name := range names {
		st, found, err := lookAtEntry(fd, name)
		if err != nil {
			return fmt.Errorf("snapshot: look at what is removed: %w", err)
		}
		switch {
		case !found:
			continue
		case entryTypeOf(st) != Folder:
			err = removeEntry(fd, name, 0)
		case depth >= openDepth:
			err = r.moveFolderUp(fd, name)
		default:
			err = r.removeFolder(fd, name, depth)
		}
		if err != nil {
			return err
		}
	}
	if depth > 0 {
		return nil
	}
	for len(r.queue) > 0 {
		name := r.queue[0]
		r.queue = r.queue[1:]
		if err := r.removeFolder(r.top, name, 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *remover) removeFolder(fd int, name string, depth int) error {
	sub, err := openToRemove(fd, name)
	if err != nil {
		return err
	}
	err = r.emptyFolder(sub, depth+1)
	closeDescriptor(sub)
	if err != nil {
		return err
	}
	return removeEntry(fd, name, unix.AT_REMOVEDIR)
}

// moveFolderUp moves a deep folder to the top, to be removed later.
func (r *remover) moveFolderUp(fd int, name string) error {
	to := deepPrefix + strconv.Itoa(r.deep)
	r.deep++
	err := unix.Renameat2(fd, name, r.top, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EACCES) { // a folder that moves writes its own parent entry
		if err := errors.Join(openFolderMode(fd, name), unix.Fchmod(fd, 0o700)); err != nil {
			return err
		}
		err = unix.Renameat2(fd, name, r.top, to, unix.RENAME_NOREPLACE)
	}
	if errors.Is(err, unix.EEXIST) {
		return r.moveFolderUp(fd, name)
	}
	if err != nil {
		return fmt.Errorf("snapshot: move a deep folder: %w", err)
	}
	r.queue = append(r.queue, to)
	return nil
}
