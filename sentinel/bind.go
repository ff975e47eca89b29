package sentinel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// The bounds of what is bound to an approval. A call beyond them can't be
// approved.
const (
	maxBound      = 256              // paths of a call
	maxBoundSize  = 64 << 20         // bytes of one file
	maxBoundTotal = 256 << 20        // bytes of all files of a call
	maxListing    = 10_000           // entries of all folders of a call
	bindTime      = 20 * time.Second // for all of them
)

// The kinds of what is bound.
const (
	BoundFile      = "file"
	BoundFolder    = "folder"
	BoundMissing   = "missing"      // nothing is there yet
	BoundReference = "by_reference" // not compared: whatever it is when the call runs
)

// Bound is what a declared path of a call led to when a person was asked. It is
// shown to them, and compared before the call runs.
type Bound struct {
	Arg  string
	Kind string
	// Path is what the argument names, absolute and cleaned; Real is where that
	// leads once symbolic links are followed.
	Path, Real string
	// Size is a file's, in bytes.
	Size int64
	// SHA256 is hex: of a file's content, or of a folder's listing where the
	// call removes the folder. Entries is how many things that listing has.
	SHA256  string
	Entries int
	// Missing is set where there is no such file. Anchor is the nearest folder
	// above it that exists, then.
	Missing bool
	Anchor  string

	stamp  stamp // of what is at Real, or at Anchor
	listed bool  // the whole listing is bound
}

// String says it in a line for a person.
func (b Bound) String() string {
	switch {
	case b.Missing:
		return "no such file"
	case b.Kind == BoundFolder && b.SHA256 != "":
		return fmt.Sprintf("a folder with %d entries below it, listing sha256 %s", b.Entries, b.SHA256[:16])
	case b.Kind == BoundFolder:
		return "a folder, with whatever is in it when the call runs"
	case b.SHA256 == "":
		return "by reference: what it holds when the call runs"
	}
	return fmt.Sprintf("%d bytes, sha256 %s", b.Size, b.SHA256[:16])
}

// stamp is what tells one file from another, and from itself after a change. It
// is cheap to take, so it is compared where nothing may be read.
type stamp struct {
	dev, ino     uint64
	kind         fs.FileMode // type bits alone
	size         int64
	mtime, ctime int64 // nanoseconds
}

// identity is the stamp without what a change of the content changes.
func (s stamp) identity() stamp { return stamp{dev: s.dev, ino: s.ino, kind: s.kind} }

// unbindable is why a call can't be approved. Its text is recorded, so it holds
// names of arguments and numbers alone.
type unbindable struct{ why string }

// Error returns the reason.
func (u *unbindable) Error() string { return u.why }

func refuseArg(arg, format string, a ...any) error {
	name := "an argument"
	if arg != "" {
		name = "the argument " + arg
	}
	return &unbindable{name + " " + fmt.Sprintf(format, a...)}
}

// binder binds the paths of one call within its bounds.
type binder struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one bindPaths
	bytes   int64
	entries int
}

// bindPaths takes down what every declared path of the call leads to, whatever
// the call does to it. The error is an *unbindable, or ctx's.
func bindPaths(ctx context.Context, c Call, env touch.Env) ([]Bound, error) {
	limited, cancel := context.WithTimeout(ctx, bindTime)
	defer cancel()
	if envOf(c.Grant(), env).NoFS || c.Skill() != nil && c.Skill().Spec().ByReference {
		return bindByReference(c), nil
	}
	b := &binder{ctx: limited}
	var out []Bound
	for _, path := range c.parts().touch.Paths {
		if !path.Declared {
			continue
		}
		if len(out) == maxBound {
			return nil, &unbindable{fmt.Sprintf("the call names more than %d paths", maxBound)}
		}
		bound, err := b.bindPath(path)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case limited.Err() != nil:
			return nil, &unbindable{fmt.Sprintf("what the call names could not be read within %s", bindTime)}
		case err != nil:
			return nil, err
		}
		out = append(out, bound)
	}
	return out, nil
}

// bindByReference names each argument whose paths are not bound, once.
func bindByReference(c Call) []Bound {
	var out []Bound
	for _, path := range c.parts().touch.Paths {
		b := Bound{Arg: path.Arg, Kind: BoundReference}
		if path.Declared && !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}

// bindPath binds one path: what is there, or that nothing is.
func (b *binder) bindPath(p touch.Path) (Bound, error) {
	out := Bound{Arg: p.Arg, Path: p.Clean, Real: p.Real}
	if p.Unplaced {
		return out, refuseArg(p.Arg, "can be read as more than one path")
	}
	st, err := os.Lstat(p.Real)
	switch {
	case isMissing(err):
		return bindMissing(out)
	case err != nil:
		return out, refuseArg(p.Arg, "names what can't be looked at")
	case st.Mode().IsRegular():
		return b.bindFile(out)
	case st.IsDir():
		return b.bindFolder(out, st, p.Recursive || p.Access.Has(touch.Delete))
	}
	return out, refuseArg(p.Arg, "names neither a plain file nor a folder")
}

// isMissing reports whether nothing is at a path, also because something above it
// is no folder.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// bindMissing binds that nothing is there, and the nearest folder that is.
func bindMissing(out Bound) (Bound, error) {
	out.Kind, out.Missing = BoundMissing, true
	for out.Anchor = filepath.Dir(out.Real); ; out.Anchor = filepath.Dir(out.Anchor) {
		st, err := os.Lstat(out.Anchor)
		if err == nil {
			out.stamp = stampOf(st).identity()
			return out, nil
		}
		if !isMissing(err) || out.Anchor == filepath.Dir(out.Anchor) {
			return out, refuseArg(out.Arg, "names what can't be looked at")
		}
	}
}

// bindFolder binds a folder itself, and the names below it where they matter.
func (b *binder) bindFolder(out Bound, st fs.FileInfo, listing bool) (Bound, error) {
	out.Kind, out.stamp = BoundFolder, stampOf(st).identity()
	if !listing {
		return out, nil
	}
	out.stamp, out.listed = stampOf(st), true
	before := b.entries
	sum, err := b.hashListing(out)
	if err != nil {
		return out, err
	}
	out.SHA256, out.Entries = sum, b.entries-before
	return out, nil
}

// isSameBound reports whether what was approved is what is there now. The times
// don't count: content and identity do.
func isSameBound(a, b []Bound) bool {
	return slices.EqualFunc(a, b, func(x, y Bound) bool {
		x.stamp, y.stamp = x.stamp.identity(), y.stamp.identity()
		return x == y
	})
}

// checkUnmoved compares everything that is bound without reading any of it: real
// paths, devices, inodes, sizes and times. It returns skills.ErrChanged.
func checkUnmoved(list []Bound, env touch.Env) error {
	for _, b := range list {
		if b.Kind != BoundReference && !b.isUnchanged(env) {
			return skills.ErrChanged
		}
	}
	return nil
}

// checkBound is checkUnmoved right before the call runs, where folders may be
// read: the listings that were approved are made again.
func checkBound(ctx context.Context, list []Bound, env touch.Env) error {
	limited, cancel := context.WithTimeout(ctx, bindTime)
	defer cancel()
	b := &binder{ctx: limited}
	for _, bound := range list {
		if !bound.listed {
			continue
		}
		if sum, err := b.hashListing(bound); err != nil || sum != bound.SHA256 {
			return skills.ErrChanged
		}
	}
	return checkUnmoved(list, env)
}

// isUnchanged reports whether the path still leads to what is bound.
func (b Bound) isUnchanged(env touch.Env) bool {
	if touch.Real(b.Path, env) != b.Real {
		return false
	}
	st, err := os.Lstat(cmp.Or(b.Anchor, b.Real))
	if err != nil {
		return false
	}
	now := stampOf(st)
	switch {
	case b.Missing:
		_, err := os.Lstat(b.Real)
		return isMissing(err) && now.identity() == b.stamp
	case b.Kind == BoundFolder && !b.listed:
		return now.identity() == b.stamp
	}
	return now == b.stamp
}

// listApproved is what is bound in the words of package skills.
func listApproved(list []Bound) []skills.ApprovedFile {
	var out []skills.ApprovedFile
	for _, b := range list {
		switch b.Kind {
		case BoundFile:
			out = append(out, skills.ApprovedFile{Arg: b.Arg, Path: b.Real, Size: b.Size, SHA256: b.SHA256})
		case BoundFolder:
			out = append(out, skills.ApprovedFile{Arg: b.Arg, Path: b.Real, Folder: true})
		case BoundMissing:
			out = append(out, skills.ApprovedFile{Arg: b.Arg, Path: b.Real, Missing: true})
		}
	}
	return out
}
