package sentinel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// bindFile hashes a file through one descriptor. What is opened is looked at
// again: a link, a FIFO or another file may have taken its place.
func (b *binder) bindFile(out Bound) (Bound, error) {
	f, err := openPlain(out.Real)
	if err != nil {
		return out, refuseArg(out.Arg, "names a file that can't be opened")
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return out, refuseArg(out.Arg, "names neither a plain file nor a folder")
	}
	if most := int64(maxBoundSize); st.Size() > most {
		return out, refuseArg(out.Arg, "names a file of %d bytes; at most %d can be bound to an approval", st.Size(), most)
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(heeding{b, f}, maxBoundSize+1))
	if err != nil {
		return out, refuseArg(out.Arg, "names a file that can't be read")
	}
	if b.bytes += n; b.bytes > maxBoundTotal {
		return out, &unbindable{fmt.Sprintf("the files that the call names have more than %d bytes", maxBoundTotal)}
	}
	after, err := f.Stat()
	if err != nil || stampOf(after) != stampOf(st) || n != st.Size() {
		return out, refuseArg(out.Arg, "names a file that changes while it is read")
	}
	out.Kind, out.Size, out.SHA256, out.stamp = BoundFile, n, hex.EncodeToString(h.Sum(nil)), stampOf(st)
	return out, nil
}

// heeding reads until the binder's time is over.
type heeding struct {
	b *binder
	r io.Reader
}

func (h heeding) Read(p []byte) (int, error) {
	if err := h.b.ctx.Err(); err != nil {
		return 0, err
	}
	return h.r.Read(p)
}

// hashListing hashes what is below a folder: names, kinds, sizes, times and inodes, and
// where links lead. It opens no file and follows no link.
func (b *binder) hashListing(root Bound) (string, error) {
	h := sha256.New()
	if err := b.listFolder(h, root, ""); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (b *binder) listFolder(h io.Writer, root Bound, below string) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	list, err := b.readNames(root, below)
	if err != nil {
		return err
	}
	for _, e := range list {
		name := filepath.Join(below, e.Name())
		st, err := e.Info()
		if err != nil {
			return refuseArg(root.Arg, "names a folder that changes while it is read")
		}
		target := ""
		if st.Mode().Type() == fs.ModeSymlink {
			if target, err = os.Readlink(filepath.Join(root.Real, name)); err != nil {
				return refuseArg(root.Arg, "names a folder that changes while it is read")
			}
		}
		s := stampOf(st)
		if s.kind == fs.ModeDir {
			s.size = 0 // a file system's own business
		}
		_, _ = fmt.Fprintf(h, "%d %s %d %s %+v\n", len(name), name, len(target), target, s)
		if st.IsDir() {
			if err := b.listFolder(h, root, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// readNames reads one folder, no further than the bound of all entries, in order.
func (b *binder) readNames(root Bound, below string) ([]fs.DirEntry, error) {
	f, err := openPlain(filepath.Join(root.Real, below))
	if err != nil {
		return nil, refuseArg(root.Arg, "names a folder that can't be read")
	}
	defer func() { _ = f.Close() }()
	list, err := f.ReadDir(maxListing - b.entries + 1)
	if err != nil && err != io.EOF { //nolint:errorlint // ReadDir returns it bare
		return nil, refuseArg(root.Arg, "names a folder that can't be read")
	}
	if b.entries += len(list); b.entries > maxListing {
		return nil, refuseArg(root.Arg, "names a folder with more than %d entries, which is more than can be bound to an approval", maxListing)
	}
	slices.SortFunc(list, func(x, y fs.DirEntry) int { return cmp.Compare(x.Name(), y.Name()) })
	return list, nil
}
