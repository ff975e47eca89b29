package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// Changes lists what the program did, within the layer's limits. The program must have
// ended. Errors are *LimitError, ctx's, or those of the file system.
func (l *Layer) Changes(ctx context.Context) (*Changes, error) {
	out := &Changes{Roots: l.Roots()}
	sum := startDigest(out.Roots)
	err := l.Each(ctx, func(c Change) error {
		sum.add(c)
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
		closeFD(fd)
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

// lister walks an upper layer beside its root. Names and contents are a stranger's.
type lister struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one Each
	layer *Layer
	yield func(Change) error
	root  int
	top   int    // the open root
	dev   uint64 // of the root: what has another is mounted there
	count int
	bytes int64
}

// pair is one folder on both sides.
type pair struct {
	upper, lower int // lower is -1 where the root has no such folder
	rel          string
	depth        int
	opaque       bool // nothing of the lower one shows through
	groups       bool // what is made in it gets its group, and folders this property too
	inGroups     bool // the folder that it is in has that
}

func (p pair) join(name string) string {
	if p.rel == "." {
		return name
	}
	return p.rel + "/" + name
}

func (w *lister) listRoot(i int) error {
	lower, err := w.layer.openRoot(i)
	if err != nil {
		return err
	}
	defer closeFD(lower)
	w.root, w.top = i, lower
	upper, err := w.layer.openUpper(i)
	if errors.Is(err, unix.EACCES) {
		return w.emit(Change{Path: ".", Kind: Attributes, Type: Folder, Was: Folder, Refused: RefusedUnreadable})
	}
	if err != nil {
		return err
	}
	defer closeFD(upper)
	w.dev = w.layer.meta.Roots[i].Dev
	p := pair{upper: upper, lower: lower, rel: "."}
	c, err := w.compareFolders(p)
	if err != nil {
		return err
	}
	p.groups = c.Mode&unix.S_ISGID != 0
	if c.Kind != "" {
		if err := w.emit(c); err != nil {
			return err
		}
	}
	return w.listFolder(p)
}

// emit hands a change on, within the limits.
func (w *lister) emit(c Change) error {
	c.Root = w.root
	if err := w.countOne(c.Path); err != nil {
		return err
	}
	return w.yield(c)
}

// countOne counts a path that was looked at.
func (w *lister) countOne(rel string) error {
	limits := w.layer.meta.Limits
	if w.count++; w.count > limits.Changes {
		return &LimitError{"changes", int64(limits.Changes)}
	}
	if len(rel) > maxPath {
		return &LimitError{"bytes of a path", maxPath}
	}
	return w.ctx.Err()
}

// listFolder lists what is in an upper folder; where it is opaque also what only the
// lower one has, which is gone.
func (w *lister) listFolder(p pair) error {
	limits := w.layer.meta.Limits
	if p.depth > limits.Depth {
		return &LimitError{"folders in each other", int64(limits.Depth)}
	}
	names, err := listNames(p.upper, limits.Changes)
	if err != nil {
		return err
	}
	if p.opaque && p.lower >= 0 {
		more, err := listNames(p.lower, limits.Changes)
		if err != nil {
			return err
		}
		names = append(names, more...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	for _, name := range names {
		if err := w.listEntry(p, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *lister) listEntry(p pair, name string) error {
	rel := p.join(name)
	if len(rel) > maxPath {
		return &LimitError{"bytes of a path", maxPath}
	}
	up, there, err := lookAt(p.upper, name)
	if err != nil {
		return fmt.Errorf("snapshot: look at a change: %w", err)
	}
	var low unix.Stat_t
	var lowThere bool
	if p.lower >= 0 {
		if low, lowThere, err = lookAt(p.lower, name); err != nil {
			return fmt.Errorf("snapshot: look at a root: %w", err)
		}
	}
	c := Change{Path: rel}
	if lowThere {
		c.Was, c.WasMode = typeOf(low), low.Mode&0o7777
	}
	if lowThere && low.Dev != w.dev {
		c.Kind, c.Refused = Changed, RefusedMount
		return w.emit(c)
	}
	switch {
	case !there, isWhiteout(up):
		return w.listDeleted(p, name, c, low)
	case typeOf(up) == Folder:
		return w.listSubfolder(p, name, c, up, low)
	}
	return w.listOther(p, name, c, up, low)
}

// listDeleted lists what is gone. Where the root has nothing either, others removed it.
func (w *lister) listDeleted(p pair, name string, c Change, low unix.Stat_t) error {
	c.Kind = Deleted
	if err := w.measureOld(p, name, &c, low); err != nil {
		return err
	}
	return w.emit(c)
}

// measureOld takes down what the root has at a path that something else, or nothing,
// replaces.
func (w *lister) measureOld(p pair, name string, c *Change, low unix.Stat_t) error {
	switch c.Was {
	case None:
		return nil
	case File, Link:
		c.Lost, c.WasSize = 1, low.Size
		c.HardLinked = c.Was == File && low.Nlink > 1
		return nil
	case Folder:
		return w.measureOldFolder(p, name, c)
	}
	c.Lost = 1
	return nil
}

func (w *lister) measureOldFolder(p pair, name string, c *Change) error {
	fd, err := openBeneath(p.lower, name, folderFlags)
	if err == nil {
		defer closeFD(fd)
		var t treeMeasure
		t, err = w.measureTree(fd)
		c.Lost, c.WasSize, c.Listing = t.files, t.bytes, t.sum
	}
	if errors.Is(err, unix.EACCES) {
		c.Refused = RefusedUnreadable
		return nil
	}
	if err != nil {
		return fmt.Errorf("snapshot: measure a folder that is gone: %w", err)
	}
	return nil
}

func (w *lister) measureTree(fd int) (treeMeasure, error) {
	t, err := measureTree(w.ctx, fd, w.layer.meta.Limits, w.dev, nil)
	if errors.Is(err, errMounted) {
		return t, &RootError{w.layer.meta.Roots[w.root].Path, "has another file system mounted in a folder that is gone; unmount it"}
	}
	if w.count += t.entries; err == nil && w.count > w.layer.meta.Limits.Changes {
		err = &LimitError{"changes", int64(w.layer.meta.Limits.Changes)}
	}
	return t, err
}

// listSubfolder lists a folder of the upper layer and what is in it.
func (w *lister) listSubfolder(p pair, name string, c Change, up, low unix.Stat_t) error {
	upper, err := openBeneath(p.upper, name, folderFlags)
	if errors.Is(err, unix.EACCES) || err == nil && up.Mode&0o500 != 0o500 {
		closeFD(upper)
		c.Kind, c.Type, c.Refused = kindOver(c.Was), Folder, RefusedUnreadable
		return w.emit(c)
	}
	if err != nil {
		return fmt.Errorf("snapshot: open a changed folder: %w", err)
	}
	defer closeFD(upper)
	sub := pair{upper: upper, lower: -1, rel: c.Path, depth: p.depth + 1, inGroups: p.groups}
	if c.Was == Folder {
		if sub.lower, err = openBeneath(p.lower, name, folderFlags); err != nil {
			return fmt.Errorf("snapshot: open a folder of the root: %w", err)
		}
		defer closeFD(sub.lower)
		sub.opaque = p.opaque || isOpaque(upper)
	}
	found, err := w.compareFolders(sub)
	if err != nil {
		return err
	}
	sub.groups = found.Mode&unix.S_ISGID != 0
	if sub.lower < 0 {
		found.Kind, found.Was, found.WasMode = kindOver(c.Was), c.Was, c.WasMode
		if c.Was != None {
			found.Lost, found.WasSize = 1, low.Size
		}
	} else if sub.opaque && !p.opaque {
		found.Kind = Replaced
	}
	if found.Kind != "" {
		if err := w.emit(found); err != nil {
			return err
		}
	}
	return w.listFolder(sub)
}

// kindOver returns the kind of something new in the place of what was there.
func kindOver(was Type) Kind {
	if was == None {
		return Created
	}
	return Changed
}

// compareFolders describes a folder by itself; its Kind is empty where it is as it was.
func (w *lister) compareFolders(p pair) (Change, error) {
	c := Change{Path: p.rel, Type: Folder}
	var up, low unix.Stat_t
	if err := unix.Fstat(p.upper, &up); err != nil {
		return c, fmt.Errorf("snapshot: look at a changed folder: %w", err)
	}
	allowed := uint32(0o1777)
	if p.lower < 0 && p.inGroups {
		allowed |= unix.S_ISGID // a new folder has it from the one that it is in
	}
	var oldAttrs string
	var err error
	if p.lower >= 0 {
		if err := unix.Fstat(p.lower, &low); err != nil {
			return c, fmt.Errorf("snapshot: look at a folder of the root: %w", err)
		}
		c.Was, c.WasMode = Folder, low.Mode&0o7777
		allowed |= low.Mode & unix.S_ISGID // as the root has it, its group goes to what is in it
		if oldAttrs, _, err = sumAttrs(p.lower); err != nil {
			return c, err
		}
	}
	c.Mode, c.Stripped = stripMode(up.Mode&0o7777, allowed)
	if c.Attrs, _, err = sumAttrs(p.upper); err != nil {
		return c, err
	}
	if p.rel == "." {
		c.Attrs, oldAttrs = "", "" // Open copies none to the upper layer, so they tell nothing
	}
	if p.lower >= 0 && (c.Mode != c.WasMode || c.Attrs != oldAttrs || c.Stripped != "") {
		c.Kind = Attributes
	}
	return c, nil
}

// stripMode returns the permission bits that are committed, and the names of the others.
func stripMode(mode, allowed uint32) (kept uint32, stripped string) {
	var words []string
	if mode&^allowed&unix.S_ISUID != 0 {
		words = append(words, "setuid")
	}
	if mode&^allowed&unix.S_ISGID != 0 {
		words = append(words, "setgid")
	}
	return mode & allowed, strings.Join(words, ",")
}
