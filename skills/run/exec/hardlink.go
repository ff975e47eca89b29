package exec

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// How many files are looked through for hard links: of what is guarded, and of a declared path.
const (
	maxGuardedFiles  = 10_000
	maxDeclaredFiles = 500_000
)

// errFound and errMany end a walk.
var (
	errFound = errors.New("a hard link was found")
	errMany  = errors.New("there are too many files to look through")
)

// faultOfLinks says why a program may not have a path that holds another name of a guarded
// file. Files with one name, which nearly all are, cost one look each.
func (g Guarded) faultOfLinks(real string, write bool) string {
	own, err := filepath.Abs(g.Path)
	if real == "" || g.Path == "" || err != nil || !write && !g.Secret {
		return ""
	}
	linked := listLinked(realPathOf(own))
	if len(linked) == 0 {
		return ""
	}
	switch err := walkPlainFiles(real, maxDeclaredFiles, func(id fileID) error {
		if linked[id] {
			return errFound
		}
		return nil
	}); {
	case errors.Is(err, errFound):
		return "holds a hard link to " + g.What + " (" + g.Path + "); remove that link"
	case errors.Is(err, errMany):
		return "may hold a hard link to " + g.What + " (" + g.Path + "), which has several names; remove that link, or declare a smaller folder"
	}
	return ""
}

// listLinked returns the files at or below a path that have several names.
func listLinked(path string) map[fileID]bool {
	out := map[fileID]bool{}
	_ = walkPlainFiles(path, maxGuardedFiles, func(id fileID) error {
		if id.links > 1 {
			out[id] = true
		}
		return nil
	})
	return out
}

// walkPlainFiles hands on the plain files at or below a path. What can't be looked at is left
// out: the program can't have it either. The error is look's, or errMany.
func walkPlainFiles(path string, limit int, look func(fileID) error) error {
	n := 0
	return filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is left out
		}
		if n++; n > limit {
			return errMany
		}
		if !e.Type().IsRegular() {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		if id, known := identifyFile(info); known {
			return look(id)
		}
		return nil
	})
}
