package snapshot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// placeFile moves a file or link from the upper layer into the root. Across file systems
// or mounts it copies.
func (a *applier) placeFile(p place) error {
	up, there, err := lookAtEntry(p.from, p.name)
	if err != nil {
		return fmt.Errorf("snapshot: look at a change: %w", err)
	}
	if !there || up.Ino != p.upper {
		return a.checkMoved(p, up, there)
	}
	st, found, err := lookAtEntry(p.folder, p.name)
	if err != nil {
		return fmt.Errorf("snapshot: look at a root: %w", err)
	}
	if done, err := a.isFilePlaced(p, st, found); err != nil || done {
		return err
	}
	if err := errors.Join(p.giveGroup(), p.prepareFile()); err != nil {
		return err
	}
	if p.displacesOld() {
		if err := a.putPathAside(p); err != nil {
			return err
		}
		found = false
		a.layer.reachPoint("aside")
	}
	old := &st
	if !found {
		old = nil
	}
	err = a.swapFileIn(p, p.from, p.name, old)
	if errors.Is(err, unix.EXDEV) {
		return a.copyFileIn(p, old)
	}
	return err
}

// checkMoved looks at what the upper layer has in place of a moved file. After an earlier try
// that is the old one. Where others had put another there in the last moment and the process
// died before it saw that, it is theirs, and the only one.
func (a *applier) checkMoved(p place, up unix.Stat_t, there bool) error {
	switch {
	case !a.redo:
		return fmt.Errorf("snapshot: a change isn't there any more: %w", ErrDigest)
	case !there || p.was == (seen{}) || p.displacesOld():
		return nil
	case up.Ino != p.was.ino || entryTypeOf(up) != p.Was || p.Was == File && up.Size != p.WasSize:
		return &stepConflict{ConflictEdited}
	}
	return nil
}

// isFilePlaced reports whether an earlier try copied the file to where it belongs. The error
// is a conflict where the root has neither that nor what it had.
func (a *applier) isFilePlaced(p place, st unix.Stat_t, found bool) (bool, error) {
	if found && newSeen(st) == p.was || !found && p.was == (seen{}) {
		return false, nil
	}
	if a.redo && found && entryTypeOf(st) == p.Type && a.isSameContent(p, st) {
		return true, a.dropOldContent(p)
	}
	if a.redo && !found && p.displacesOld() {
		return false, nil // what was there was put aside
	}
	switch {
	case !found:
		return false, &stepConflict{ConflictGone}
	case p.was == (seen{}):
		return false, &stepConflict{ConflictAppeared}
	}
	return false, &stepConflict{ConflictEdited}
}

// isSameContent reports whether the root has what the step writes.
func (a *applier) isSameContent(p place, st unix.Stat_t) bool {
	if p.Type == Link {
		target, err := readTarget(p.folder, p.name)
		return err == nil && target == p.Target
	}
	if st.Size != p.Size {
		return false
	}
	fd, err := openBeneath(p.folder, p.name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "file")
	defer func() { _ = f.Close() }()
	sum, err := hashContent(a.ctx, f, st.Size)
	return err == nil && sum == p.SHA256
}

// dropOldContent removes what a try that was killed left beside a path: the old content.
func (a *applier) dropOldContent(p place) error { return removeEntry(p.folder, a.copyName(p), 0) }

// giveGroup gives what is new the group of the folder that it comes to, where that is such a
// folder. The kernel does so for what is made there and not for what is moved there. A user
// who may not give the group keeps the own one.
func (p place) giveGroup() error {
	var st unix.Stat_t
	if err := unix.Fstat(p.folder, &st); err != nil {
		return fmt.Errorf("snapshot: look at a folder of the root: %w", err)
	}
	if p.Was == p.Type || st.Mode&unix.S_ISGID == 0 {
		return nil
	}
	err := unix.Fchownat(p.from, p.name, -1, int(st.Gid), unix.AT_SYMLINK_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("snapshot: give the group of a folder: %w", err)
	}
	return nil
}

// prepareFile takes from a file, in the upper layer, what must not be committed.
func (p place) prepareFile() error {
	if p.Type != File {
		return nil
	}
	fd, err := openBeneath(p.from, p.name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return fmt.Errorf("snapshot: open a change: %w", err)
	}
	defer closeDescriptor(fd)
	// An owner that may not write to a file can't take its attributes off.
	if err := unix.Fchmod(fd, p.Mode|0o200); err != nil {
		return fmt.Errorf("snapshot: set permissions: %w", err)
	}
	if err := stripAttrs(fd); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, p.Mode); err != nil {
		return fmt.Errorf("snapshot: set permissions: %w", err)
	}
	return nil
}

// swapFileIn puts a file at the step's path in one move that overwrites nothing but what was
// listed. The old file is exchanged, looked at, and put back if it is another. The argument
// old is nil where nothing is there.
func (a *applier) swapFileIn(p place, from int, name string, old *unix.Stat_t) error {
	a.layer.reachPoint("swap")
	if old == nil {
		return a.moveFileIn(p, from, name)
	}
	ours, _, err := lookAtEntry(from, name)
	if err != nil {
		return fmt.Errorf("snapshot: look at a change: %w", err)
	}
	err = unix.Renameat2(from, name, p.folder, p.name, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EACCES) && p.openUpperFolder(from) {
		err = unix.Renameat2(from, name, p.folder, p.name, unix.RENAME_EXCHANGE)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return &stepConflict{ConflictGone}
	case errors.Is(err, unix.EINVAL): // a file system that can't exchange
		return a.replaceFileIn(p, from, name)
	case err != nil:
		return fmt.Errorf("snapshot: exchange a file: %w", err)
	}
	a.layer.reachPoint("swapped")
	now, there, err := lookAtEntry(from, name)
	if err == nil && there && isSameFile(now, *old) {
		a.wrote = true
		return nil
	}
	return a.putFileBack(p, from, name, ours.Ino)
}

// errTwice is a file that others replaced twice while one was exchanged.
var errTwice = errors.New("snapshot: others replaced a file twice while it was committed; the layer keeps one of theirs")

// putFileBack undoes an exchange. Where others have replaced our file meanwhile, it is gone: their
// newest stays in the root, and the one before is kept beside what it was exchanged with.
func (a *applier) putFileBack(p place, from int, name string, ours uint64) error {
	for tries := range 2 {
		if err := unix.Renameat2(from, name, p.folder, p.name, unix.RENAME_EXCHANGE); err != nil {
			a.wrote = true
			return fmt.Errorf("snapshot: put a file back: %w", err)
		}
		st, found, err := lookAtEntry(from, name)
		if tries == 0 && err == nil && found && st.Ino == ours {
			return &stepConflict{ConflictEdited}
		}
	}
	a.wrote = true
	return errTwice
}

// isSameFile reports whether a file that was moved is as it was seen before. The move itself
// changes its change time alone.
func isSameFile(now, old unix.Stat_t) bool {
	return now.Ino == old.Ino && now.Size == old.Size && now.Mtim == old.Mtim &&
		now.Mode == old.Mode && now.Uid == old.Uid && now.Gid == old.Gid
}

// openUpperFolder lets the owner write to a folder of the upper layer that the program closed.
// The journal has its permissions.
func (p place) openUpperFolder(from int) bool {
	return from == p.from && unix.Fchmod(from, 0o700) == nil
}

func (a *applier) moveFileIn(p place, from int, name string) error {
	err := unix.Renameat2(from, name, p.folder, p.name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EACCES) && p.openUpperFolder(from) {
		err = unix.Renameat2(from, name, p.folder, p.name, unix.RENAME_NOREPLACE)
	}
	if errors.Is(err, unix.EEXIST) {
		return &stepConflict{ConflictAppeared}
	}
	if err != nil {
		return fmt.Errorf("snapshot: move a file: %w", err)
	}
	a.wrote = true
	return nil
}

// replaceFileIn is swapFileIn where the file system can't exchange: the look comes just before.
func (a *applier) replaceFileIn(p place, from int, name string) error {
	st, found, err := lookAtEntry(p.folder, p.name)
	if err != nil || !found || newSeen(st) != p.was {
		return &stepConflict{ConflictEdited}
	}
	if err := unix.Renameat(from, name, p.folder, p.name); err != nil {
		return fmt.Errorf("snapshot: move a file: %w", err)
	}
	a.wrote = true
	return nil
}

// copyFileIn copies a file beside its path, and swaps it in from there. The upper layer keeps
// its own until all is durable.
func (a *applier) copyFileIn(p place, old *unix.Stat_t) error {
	temp := a.copyName(p)
	if err := removeEntry(p.folder, temp, 0); err != nil {
		return err
	}
	var err error
	if p.Type == Link {
		err = unix.Symlinkat(p.Target, p.folder, temp)
	} else {
		err = a.copyFile(p, temp)
	}
	if err != nil {
		return fmt.Errorf("snapshot: copy a file: %w", withoutPath(err))
	}
	a.layer.reachPoint("copied")
	err = a.swapFileIn(p, p.folder, temp, old)
	if errors.Is(err, errTwice) {
		return errors.Join(err, unix.Renameat2(p.folder, temp, p.folder, a.nameBeside(p, "theirs"), unix.RENAME_NOREPLACE))
	}
	if err != nil {
		_ = removeEntry(p.folder, temp, 0)
		return err
	}
	if old == nil {
		return nil
	}
	return removeEntry(p.folder, temp, 0)
}

// copyFile copies content, attributes, permissions and times to a new file, and flushes it.
func (a *applier) copyFile(p place, temp string) error {
	in, err := openBeneath(p.from, p.name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	from := os.NewFile(uintptr(in), "file")
	defer func() { _ = from.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(in, &st); err != nil {
		return err
	}
	out, err := unix.Openat(p.folder, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(out), "copy")
	defer func() { _ = to.Close() }()
	if n, err := io.Copy(to, io.LimitReader(from, p.Size+1)); err != nil || n != p.Size {
		return errors.Join(err, errors.New("the file isn't of the size that was listed"))
	}
	if err := copyAttrs(in, out); err != nil {
		return err
	}
	if err := unix.Fchmod(out, p.Mode); err != nil {
		return err
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(out), times, 0); err != nil {
		return err
	}
	return to.Sync()
}

// place is one step with its folders open. They are opened for each step alone: what was
// moved out of the root since must not be written to.
type place struct {
	step
	index  int
	folder int // of the root
	from   int // of the upper layer
	name   string
}

func (a *applier) enterPlace(s step, index int) (place, error) {
	root, upper, err := a.openFolders(s.Root)
	if err != nil {
		return place{}, err
	}
	p := place{step: s, index: index, from: -1, folder: -1}
	if p.folder, p.name, err = openParent(root, s.Path); err != nil {
		return p, explainMoved(err)
	}
	if s.Type != File && s.Type != Link && s.Type != Folder {
		return p, nil
	}
	if p.from, _, err = openParent(upper, s.Path); err != nil {
		closeDescriptor(p.folder)
		return p, fmt.Errorf("snapshot: open a changed folder: %w", err)
	}
	return p, nil
}

func explainMoved(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
		return &stepConflict{ConflictMoved}
	}
	return fmt.Errorf("snapshot: open a folder of the root: %w", err)
}

func (p place) close() {
	closeDescriptor(p.folder)
	closeDescriptor(p.from)
}
