package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
		st, found, err := lookAtEntry(fd, name)
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
	_, _ = fmt.Fprintf(m.sum, "%s %s %d %d %d\n", strconv.QuoteToASCII(here), entryTypeOf(st), st.Ino, st.Size, st.Mtim.Nano())
	if entryTypeOf(st) != Folder {
		m.out.files++
		m.out.bytes += st.Size
		return nil
	}
	sub, err := openBeneath(fd, name, folderFlags)
	if err != nil {
		return fmt.Errorf("snapshot: open what is removed: %w", err)
	}
	defer closeDescriptor(sub)
	return m.measureFolder(sub, here, depth+1)
}
