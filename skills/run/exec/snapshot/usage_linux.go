package snapshot

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// usageMeter adds up what a layer takes on disk.
type usageMeter struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one Measure
	layer *Layer
	total Usage
}

// addUppers adds the upper layers of all roots.
func (m *usageMeter) addUppers() error {
	if err := m.checkFreeDisk(); err != nil {
		return err
	}
	for i := range m.layer.meta.Roots {
		fd, err := m.layer.openUpper(i)
		if err == nil {
			err = m.addFolder(fd, 0)
			closeDescriptor(fd)
		}
		if errors.Is(err, unix.EACCES) {
			return errClosed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxTaken is how much of the disk that was free at the start may be taken while a program
// runs. A file that the program removed and holds open takes disk and is in no folder.
const maxTaken = 75 // percent

// checkFreeDisk returns a *LimitError where the disk of the state runs out.
func (m *usageMeter) checkFreeDisk() error {
	free, err := readFreeBytes(m.layer.folder)
	if err != nil {
		return err
	}
	if start := m.layer.meta.Free; start > 0 && free < start/100*(100-maxTaken) {
		return &LimitError{"percent of the disk that was free", maxTaken}
	}
	return nil
}

// errClosed is a folder that the program closed to its owner. What it writes there can't be
// measured, and couldn't be committed.
var errClosed = &LimitError{"folders that are closed to their owner", 0}

// addFolder adds what is in an upper layer's folder and below it.
func (m *usageMeter) addFolder(fd, depth int) error {
	limits, u := m.layer.meta.Limits, &m.total
	if depth > limits.Depth {
		return &LimitError{"folders in each other", int64(limits.Depth)}
	}
	names, err := listNames(fd, limits.Changes)
	if err != nil {
		return err
	}
	for _, name := range names {
		st, found, err := lookAtEntry(fd, name)
		if err != nil || m.ctx.Err() != nil {
			return errors.Join(err, m.ctx.Err())
		}
		if !found { // the program removed it meanwhile
			continue
		}
		u.Entries++
		u.Bytes += st.Blocks * 512
		if u.Bytes > limits.Bytes {
			return &LimitError{"bytes", limits.Bytes}
		}
		if u.Entries > limits.Changes {
			return &LimitError{"changes", int64(limits.Changes)}
		}
		if entryTypeOf(st) != Folder {
			continue
		}
		sub, err := openBeneath(fd, name, folderFlags)
		if errors.Is(err, unix.EACCES) {
			return err
		}
		if err != nil {
			continue // gone
		}
		err = m.addFolder(sub, depth+1)
		closeDescriptor(sub)
		if err != nil && !errors.Is(err, unix.ENOENT) { // else the program removed it meanwhile
			return err
		}
	}
	return nil
}

// addNameless adds the files without a name that processes hold; pid is the first of them.
// Where one hides what it holds, what the disk lost since the start counts in place of the sum.
func (m *usageMeter) addNameless(pid int) error {
	n, err := findNameless(m.ctx, m.layer, pid)
	if err != nil {
		return err
	}
	start, limit := m.layer.meta.Free, m.layer.meta.Limits.Bytes
	if m.total.Bytes += n.bytes; m.total.Bytes > limit {
		return &LimitError{"bytes", limit}
	}
	if !n.hidden || start == 0 {
		return nil
	}
	free, err := readFreeBytes(m.layer.folder)
	if err == nil && start-free > limit {
		err = &LimitError{"bytes", limit}
	}
	return err
}
