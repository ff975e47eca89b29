package snapshot

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// Open makes a layer over the roots. Its time starts when Open returns: what others
// change from then on conflicts. Errors are *StateError and *RootError where an
// operator can mend it.
func Open(o Options) (*Layer, error) {
	state, err := prepareState(o.State)
	if err != nil {
		return nil, err
	}
	roots, err := lookAtRoots(o.Roots, state)
	if err != nil {
		return nil, err
	}
	if len(o.Label) > maxLabel || !utf8.ValidString(o.Label) {
		return nil, fmt.Errorf("snapshot: a label is UTF-8 of at most %d bytes", maxLabel)
	}
	raw := make([]byte, 16)
	_, _ = rand.Read(raw)
	l := &Layer{id: hex.EncodeToString(raw)}
	l.folder = filepath.Join(state, l.id)
	l.meta = meta{Version: 1, Label: o.Label, Roots: roots, Limits: o.Limits.orDefaults(), LinkTargets: o.LinkTargets}
	if err := l.makeFolders(); err != nil {
		_ = l.Discard()
		return nil, err
	}
	return l, nil
}

// Load opens a layer that another process left. The error is ErrNoLayer where there is
// none of that id.
func Load(state, id string) (*Layer, error) {
	if !isLayerID(id) {
		return nil, ErrNoLayer
	}
	state, err := filepath.Abs(state)
	if err != nil {
		return nil, fmt.Errorf("snapshot: find the state folder: %w", err)
	}
	l := &Layer{id: id, folder: filepath.Join(state, id)}
	raw, err := os.ReadFile(filepath.Join(l.folder, metaName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoLayer
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: read a layer: %w", err)
	}
	if err := json.Unmarshal(raw, &l.meta); err != nil || l.meta.Version != 1 || len(l.meta.Roots) == 0 {
		return nil, errors.New("snapshot: a layer's description is damaged; compare the layer with its roots by hand")
	}
	return l, nil
}

// isLayerID reports whether a name is one that Open gives.
func isLayerID(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && hex.EncodeToString(raw) == name && len(raw) == 16
}

// IDs returns the ids of the layers in a state folder. Those that were never opened to the end
// are among them. Load says ErrNoLayer of them, and DiscardFolder removes them.
func IDs(state string) ([]string, error) {
	entries, err := os.ReadDir(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: list the layers: %w", err)
	}
	var out []string
	for _, e := range entries {
		if isLayerID(e.Name()) && e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// makeFolders makes the layer's folders and files, the probe last.
func (l *Layer) makeFolders() error {
	if err := os.Mkdir(l.folder, 0o700); err != nil {
		return &StateError{filepath.Dir(l.folder), "can't be written"}
	}
	for i, r := range l.meta.Roots {
		st, err := os.Stat(r.Path)
		if err != nil {
			return &RootError{r.Path, "can't be looked at"}
		}
		for _, name := range []string{"", mount.Upper, mount.Work, mount.Lower} {
			if err := os.Mkdir(filepath.Join(l.rootFolder(i), name), 0o700); err != nil {
				return &StateError{filepath.Dir(l.folder), "can't be written"}
			}
		}
		upper := filepath.Join(l.rootFolder(i), mount.Upper)
		if err := unix.Setxattr(upper, overlayPrefix+"vedette", []byte("y"), 0); err != nil {
			return &StateError{filepath.Dir(l.folder), "is on a file system without extended attributes"}
		}
		_ = unix.Removexattr(upper, overlayPrefix+"vedette")
		// The upper layer's own permissions are those that the program sees at the root.
		if err := unix.Chmod(upper, uint32(st.Mode().Perm())|readExtraBits(st.Mode())); err != nil {
			return &StateError{filepath.Dir(l.folder), "can't be written"}
		}
	}
	return l.startClock()
}

// startClock takes the time from which changes of others count, and writes down the layer.
func (l *Layer) startClock() error {
	started, err := probeStartTime(filepath.Join(l.folder, probeName))
	if err != nil {
		return fmt.Errorf("snapshot: make the probe file: %w", err)
	}
	l.meta.Started = started
	if l.meta.Boot, l.meta.Offset, _, err = clockOffset(); err != nil {
		return err
	}
	if l.meta.Free, err = readFreeBytes(l.folder); err != nil {
		return err
	}
	raw, err := json.Marshal(l.meta)
	if err != nil {
		return err
	}
	return writeDurably(l.folder, metaName, raw)
}

// Changes lists what the program did, within the layer's limits. The program must have
// ended. Errors are *LimitError, ctx's, or those of the file system.
func (l *Layer) Changes(ctx context.Context) (*Changes, error) {
	out := &Changes{Roots: l.Roots()}
	sum := startDigest(out.Roots)
	err := l.Each(ctx, func(c Change) error {
		sum.addChange(c)
		out.Bytes += c.Size
		out.List = append(out.List, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Digest = sum.sum()
	return out, nil
}

// Each calls yield with each change in the order of Changes, and keeps none of them. It
// stops at the first error of yield and returns it.
func (l *Layer) Each(ctx context.Context, yield func(Change) error) error {
	w := &lister{ctx: ctx, layer: l, yield: yield}
	for i := range l.meta.Roots {
		if err := w.listRoot(i); err != nil {
			return err
		}
	}
	return nil
}

// Conflicts returns what others changed since the start at the paths of the changes, at
// most 1,000. Commit looks for itself; this is for those who want to know before.
func (l *Layer) Conflicts(ctx context.Context, c *Changes) ([]Conflict, error) {
	_, conflicts, err := newPlanner(ctx, l).planSteps(c.List)
	return conflicts, err
}

// Findings returns what a person should see of the changes. The files of a root are
// counted only where the percentage needs it, and only as far.
func (l *Layer) Findings(ctx context.Context, c *Changes, limit MaxDeleted) (Findings, error) {
	return (&examiner{ctx, l, c.List}).listFindings(limit)
}

// Inert returns the changes that run nothing later though their names say so. These are, in a
// repository that the program made itself, a configuration that sets nothing that runs, and
// the samples of hooks. A clone needs no question for them.
func (l *Layer) Inert(ctx context.Context, c *Changes) ([]Change, error) {
	return (&examiner{ctx, l, c.List}).listInert()
}

// DescribeAttrs says for a person which extended attributes and access lists a change gives or
// takes. It is empty where they stay. Names are quoted where they aren't plain. What can't be
// read says so.
func (l *Layer) DescribeAttrs(c Change) string { return describeAttrs(l, c) }

// Measure returns what the layer takes, also while the program runs. The error is a
// *LimitError as soon as it is beyond the layer's limits; the caller then ends the program.
func (l *Layer) Measure(ctx context.Context) (Usage, error) {
	m := &usageMeter{ctx: ctx, layer: l}
	err := m.addUppers()
	return m.total, err
}

// MeasureRunning is Measure while a program runs; pid is PID 1 of its process namespace, as
// this process numbers it. It counts besides the files of the layer that have no name and
// that a process holds open: removed ones, replaced ones, and those made without a name.
//
// Where a process hides what it holds, keeps a file by a mapping alone, or passes one over a
// socket, what the disk lost since the start counts in place of the sum. The error is that of
// Measure.
func (l *Layer) MeasureRunning(ctx context.Context, pid int) (Usage, error) {
	m := &usageMeter{ctx: ctx, layer: l}
	err := m.addUppers()
	if err == nil {
		err = m.addNameless(pid)
	}
	return m.total, err
}

// State returns how far the layer is.
func (l *Layer) State() (State, error) {
	for _, s := range []struct {
		name  string
		state State
	}{{doneName, StateCommitted}, {journalName, StateBegun}} {
		_, err := os.Lstat(filepath.Join(l.folder, s.name))
		if err == nil {
			return s.state, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("snapshot: look at a layer: %w", withoutPath(err))
		}
	}
	return StateOpen, nil
}

// Discard removes the layer and all that the program wrote. Where a commit has begun and
// not ended it returns ErrBegun, since only the layer can end it.
func (l *Layer) Discard() error {
	if unlock, err := l.lock(); err == nil {
		defer unlock()
	} else if errors.Is(err, ErrBusy) {
		return err
	}
	if state, err := l.State(); err != nil || state == StateBegun {
		return errors.Join(err, ErrBegun)
	}
	return l.removeInOrder()
}

// removeInOrder removes the layer; a committed one says so until it has no description any
// more. A process that dies meanwhile must not leave what looks as if it had never been
// committed.
func (l *Layer) removeInOrder() error {
	fd, err := unix.Open(l.folder, folderFlags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // it was removed before
	}
	if err != nil {
		return fmt.Errorf("snapshot: open a layer: %w", err)
	}
	defer closeDescriptor(fd)
	for i := range l.meta.Roots {
		if err := removeTree(fd, strconv.Itoa(i)); err != nil {
			return err
		}
	}
	l.reachPoint("emptied")
	if err := removeEntry(fd, metaName, 0); err != nil {
		return err
	}
	if state, err := l.State(); err == nil && state == StateCommitted {
		if err := unix.Fsync(fd); err != nil {
			return fmt.Errorf("snapshot: flush a layer: %w", err)
		}
	}
	l.reachPoint("unnamed")
	return removeLayer(l.folder)
}

// DiscardFolder removes what is left of a layer that Load can't open: one that was never
// opened to its end.
func DiscardFolder(state, id string) error {
	l, err := Load(state, id)
	if err == nil {
		return l.Discard()
	}
	if !errors.Is(err, ErrNoLayer) || !isLayerID(id) {
		return err
	}
	return removeLayer(filepath.Join(state, id))
}

// lock keeps other processes from working on the layer until unlock.
func (l *Layer) lock() (unlock func(), err error) {
	fd, err := unix.Open(filepath.Join(l.folder, probeName), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("snapshot: lock a layer: %w", err)
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		closeDescriptor(fd)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("snapshot: lock a layer: %w", err)
	}
	return func() { closeDescriptor(fd) }, nil
}

// openRoot opens a root of the layer, and makes sure that it is still that folder.
func (l *Layer) openRoot(i int) (int, error) {
	r := l.meta.Roots[i]
	how := &unix.OpenHow{Flags: folderFlags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, r.Path, how)
	if err != nil {
		return -1, &RootError{r.Path, "can't be opened; put the folder back where it was"}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != r.Dev || st.Ino != r.Ino {
		closeDescriptor(fd)
		return -1, &RootError{r.Path, "isn't the folder that it was; put the folder back where it was"}
	}
	return fd, nil
}

// openUpper opens the upper layer over a root.
func (l *Layer) openUpper(i int) (int, error) {
	fd, err := unix.Open(filepath.Join(l.rootFolder(i), mount.Upper), folderFlags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("snapshot: open an upper layer: %w", err)
	}
	return fd, nil
}
