package snapshot

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// Measure returns what the layer takes, also while the program runs. The error is a
// *LimitError as soon as it is beyond the layer's limits; the caller then ends the program.
func (l *Layer) Measure(ctx context.Context) (Usage, error) {
	var u Usage
	if err := l.checkFree(); err != nil {
		return u, err
	}
	for i := range l.meta.Roots {
		fd, err := l.openUpper(i)
		if err == nil {
			err = l.addUsage(ctx, fd, 0, &u)
			closeFD(fd)
		}
		if errors.Is(err, unix.EACCES) {
			return u, errClosed
		}
		if err != nil {
			return u, err
		}
	}
	return u, nil
}

// maxTaken is how much of the disk that was free at the start may be taken while a program
// runs. A file that the program removed and holds open takes disk and is in no folder.
const maxTaken = 75 // percent

// checkFree returns a *LimitError where the disk of the state runs out.
func (l *Layer) checkFree() error {
	free, err := readFree(l.folder)
	if err != nil {
		return err
	}
	if l.meta.Free > 0 && free < l.meta.Free/100*(100-maxTaken) {
		return &LimitError{"percent of the disk that was free", maxTaken}
	}
	return nil
}

// errClosed is a folder that the program closed to its owner. What it writes there can't be
// measured, and couldn't be committed.
var errClosed = &LimitError{"folders that are closed to their owner", 0}

func (l *Layer) addUsage(ctx context.Context, fd, depth int, u *Usage) error {
	limits := l.meta.Limits
	if depth > limits.Depth {
		return &LimitError{"folders in each other", int64(limits.Depth)}
	}
	names, err := listNames(fd, limits.Changes)
	if err != nil {
		return err
	}
	for _, name := range names {
		st, found, err := lookAt(fd, name)
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
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
		if typeOf(st) != Folder {
			continue
		}
		sub, err := openBeneath(fd, name, folderFlags)
		if errors.Is(err, unix.EACCES) {
			return err
		}
		if err != nil {
			continue // gone
		}
		err = l.addUsage(ctx, sub, depth+1, u)
		closeFD(sub)
		if err != nil && !errors.Is(err, unix.ENOENT) { // else the program removed it meanwhile
			return err
		}
	}
	return nil
}

// MeasureRunning is Measure while a program runs; pid is PID 1 of its process namespace, as
// this process numbers it. It counts besides the files of the layer that have no name and
// that a process holds open: removed ones, replaced ones, and those made without a name.
//
// Where a process hides what it holds, keeps a file by a mapping alone, or passes one over a
// socket, what the disk lost since the start counts in place of the sum. The error is that of
// Measure.
func (l *Layer) MeasureRunning(ctx context.Context, pid int) (Usage, error) {
	u, err := l.Measure(ctx)
	if err != nil {
		return u, err
	}
	n, err := l.findNameless(ctx, pid)
	if err != nil {
		return u, err
	}
	limit := l.meta.Limits.Bytes
	if u.Bytes += n.bytes; u.Bytes > limit {
		return u, &LimitError{"bytes", limit}
	}
	if !n.hidden || l.meta.Free == 0 {
		return u, nil
	}
	free, err := readFree(l.folder)
	if err == nil && l.meta.Free-free > limit {
		err = &LimitError{"bytes", limit}
	}
	return u, err
}
