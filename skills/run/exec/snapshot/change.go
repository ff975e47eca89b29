package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/runes"
)

// Kind is what became of a path.
type Kind string

// The kinds of changes.
const (
	Created    Kind = "created"    // nothing was there
	Changed    Kind = "changed"    // another content, link target or type
	Deleted    Kind = "deleted"    // nothing is there any more
	Replaced   Kind = "replaced"   // a folder was removed and made again; its entries are listed by themselves
	Attributes Kind = "attributes" // the same content with other permissions or extended attributes
	Touched    Kind = "touched"    // the same content with another time
)

// kept stands in journals alone: a folder that is opened for writing and gets its
// own permissions back.
const kept Kind = "kept"

// Type is what is at a path.
type Type string

// The types of what is at a path. The last three are never committed.
const (
	None   Type = ""
	File   Type = "file"
	Folder Type = "folder"
	Link   Type = "link"
	Socket Type = "socket"
	Pipe   Type = "pipe"
	Device Type = "device"
)

// Reason is why a change can't be committed, or why one conflicts.
type Reason string

// The reasons for which a change is refused.
const (
	RefusedType       Reason = "type"       // a socket, a pipe or a device
	RefusedLink       Reason = "link"       // a symbolic link that leaves its root
	RefusedUnreadable Reason = "unreadable" // its owner can't read it
	RefusedMount      Reason = "mount"      // another file system is mounted there
)

// Change is one path that a program changed in a root.
type Change struct {
	Root int    // index of the root
	Path string // relative to the root, as the bytes that the program chose; "." is the root itself
	Kind Kind
	Type Type // what is there now
	Was  Type // what was there before
	// Mode and WasMode are permission bits. Mode is what will be committed.
	Mode, WasMode uint32
	// Size and WasSize are bytes: of a file, or of all files below a folder that is gone.
	Size, WasSize int64
	// Lost is how many files of the root are gone with this change. They are removed, cut to
	// less than a tenth of their bytes, or replaced by something that is no file.
	Lost int
	// SHA256 is hex of a file's content.
	SHA256 string
	// Listing is the hex SHA-256 of names, inodes, sizes and times below a folder that is gone.
	Listing string
	// Attrs is the hex SHA-256 of the extended attributes that are kept; empty for none.
	Attrs string
	// Target is where a symbolic link leads, as written.
	Target string
	// Stripped names what will not be committed: setuid, setgid, capability.
	Stripped string
	// Refused is why this change can't be committed; empty if it can.
	Refused Reason
	// HardLinked says that the file in the root has other names, which keep the old content.
	HardLinked bool
}

// Changes is what a program did to the roots.
type Changes struct {
	Roots []string // absolute
	// List is sorted by root and path, a folder before what is in it.
	List []Change
	// Bytes is the size of all files that would be written.
	Bytes int64
	// Digest is "sha256:" and hex over Roots and List. It doesn't depend on the layer.
	Digest string
}

// Refused returns the changes that can't be committed.
func (c *Changes) Refused() []Change {
	var out []Change
	for _, one := range c.List {
		if one.Refused != "" {
			out = append(out, one)
		}
	}
	return out
}

// Show returns the path for a person. It stays as it is where every character can be seen, and
// is quoted with escapes otherwise. So a name can't forge a line, hide an end or pass for
// another.
func (c Change) Show() string { return showName(c.Path) }

func showName(name string) string {
	quoted := strconv.QuoteToGraphic(name)
	if quoted == `"`+name+`"` && strings.TrimSpace(name) == name && isVisibleText(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// maxMarks is how many combining marks may follow each other: more cover what is around.
const maxMarks = 2

// isVisibleText reports whether a person sees all of a text as what it is. Such a text has no
// space but the plain one, nothing without ink, and no pile of marks.
func isVisibleText(text string) bool {
	marks := 0
	for _, r := range text {
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if marks > maxMarks || r == utf8.RuneError || !unicode.IsPrint(r) || runes.IsInvisible(r) {
			return false
		}
	}
	return true
}

// fields is how many fields a line has.
const fields = 17

// encodeChange returns the one line that stands for a change, in digests and journals.
func encodeChange(c Change) string {
	return fmt.Sprintf("%d %s %s %s %04o %04o %d %d %d %s %s %s %s %s %t %s %s",
		c.Root, c.Kind, dashIfEmpty(string(c.Type)), dashIfEmpty(string(c.Was)), c.Mode, c.WasMode, c.Size, c.WasSize, c.Lost,
		dashIfEmpty(c.SHA256), dashIfEmpty(c.Listing), dashIfEmpty(c.Attrs), dashIfEmpty(c.Stripped),
		dashIfEmpty(string(c.Refused)), c.HardLinked, strconv.QuoteToASCII(c.Path), strconv.QuoteToASCII(c.Target))
}

func dashIfEmpty(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func emptyIfDash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// decodeChange reads what encodeChange writes, and nothing else. QuoteToASCII writes a
// space as it is, so the two quoted fields are cut off first.
func decodeChange(line string) (Change, error) {
	var c Change
	parts := strings.SplitN(line, " ", fields-1)
	if len(parts) != fields-1 {
		return c, errLine
	}
	first, err := strconv.QuotedPrefix(parts[fields-2])
	if err != nil {
		return c, errLine
	}
	c.Path, _ = strconv.Unquote(first)
	second, spaced := strings.CutPrefix(parts[fields-2][len(first):], " ")
	if c.Target, err = strconv.Unquote(second); err != nil || !spaced {
		return c, errLine
	}
	var mode, was uint64
	var errs [7]error
	c.Root, errs[0] = strconv.Atoi(parts[0])
	mode, errs[1] = strconv.ParseUint(parts[4], 8, 16)
	was, errs[2] = strconv.ParseUint(parts[5], 8, 16)
	c.Size, errs[3] = strconv.ParseInt(parts[6], 10, 64)
	c.WasSize, errs[4] = strconv.ParseInt(parts[7], 10, 64)
	c.Lost, errs[5] = strconv.Atoi(parts[8])
	c.HardLinked, errs[6] = strconv.ParseBool(parts[14])
	for _, e := range errs {
		if e != nil {
			return c, errLine
		}
	}
	c.Kind, c.Type, c.Was = Kind(parts[1]), Type(emptyIfDash(parts[2])), Type(emptyIfDash(parts[3]))
	c.Mode, c.WasMode, c.SHA256, c.Listing = uint32(mode), uint32(was), emptyIfDash(parts[9]), emptyIfDash(parts[10])
	c.Attrs, c.Stripped, c.Refused = emptyIfDash(parts[11]), emptyIfDash(parts[12]), Reason(emptyIfDash(parts[13]))
	if encodeChange(c) != line || !isSoundChange(c) {
		return c, errLine
	}
	return c, nil
}

// isSoundChange reports whether a change that was read is one that a listing could have made.
func isSoundChange(c Change) bool {
	switch c.Kind {
	case Created, Changed, Deleted, Replaced, Attributes, Touched, kept:
	default:
		return false
	}
	counts := c.Root >= 0 && c.Size >= 0 && c.WasSize >= 0 && c.Lost >= 0
	return counts && isPathInRoot(c.Path) && isKnownType(c.Type) && isKnownType(c.Was) && c.Mode&^0o7777 == 0
}

func isKnownType(t Type) bool {
	switch t {
	case None, File, Folder, Link, Socket, Pipe, Device:
		return true
	}
	return false
}

// isPathInRoot reports whether a path stays in its root by its text alone.
func isPathInRoot(p string) bool {
	if p == "." {
		return true
	}
	if len(p) > maxPath || strings.ContainsRune(p, 0) {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// digester hashes roots and changes as they are listed.
type digester struct{ hash.Hash }

func startDigest(roots []string) digester {
	d := digester{sha256.New()}
	d.writeLine("vedette snapshot 1\n%d\n", len(roots))
	for _, r := range roots {
		d.writeLine("%s\n", strconv.QuoteToASCII(r))
	}
	return d
}

func (d digester) writeLine(format string, a ...any) { _, _ = fmt.Fprintf(d, format, a...) } // a hash never fails

func (d digester) addChange(c Change) { d.writeLine("%s\n", encodeChange(c)) }

func (d digester) sum() string { return "sha256:" + hex.EncodeToString(d.Sum(nil)) }
