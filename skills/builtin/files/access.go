package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

const (
	archiveDir = ".archive"
	tempPrefix = ".vedette-"
	isolation  = "os.Root"
)

// resolveName turns an argument into a name below the root, in the root's own terms.
// An absolute path is taken where it lies below the root.
func (f *folder) resolveName(arg string) (string, error) {
	if arg == "" || strings.ContainsRune(arg, 0) || !utf8.ValidString(arg) {
		return "", decode.Refuse("the path is empty or holds what no path can")
	}
	if filepath.IsAbs(arg) {
		rel, err := filepath.Rel(f.path, arg)
		if err != nil {
			return "", decode.Refuse("the path is outside the workspace")
		}
		arg = rel
	}
	if !filepath.IsLocal(arg) {
		return "", decode.Refuse("the path is outside the workspace")
	}
	name := filepath.ToSlash(filepath.Clean(arg))
	first, _, _ := strings.Cut(name, "/")
	if strings.EqualFold(first, archiveDir) || strings.HasPrefix(path.Base(name), tempPrefix) {
		return "", decode.Refuse("the path is kept for the workspace itself")
	}
	return name, nil
}

// explainError turns a file system's error into one that names no path of ours.
func explainError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return decode.Refuse("there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return decode.Refuse("the file system does not permit it")
	case errors.Is(err, syscall.ENOTDIR):
		return decode.Refuse("a part of the path is no folder")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return decode.Refuse("the path is too long")
	case strings.Contains(err.Error(), "escapes"):
		return decode.Refuse("the path leads outside the workspace")
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return decode.Refuse("the file can't be reached: %v", p.Err)
	}
	return decode.Refuse("the file can't be reached")
}

// openRegular opens a plain file for reading. A FIFO would hang and a device may act
// on being opened, so both are refused by a look before and one after.
func (f *folder) openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	st, err := root.Stat(name)
	if err != nil {
		return nil, nil, explainError(err)
	}
	if err := f.checkPlain(st); err != nil {
		return nil, nil, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, explainError(err)
	}
	st, err = file.Stat()
	if err == nil {
		err = f.checkPlain(st)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, st, nil
}

func (f *folder) checkPlain(st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return decode.Refuse("that is a folder")
	case !st.Mode().IsRegular():
		return decode.Refuse("that is no regular file")
	case st.Size() > f.maxFile:
		return decode.Refuse("the file has %d bytes; at most %d are handled", st.Size(), f.maxFile)
	}
	return nil
}

// readTextFile reads a whole file.
func (f *folder) readTextFile(root *os.Root, name string) (string, fs.FileInfo, error) {
	file, st, err := f.openRegular(root, name)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = file.Close() }()
	b, err := f.readAllText(file)
	return string(b), st, err
}

// readAllText reads an open file to its end. Beside an error it returns what was read
// until then.
func (f *folder) readAllText(file *os.File) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(file, f.maxFile+1))
	switch {
	case err != nil:
		return b, explainError(err)
	case int64(len(b)) > f.maxFile:
		return b, decode.Refuse("the file has more than %d bytes", f.maxFile)
	case !isUTF8Text(b):
		return b, decode.Refuse("the file is binary, or not UTF-8 text")
	}
	return b, nil
}

// sniff is how much of a file a search reads before it tells text from the rest.
const sniff = 8 << 10

// scanForSearch reads a file for a search, and no more of a binary one than its beginning.
// read is how many bytes it took.
func (f *folder) scanForSearch(root *os.Root, name string) (text string, read int64, err error) {
	file, _, err := f.openRegular(root, name)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }()
	var head [sniff]byte
	n, err := file.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", int64(n), explainError(err)
	}
	if bytes.IndexByte(head[:n], 0) >= 0 {
		return "", int64(n), decode.Refuse("the file is binary")
	}
	b, err := f.readAllText(file)
	if err != nil {
		return "", int64(len(b)), err
	}
	return string(b), int64(len(b)), nil
}

// pathArg is the argument of every skill over one file.
const pathArg = "path"

// checkApproved holds what stands at a name against what a person approved, where one
// was asked. What can't be read for that is refused.
func (f *folder) checkApproved(ctx context.Context, root *os.Root, name string, exists bool) error {
	if len(skills.Approved(ctx, pathArg)) == 0 {
		return nil
	}
	if !exists {
		return skills.CheckApprovedMissing(ctx, pathArg)
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return explainError(err)
	}
	defer func() { _ = file.Close() }()
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
		return skills.ErrChanged
	}
	if err := skills.CheckApproved(ctx, pathArg, file); err != nil && !errors.Is(err, skills.ErrChanged) {
		return explainError(err)
	} else if err != nil {
		return err
	}
	return nil
}

func isUTF8Text(b []byte) bool {
	for _, c := range b {
		if c == 0 {
			return false
		}
	}
	return utf8.Valid(b)
}

// inspectTarget looks at what stands at a name that is to be written or moved. A link
// isn't followed: what is behind it wasn't judged.
func (f *folder) inspectTarget(root *os.Root, name string) (st fs.FileInfo, exists bool, err error) {
	st, err = root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, explainError(err)
	case st.IsDir():
		return nil, false, decode.Refuse("that is a folder")
	case !st.Mode().IsRegular():
		return nil, false, decode.Refuse("that is a symbolic link, a device or another thing that is no file")
	}
	return st, true, nil
}

// replaceFile puts content at name in one step. Up to the rename nothing is
// changed, so errors until then wrap skills.ErrNoEffect.
func (f *folder) replaceFile(root *os.Root, name, content string, mode fs.FileMode) error {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	temp := path.Join(path.Dir(name), tempPrefix+hex.EncodeToString(id[:])+".tmp")
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return explainError(err)
	}
	_, err = io.WriteString(file, content)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return explainError(err)
	}
	syncFolder(root, path.Dir(name))
	return nil
}

// syncFolder makes a rename durable. What it can't is no failure of the call: the
// file is there.
func syncFolder(root *os.Root, dir string) {
	d, err := root.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}

// retry is how often a lock that somebody holds is tried again.
const retry = 5 * time.Millisecond

// runLocked runs do while it holds the root's lock, unless ctx ends first.
func (f *folder) runLocked(ctx context.Context, do func(root *os.Root) (skills.Result, error)) (skills.Result, error) {
	root, err := f.openRootFolder(ctx)
	if err != nil {
		return skills.Result{}, err
	}
	defer func() { _ = root.Close() }()
	d, err := root.Open(".")
	if err != nil {
		return skills.Result{}, explainError(err)
	}
	defer func() { _ = d.Close() }() // gives the lock back
	tick := time.NewTicker(retry)
	defer tick.Stop()
	for {
		got, err := tryLock(d)
		if err != nil {
			return skills.Result{}, decode.Refuse("the folder can't be locked")
		}
		if got {
			break
		}
		select {
		case <-ctx.Done():
			return skills.Result{}, decode.Refuse("others kept writing: %w", ctx.Err())
		case <-tick.C:
		}
	}
	if ctx.Err() != nil {
		return skills.Result{}, decode.Refuse("the time is up: %w", ctx.Err())
	}
	return do(root)
}
