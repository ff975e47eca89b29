package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// files is where configuration is read from. Names are as they are shown.
type files interface {
	readFile(name string) ([]byte, error)
	// findFiles returns the files that match pattern, relative to the folder of
	// the file name, sorted.
	findFiles(name, pattern string) ([]string, error)
	// fileIdentity is the same for two names of one file.
	fileIdentity(name string) string
}

// disk reads from the file system of the machine.
type disk struct{}

// readFile reads a regular file, and at most one byte more than MaxFile.
func (disk) readFile(name string) ([]byte, error) {
	// Asked before it is opened: opening a pipe would wait for a writer.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// findFiles returns the files that the pattern matches on disk.
func (disk) findFiles(name, pattern string) ([]string, error) {
	dir, pattern := splitGlobBase(name, pattern)
	found, err := searchFiles(&boundedFS{fsys: os.DirFS(dir), root: dir}, pattern)
	for i, f := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(f))
	}
	return found, err
}

// searchFiles returns the files that a pattern matches, none where the search
// was broken off.
func searchFiles(b *boundedFS, pattern string) ([]string, error) {
	b.reals = map[string]string{}
	found, err := doublestar.Glob(b, pattern, doublestar.WithFilesOnly())
	if b.fail != nil {
		return nil, b.fail
	}
	return found, err
}

// splitGlobBase returns the folder that a pattern of the file name starts in. rest is
// the part of the pattern below it.
func splitGlobBase(name, pattern string) (dir, rest string) {
	pattern = path.Clean(filepath.ToSlash(pattern))
	if filepath.IsAbs(filepath.FromSlash(pattern)) {
		base, rest := doublestar.SplitPattern(pattern)
		return filepath.FromSlash(base), rest
	}
	dir = filepath.Dir(name)
	for {
		below, up := strings.CutPrefix(pattern, "../")
		if !up {
			return dir, pattern
		}
		dir, pattern = filepath.Join(dir, ".."), below
	}
}

func (disk) fileIdentity(name string) string { return realPath(name) }

// embedded reads from an fs.FS; nil has no files.
type embedded struct{ fsys fs.FS }

// readFile reads a file of the file system, and at most one byte more than
// MaxFile.
func (e embedded) readFile(name string) ([]byte, error) {
	f, err := e.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// findFiles returns the files that the pattern matches within the file system.
func (e embedded) findFiles(name, pattern string) ([]string, error) {
	if e.fsys == nil {
		return nil, errors.New("there is no file system to include from")
	}
	dir := path.Dir(path.Clean(name))
	pattern = path.Clean(pattern)
	for {
		rest, up := strings.CutPrefix(pattern, "../")
		if !up || dir == "." {
			break
		}
		dir, pattern = path.Dir(dir), rest
	}
	if !fs.ValidPath(dir) || strings.HasPrefix(pattern, "../") || path.IsAbs(pattern) {
		return nil, errors.New("it leads out of the file system that the configuration is in")
	}
	sub, err := fs.Sub(e.fsys, dir)
	if err != nil {
		return nil, err
	}
	found, err := searchFiles(&boundedFS{fsys: sub}, pattern)
	for i, f := range found {
		found[i] = path.Join(dir, f)
	}
	return found, err
}

func (embedded) fileIdentity(name string) string { return path.Clean(name) }

// causeWithoutPath returns an error of the file system without its path, which the message
// around it names already.
func causeWithoutPath(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// realPath returns the absolute path with its links followed as far as it exists.
func realPath(p string) string {
	abs, err := filepath.Abs(p)
	if err != nil {
		return filepath.Clean(p)
	}
	rest := ""
	for dir := abs; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return abs
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// readFailureText puts a failed read into words.
func readFailureText(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "the file does not exist"
	}
	return fmt.Sprintf("the file can't be read: %s", causeWithoutPath(err))
}
