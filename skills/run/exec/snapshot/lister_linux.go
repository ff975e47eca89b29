package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

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

func (p pair) joinName(name string) string {
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
	defer closeDescriptor(lower)
	w.root, w.top = i, lower
	upper, err := w.layer.openUpper(i)
	if errors.Is(err, unix.EACCES) {
		return w.emitChange(Change{Path: ".", Kind: Attributes, Type: Folder, Was: Folder, Refused: RefusedUnreadable})
	}
	if err != nil {
		return err
	}
	defer closeDescriptor(upper)
	w.dev = w.layer.meta.Roots[i].Dev
	p := pair{upper: upper, lower: lower, rel: "."}
	c, err := w.compareFolders(p)
	if err != nil {
		return err
	}
	p.groups = c.Mode&unix.S_ISGID != 0
	if c.Kind != "" {
		if err := w.emitChange(c); err != nil {
			return err
		}
	}
	return w.listFolder(p)
}

// emitChange hands a change on, within the limits.
func (w *lister) emitChange(c Change) error {
	c.Root = w.root
	if err := w.countPath(c.Path); err != nil {
		return err
	}
	return w.yield(c)
}

// countPath counts a path that was looked at.
func (w *lister) countPath(rel string) error {
	limits := w.layer.meta.Limits
	if w.count++; w.count > limits.Changes {
		return &LimitError{"changes", int64(limits.Changes)}
	}
	if len(rel) > maxPath {
		return &LimitError{"bytes of a path", maxPath}
	}
	return w.ctx.Err()
}

// listFolder lists what is in an upper folder. Where that is opaque, what only the lower one
// has is gone and is listed too.
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
	rel := p.joinName(name)
	if len(rel) > maxPath {
		return &LimitError{"bytes of a path", maxPath}
	}
	up, there, err := lookAtEntry(p.upper, name)
	if err != nil {
		return fmt.Errorf("snapshot: look at a change: %w", err)
	}
	var low unix.Stat_t
	var lowThere bool
	if p.lower >= 0 {
		if low, lowThere, err = lookAtEntry(p.lower, name); err != nil {
			return fmt.Errorf("snapshot: look at a root: %w", err)
		}
	}
	c := Change{Path: rel}
	if lowThere {
		c.Was, c.WasMode = entryTypeOf(low), low.Mode&0o7777
	}
	if lowThere && low.Dev != w.dev {
		c.Kind, c.Refused = Changed, RefusedMount
		return w.emitChange(c)
	}
	switch {
	case !there, isWhiteout(up):
		return w.listDeleted(p, name, c, low)
	case entryTypeOf(up) == Folder:
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
	return w.emitChange(c)
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
		defer closeDescriptor(fd)
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
		closeDescriptor(upper)
		c.Kind, c.Type, c.Refused = kindReplacing(c.Was), Folder, RefusedUnreadable
		return w.emitChange(c)
	}
	if err != nil {
		return fmt.Errorf("snapshot: open a changed folder: %w", err)
	}
	defer closeDescriptor(upper)
	sub := pair{upper: upper, lower: -1, rel: c.Path, depth: p.depth + 1, inGroups: p.groups}
	if c.Was == Folder {
		if sub.lower, err = openBeneath(p.lower, name, folderFlags); err != nil {
			return fmt.Errorf("snapshot: open a folder of the root: %w", err)
		}
		defer closeDescriptor(sub.lower)
		sub.opaque = p.opaque || isOpaqueFolder(upper)
	}
	found, err := w.compareFolders(sub)
	if err != nil {
		return err
	}
	sub.groups = found.Mode&unix.S_ISGID != 0
	if sub.lower < 0 {
		found.Kind, found.Was, found.WasMode = kindReplacing(c.Was), c.Was, c.WasMode
		if c.Was != None {
			found.Lost, found.WasSize = 1, low.Size
		}
	} else if sub.opaque && !p.opaque {
		found.Kind = Replaced
	}
	if found.Kind != "" {
		if err := w.emitChange(found); err != nil {
			return err
		}
	}
	return w.listFolder(sub)
}

// kindReplacing returns the kind of something new in the place of what was there.
func kindReplacing(was Type) Kind {
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
	c.Mode, c.Stripped = stripModeBits(up.Mode&0o7777, allowed)
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

// stripModeBits returns the permission bits that are committed, and the names of the others.
func stripModeBits(mode, allowed uint32) (kept uint32, stripped string) {
	var words []string
	if mode&^allowed&unix.S_ISUID != 0 {
		words = append(words, "setuid")
	}
	if mode&^allowed&unix.S_ISGID != 0 {
		words = append(words, "setgid")
	}
	return mode & allowed, strings.Join(words, ",")
}

// listOther lists a file, a link, or what can't be committed.
func (w *lister) listOther(p pair, name string, c Change, up, low unix.Stat_t) error {
	c.Type, c.Kind = entryTypeOf(up), kindReplacing(c.Was)
	if c.Type != c.Was {
		if err := w.measureOld(p, name, &c, low); err != nil {
			return err
		}
	}
	var err error
	switch {
	case c.Refused != "":
	case c.Type == File:
		err = w.describeFile(p, name, &c, up, low)
	case c.Type == Link:
		err = w.describeLink(p, name, &c)
	default:
		c.Refused = RefusedType
	}
	if err != nil || c.Kind == "" {
		return err
	}
	return w.emitChange(c)
}

// lostShare is the part of its bytes below which what is left of a file is as good as none.
const lostShare = 10

// describeFile hashes a file and compares it with what the root has.
func (w *lister) describeFile(p pair, name string, c *Change, up, low unix.Stat_t) error {
	c.Mode, c.Stripped = stripModeBits(up.Mode&0o7777, 0o1777)
	c.Size = up.Size
	limits := w.layer.meta.Limits
	if w.bytes += up.Size; w.bytes > limits.Bytes || up.Size > limits.Bytes {
		return &LimitError{"bytes", limits.Bytes}
	}
	sum, attrs, capable, err := w.readFile(p.upper, name, up)
	if errors.Is(err, unix.EACCES) {
		c.Refused = RefusedUnreadable
		return nil
	}
	if err != nil {
		return err
	}
	c.SHA256, c.Attrs = sum, attrs
	if capable {
		c.Stripped = strings.TrimPrefix(c.Stripped+",capability", ",")
	}
	if c.Was != File {
		return nil
	}
	c.WasSize, c.HardLinked = low.Size, low.Nlink > 1
	if c.Size < c.WasSize/lostShare || c.Size == 0 && c.WasSize > 0 {
		c.Lost = 1
	}
	if c.Size != c.WasSize {
		return nil
	}
	return w.compareFile(p, name, c, up, low)
}

// compareFile tells a file of another content from one of other attributes or times. A
// file of the root that can't be read counts as another content.
func (w *lister) compareFile(p pair, name string, c *Change, up, low unix.Stat_t) error {
	old, oldAttrs, _, err := w.readFile(p.lower, name, low)
	switch {
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case err != nil || old != c.SHA256:
		return nil //nolint:nilerr // it is listed as another content
	case c.Mode != c.WasMode || c.Attrs != oldAttrs || c.Stripped != "":
		c.Kind = Attributes
	case up.Mtim != low.Mtim:
		c.Kind = Touched
	default:
		c.Kind = "" // it was opened for writing, and nothing was written
	}
	return nil
}

// readFile returns the hashes of a file's content and of its kept attributes.
func (w *lister) readFile(folder int, name string, st unix.Stat_t) (sum, attrs string, capable bool, err error) {
	fd, err := openBeneath(folder, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) { // the file is another user's
		fd, err = openBeneath(folder, name, unix.O_RDONLY|unix.O_NONBLOCK)
	}
	if err != nil {
		return "", "", false, fmt.Errorf("snapshot: open a file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "file")
	defer func() { _ = f.Close() }()
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Ino != st.Ino || entryTypeOf(now) != File {
		return "", "", false, errors.New("snapshot: a file changed while it was listed")
	}
	if sum, err = hashContent(w.ctx, f, st.Size); err != nil {
		return "", "", false, err
	}
	attrs, capable, err = sumAttrs(fd)
	return sum, attrs, capable, err
}

// describeLink reads where a link leads, and refuses it where that is outside.
func (w *lister) describeLink(p pair, name string, c *Change) error {
	target, err := readTarget(p.upper, name)
	if err != nil {
		return err
	}
	c.Target, c.Mode = target, 0o777
	root, allowed := w.layer.meta.Roots[w.root].Path, w.layer.meta.LinkTargets
	inside := staysInside(root, c.Path, target, allowed)
	if inside {
		inside, err = leadsInside(w.top, root, c.Path, target, allowed)
	}
	if err != nil {
		return fmt.Errorf("snapshot: follow a link: %w", err)
	}
	if !inside {
		c.Refused = RefusedLink
	}
	if c.Was != Link {
		return nil
	}
	old, err := readTarget(p.lower, name)
	if err != nil {
		return err
	}
	if old == target {
		c.Kind = ""
	}
	return nil
}
