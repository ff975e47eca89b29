package snapshot

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// listOther lists a file, a link, or what can't be committed.
func (w *lister) listOther(p pair, name string, c Change, up, low unix.Stat_t) error {
	c.Type, c.Kind = typeOf(up), kindOver(c.Was)
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
	return w.emit(c)
}

// lostShare is the part of its bytes below which what is left of a file is as good as none.
const lostShare = 10

// describeFile hashes a file and compares it with what the root has.
func (w *lister) describeFile(p pair, name string, c *Change, up, low unix.Stat_t) error {
	c.Mode, c.Stripped = stripMode(up.Mode&0o7777, 0o1777)
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
	if err := unix.Fstat(fd, &now); err != nil || now.Ino != st.Ino || typeOf(now) != File {
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
