package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// errMounted is a tree with another file system in it.
var errMounted = errors.New("snapshot: another file system is mounted in the tree")

// treeMeasure is what there is below a folder.
type treeMeasure struct {
	files   int // that aren't folders
	entries int
	bytes   int64
	sum     string // of names, types, inodes, sizes and times
	newer   bool   // something in it isn't older than the start
}

// measurer measures one tree.
type measurer struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one measureTree
	limits Limits
	dev    uint64
	isNew  func(unix.Stat_t) bool // if nil, nothing is
	out    treeMeasure
	sum    hash.Hash
}

// measureTree reads all names below a folder, within the limits. The folder's own times
// don't count. Errors are *LimitError, errMounted, ctx's, or the file system's.
func measureTree(ctx context.Context, fd int, limits Limits, dev uint64, isNew func(unix.Stat_t) bool) (treeMeasure, error) {
	m := &measurer{ctx: ctx, limits: limits, dev: dev, isNew: isNew, sum: sha256.New()}
	err := m.measureFolder(fd, ".", 0)
	m.out.sum = hex.EncodeToString(m.sum.Sum(nil))
	return m.out, err
}

func (m *measurer) measureFolder(fd int, rel string, depth int) error {
	if depth > m.limits.Depth {
		return &LimitError{"folders in each other", int64(m.limits.Depth)}
	}
	names, err := listNames(fd, m.limits.Changes)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		if m.out.entries++; m.out.entries > m.limits.Changes {
			return &LimitError{"changes", int64(m.limits.Changes)}
		}
		st, found, err := lookAt(fd, name)
		if err != nil || !found {
			return fmt.Errorf("snapshot: look at what is removed: %w", errors.Join(err))
		}
		if err := m.measureEntry(fd, name, rel, depth, st); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurer) measureEntry(fd int, name, rel string, depth int, st unix.Stat_t) error {
	if st.Dev != m.dev {
		return errMounted
	}
	if m.isNew != nil && m.isNew(st) {
		m.out.newer = true
	}
	here := rel + "/" + name
	_, _ = fmt.Fprintf(m.sum, "%s %s %d %d %d\n", strconv.QuoteToASCII(here), typeOf(st), st.Ino, st.Size, st.Mtim.Nano())
	if typeOf(st) != Folder {
		m.out.files++
		m.out.bytes += st.Size
		return nil
	}
	sub, err := openBeneath(fd, name, folderFlags)
	if err != nil {
		return fmt.Errorf("snapshot: open what is removed: %w", err)
	}
	defer closeFD(sub)
	return m.measureFolder(sub, here, depth+1)
}

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

// readFree returns how many bytes a user may still write to a folder's file system.
func readFree(folder string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, fmt.Errorf("snapshot: look at the state's disk: %w", err)
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil //nolint:gosec,unconvert // no disk has as many bytes; 32-bit systems have another type
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

// Findings returns what a person should see of the changes. The files of a root are
// counted only where the percentage needs it, and only as far.
func (l *Layer) Findings(ctx context.Context, c *Changes, limit MaxDeleted) (Findings, error) {
	f, lost := sortFindings(c.List)
	inert, err := l.Inert(ctx, c)
	if err != nil {
		return f, err
	}
	f.RunsLater = slices.DeleteFunc(f.RunsLater, func(later Change) bool { return slices.Contains(inert, later) })
	bare, err := l.listBare(c)
	if err != nil {
		return f, err
	}
	steered, err := l.listSteered(ctx, c)
	if err != nil {
		return f, err
	}
	for _, one := range slices.Concat(bare, steered) {
		if !slices.Contains(f.RunsLater, one) {
			f.RunsLater = append(f.RunsLater, one)
		}
	}
	all := 0
	for i := range l.meta.Roots {
		if lost[i] == 0 {
			continue
		}
		all += lost[i]
		r := Removal{Root: i, Lost: lost[i]}
		if limit.Percent > 0 && limit.Percent < 100 {
			need := lost[i]*100/limit.Percent + 1
			of, err := l.countFiles(ctx, i, need)
			if err != nil {
				return f, err
			}
			r.Of, r.Least = of, of >= need
			f.TooMany = f.TooMany || r.Lost*100 > r.Of*limit.Percent
		}
		f.Removals = append(f.Removals, r)
	}
	f.TooMany = f.TooMany || all > limit.Files
	return f, l.addOverwritten(ctx, &f, c, lost, limit)
}

// Inert returns the changes that run nothing later though their names say so: of a
// repository that the program made itself the configuration, where it sets nothing that
// runs, and the samples of hooks. A clone needs no question for them.
func (l *Layer) Inert(ctx context.Context, c *Changes) ([]Change, error) {
	configs, out := newRepositories(c.List)
	for _, one := range configs {
		plain, err := l.isPlainConfig(ctx, one)
		if err != nil {
			return nil, err
		}
		if plain {
			out = append(out, one)
		}
	}
	return out, nil
}

// isPlainConfig reads the file that a change made. Content that isn't the change's is not
// plain.
func (l *Layer) isPlainConfig(ctx context.Context, c Change) (bool, error) {
	upper, err := l.openUpper(c.Root)
	if err != nil {
		return false, err
	}
	defer closeFD(upper)
	fd, err := openBeneath(upper, c.Path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false, nil // what can't be read asks
	}
	file := os.NewFile(uintptr(fd), "config")
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxGitConfig+1))
	if err != nil || ctx.Err() != nil {
		return false, ctx.Err()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]) == c.SHA256 && isPlainGitConfig(string(text)), nil
}

// countFiles counts the files of a root up to enough.
func (l *Layer) countFiles(ctx context.Context, i, enough int) (int, error) {
	root, err := l.openRoot(i)
	if err != nil {
		return 0, err
	}
	defer closeFD(root)
	n := 0
	err = countBelow(ctx, root, enough, l.meta.Limits.Depth, &n)
	return n, err
}

func countBelow(ctx context.Context, fd, enough, depth int, n *int) error {
	names, err := listNames(fd, 1<<24)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if *n >= enough {
			return nil
		}
		st, found, err := lookAt(fd, name)
		if err != nil || !found {
			continue
		}
		if typeOf(st) != Folder {
			*n++
			continue
		}
		if depth == 0 {
			continue
		}
		sub, err := openBeneath(fd, name, folderFlags)
		if err != nil {
			continue // what can't be entered doesn't count, which asks sooner
		}
		err = countBelow(ctx, sub, enough, depth-1, n)
		closeFD(sub)
		if err != nil {
			return err
		}
	}
	return nil
}
