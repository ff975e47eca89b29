package config

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds on the search for included files.
const (
	maxSearched    = 20_000 // entries of folders, counted as often as they are read
	maxSearchDepth = 64     // folders below the first
)

// boundedFS is where a pattern is searched for. Links may lead back to where they
// came from, and two that do double the folders at every step. So a folder that is
// read within itself is empty: the search found all of it on the shorter way. The
// whole search is bounded.
type boundedFS struct {
	fsys  fs.FS
	root  string            // on disk; empty where fsys is no disk
	reals map[string]string // of folders, by the name they were reached by
	seen  int
	fail  error
}

// Open opens a file of the folder.
func (b *boundedFS) Open(name string) (fs.File, error) { return b.fsys.Open(name) }

// Stat follows links as os.Stat does.
func (b *boundedFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(b.fsys, name) }

// ReadDir lists a folder, until a bound is reached.
func (b *boundedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if b.fail == nil && strings.Count(name, "/") >= maxSearchDepth {
		b.fail = fmt.Errorf(
			"the search goes more than %d folders deep; look for links that lead back, or name a narrower pattern", maxSearchDepth)
	}
	if b.fail != nil {
		return nil, b.fail
	}
	if b.leadsBack(name) {
		return nil, nil
	}
	list, err := fs.ReadDir(b.fsys, name)
	if b.seen += len(list); b.seen > maxSearched && b.fail == nil {
		b.fail = fmt.Errorf(
			"the search meets more than %d files and folders; look for links that lead back, or name a narrower pattern", maxSearched)
		return nil, b.fail
	}
	return list, err
}

// leadsBack reports whether a folder is one of those that its own name leads
// through.
func (b *boundedFS) leadsBack(name string) bool {
	if b.root == "" || name == "." {
		return false
	}
	var above []string
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		above = append(above, b.resolveName(dir))
		if dir == "." {
			return slices.Contains(above, b.resolveName(name))
		}
	}
}

// resolveName returns the folder behind a name: what its parent is, and one step
// more.
func (b *boundedFS) resolveName(name string) string {
	if known, ok := b.reals[name]; ok {
		return known
	}
	full := b.root
	if name != "." {
		full = filepath.Join(b.resolveName(path.Dir(name)), path.Base(name))
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	}
	b.reals[name] = full
	return full
}
