package command

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// beside makes a file in the folder of name, which is to replace it; only the owner may
// read the new file. Its name is fresh: beside writes to no file or link that exists.
func beside(name string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".new-*")
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, cause(err))
	}
	return f, nil
}

// only opens a file for this run alone: two that wrote rows at a time would leave
// neither's. It is its owner's, and what is written goes to its end.
func only(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, cause(err))
	}
	return owned(f, name)
}

// owned locks a file that was opened by a name. It closes it where it can't.
func owned(f *os.File, name string) (*os.File, error) {
	free, err := tryLock(f)
	if err == nil && !free {
		return nil, errors.Join(otherWriter(name), f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s can't be locked: %w", name, err), f.Close())
	}
	// Between opening and locking it another run may have put a new one there.
	mine, err1 := f.Stat()
	there, err2 := os.Stat(name)
	if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
		return nil, errors.Join(otherWriter(name), f.Close())
	}
	if mine.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("%s is open to others: %w", name, cause(err)), f.Close())
		}
	}
	return f, nil
}

// otherWriter is the failure of a run whose file another run is writing.
func otherWriter(name string) *failure {
	return &failure{
		exitFailed, fmt.Errorf("%s is being written by another eval", name),
		"name another file with --results, or wait for it",
	}
}

// drop takes rows out of the file, by their places, and leaves the other lines as
// they are. The file is replaced as a whole.
func (r *results) drop(places []int) error {
	if len(places) == 0 {
		return nil
	}
	out := map[int]bool{}
	for _, p := range places {
		out[p] = true
	}
	name := r.name
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real // the file is replaced, not the link to it
	}
	next, err := beside(name)
	if err != nil {
		return err
	}
	if err := r.copyTo(next, out); err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	if err := replace(next.Name(), name); err != nil {
		return errors.Join(err, next.Close())
	}
	old := r.f
	// The lock is on the file, so it came with it.
	r.f = next
	return old.Close()
}

// copyTo locks the next file of results, and copies lines but for some.
func (r *results) copyTo(next *os.File, out map[int]bool) error {
	if _, err := owned(next, next.Name()); err != nil {
		return err
	}
	if err := errors.Join(seek(r.f, 0), without(next, r.f, out), next.Sync()); err != nil {
		return fmt.Errorf("%s can't be written: %w", next.Name(), cause(err))
	}
	return nil
}

// without copies lines but for some.
func without(to io.Writer, from io.Reader, out map[int]bool) error {
	r, w := bufio.NewReaderSize(from, 64<<10), bufio.NewWriter(to)
	for n := 0; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		if out[n] {
			continue
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

// settle takes the rows out whose case was edited, once all cases were gone
// through, and tells what it took and what it left.
func (r *results) settle(a *app) error {
	if r.f == nil {
		return nil
	}
	places, others := r.earlier.Replaced()
	if err := r.drop(places); err != nil {
		return err
	}
	if len(places) > 0 {
		a.note("%d rows of %s were removed: their cases were edited, and eval decided them again", len(places), r.name)
	}
	if others > 0 {
		a.note("%d rows of %s are of no case of this run; they stay, and are not counted", others, r.name)
	}
	return nil
}

// programDigest is the digest of the program that runs. A build without a
// revision, or with changes on top of it, is known by nothing else.
func programDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s can't be read: %w", path, cause(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s can't be read: %w", path, cause(err))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// buildName tells a build from every other.
func buildName(b build, program string) (string, error) {
	switch {
	case b.Revision != "" && !b.Modified:
		return b.Version + " " + b.Revision, nil
	case program == "":
		return b.Version, nil
	}
	digest, err := programDigest(program)
	return b.Version + " " + digest, err
}
