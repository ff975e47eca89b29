package snapshot

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const overlayPrefix = "user.overlay."

// The extended attributes that decide what becomes of others.
const (
	opaqueAttr     = overlayPrefix + "opaque"
	capabilityAttr = "security.capability"
)

// isKeptAttr reports whether an attribute is committed: those that users write, and access lists.
func isKeptAttr(name string) bool {
	return strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, overlayPrefix) ||
		name == accessList || name == defaultList
}

// isStrippedAttr reports whether an attribute must not be committed. What is neither kept
// nor stripped is the system's own, such as a label.
func isStrippedAttr(name string) bool {
	return strings.HasPrefix(name, overlayPrefix) || strings.HasPrefix(name, "trusted.overlay.") || name == capabilityAttr
}

// listAttrs returns the names of a file's extended attributes, sorted. A file system
// without any has none.
func listAttrs(fd int) ([]string, error) {
	n, err := unix.Flistxattr(fd, nil)
	if err == nil && n == 0 {
		return nil, nil
	}
	buf := make([]byte, min(max(n, 0), maxAttrs))
	if err == nil {
		n, err = unix.Flistxattr(fd, buf)
	}
	switch {
	case errors.Is(err, unix.ENOTSUP):
		return nil, nil
	case errors.Is(err, unix.ERANGE), errors.Is(err, unix.E2BIG):
		return nil, &LimitError{"bytes of extended attributes of a file", maxAttrs}
	case err != nil:
		return nil, fmt.Errorf("snapshot: list extended attributes: %w", err)
	}
	names := strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return names, nil
}

func readAttr(fd int, name string) ([]byte, error) {
	n, err := unix.Fgetxattr(fd, name, nil)
	if err != nil || n == 0 {
		return nil, err
	}
	buf := make([]byte, n)
	n, err = unix.Fgetxattr(fd, name, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// sumAttrs returns the hash of the attributes that are kept, and whether the file has a
// capability, which isn't.
func sumAttrs(fd int) (sum string, capable bool, err error) {
	names, err := listAttrs(fd)
	if err != nil {
		return "", false, err
	}
	all := sha256.New()
	kept, total := 0, 0
	for _, name := range names {
		capable = capable || name == capabilityAttr
		if !isKeptAttr(name) {
			continue
		}
		value, err := readAttr(fd, name)
		if err != nil {
			return "", false, fmt.Errorf("snapshot: read an extended attribute: %w", err)
		}
		if total += len(name) + len(value); total > maxAttrs {
			return "", false, &LimitError{"bytes of extended attributes of a file", maxAttrs}
		}
		_ = binary.Write(all, binary.BigEndian, [2]uint32{uint32(len(name)), uint32(len(value))})
		all.Write([]byte(name))
		all.Write(value)
		kept++
	}
	if kept == 0 {
		return "", capable, nil
	}
	return hex.EncodeToString(all.Sum(nil)), capable, nil
}

// isOpaqueFolder reports whether a folder of an upper layer hides the one below it.
func isOpaqueFolder(fd int) bool {
	v, err := readAttr(fd, opaqueAttr)
	return err == nil && len(v) == 1 && v[0] == 'y'
}

// stripAttrs removes what must not be committed.
func stripAttrs(fd int) error {
	names, err := listAttrs(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isStrippedAttr(name) {
			continue
		}
		if err := unix.Fremovexattr(fd, name); err != nil && !errors.Is(err, unix.ENODATA) {
			return fmt.Errorf("snapshot: remove an extended attribute: %w", err)
		}
	}
	return nil
}

// copyAttrs makes the attributes of to that are kept those of from.
func copyAttrs(from, to int) error {
	names, err := listAttrs(from)
	if err != nil {
		return err
	}
	old, err := listAttrs(to)
	if err != nil {
		return err
	}
	for _, name := range old {
		if isKeptAttr(name) && !slices.Contains(names, name) {
			if err := unix.Fremovexattr(to, name); err != nil && !errors.Is(err, unix.ENODATA) {
				return fmt.Errorf("snapshot: remove an extended attribute: %w", err)
			}
		}
	}
	for _, name := range names {
		if !isKeptAttr(name) {
			continue
		}
		value, err := readAttr(from, name)
		if err == nil {
			err = unix.Fsetxattr(to, name, value, 0)
		}
		if err != nil {
			return fmt.Errorf("snapshot: copy an extended attribute: %w", err)
		}
	}
	return nil
}

// describeAttrs is Layer.DescribeAttrs.
func describeAttrs(l *Layer, c Change) string {
	if c.Path == "." || c.Refused != "" || c.Type != File && c.Type != Folder {
		return ""
	}
	now, err := readKeptAttrs(l.openUpper, c)
	was := map[string][]byte{}
	if err == nil && c.Was == c.Type && c.Kind != Replaced {
		was, err = readKeptAttrs(l.openRoot, c)
	}
	if err != nil {
		return "attributes that can't be read"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, there := was[name]; !there || !bytes.Equal(old, now[name]) {
			words = append(words, describeAttr(name, now[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, there := now[name]; !there {
			words = append(words, "without "+describeAttr(name, nil))
		}
	}
	return strings.Join(words, ", ")
}

// readKeptAttrs returns the attributes that are kept of what a change is about, on the side
// that open opens.
func readKeptAttrs(open func(int) (int, error), c Change) (map[string][]byte, error) {
	top, err := open(c.Root)
	if err != nil {
		return nil, err
	}
	defer closeDescriptor(top)
	fd, err := openBeneath(top, c.Path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer closeDescriptor(fd)
	names, err := listAttrs(fd)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, name := range names {
		if !isKeptAttr(name) {
			continue
		}
		if out[name], err = readAttr(fd, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// The extended attributes that are access lists.
const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// describeAttr names an attribute, and of an access list all that it gives.
func describeAttr(name string, value []byte) string {
	switch name {
	case accessList:
		return strings.TrimSpace("access list " + formatAccessList(value))
	case defaultList:
		return strings.TrimSpace("default access list " + formatAccessList(value))
	}
	return showName(name)
}

// The numbers of an access list: its head and entries in bytes, and the kinds of entries.
const (
	listHead  = 4
	listEntry = 8
)

var listKinds = map[uint16]string{1: "user", 2: "user", 4: "group", 8: "group", 16: "mask", 32: "other"}

// formatAccessList returns an access list as getfacl writes it in short.
func formatAccessList(value []byte) string {
	if len(value) < listHead {
		return ""
	}
	var out []string
	for e := value[listHead:]; len(e) >= listEntry; e = e[listEntry:] {
		kind, perm, id := binary.LittleEndian.Uint16(e), binary.LittleEndian.Uint16(e[2:]), binary.LittleEndian.Uint32(e[4:])
		who := ""
		if kind == 2 || kind == 8 {
			who = strconv.FormatUint(uint64(id), 10)
		}
		rights := []byte("---")
		for i, letter := range []byte("rwx") {
			if perm>>(2-i)&1 != 0 {
				rights[i] = letter
			}
		}
		out = append(out, cmp.Or(listKinds[kind], "unknown")+":"+who+":"+string(rights))
	}
	return strings.Join(out, ",")
}
