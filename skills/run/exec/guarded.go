package exec

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// Guarded is a file or folder of Vedette's own that decides about agents.
type Guarded struct {
	// What names it in errors, such as "the database".
	What string
	// Path is absolute. It need not exist yet.
	Path string
	// Secret says that no program may read it either.
	Secret bool
}

// checkGuarded refuses declared paths that hold what is Vedette's own, or lie in it.
func checkGuarded(at string, p *program, guarded []Guarded) error {
	var errs []error
	check := func(key string, paths []string, write bool) {
		for i, path := range paths {
			for _, g := range guarded {
				fault := g.faultOfPath(p.real[path], write)
				if fault == "" {
					fault = g.faultOfLinks(p.real[path], write)
				}
				if fault != "" {
					errs = append(errs, &skills.PathError{Path: fmt.Sprintf("%s.%s[%d]", at, key, i), Msg: fault})
					break
				}
			}
		}
	}
	check("read", p.Read, false)
	check("write", p.Write, true)
	return errors.Join(errs...)
}

// faultOfPath says why a program may not have the folder or file that a declared path
// leads to. A program that may replace a link on the way to what is guarded decides
// what is used in its place.
func (g Guarded) faultOfPath(real string, write bool) string {
	own, err := filepath.Abs(g.Path)
	if real == "" || g.Path == "" || err != nil || !write && !g.Secret {
		return ""
	}
	const remedy = "; give the program a folder of its own"
	at := realPathOf(own)
	if isBelowFolder(real, at) || write && isLinkedFrom(real, own) {
		return "contains " + g.What + " (" + g.Path + ")" + remedy
	}
	if isBelowFolder(at, real) {
		return "lies in " + g.What + " (" + g.Path + ")" + remedy
	}
	return ""
}

// isLinkedFrom reports whether a folder or link on the way to path lies in root.
func isLinkedFrom(root, path string) bool {
	for parent := filepath.Dir(path); parent != path; path, parent = parent, filepath.Dir(parent) {
		if isBelowFolder(root, filepath.Join(realPathOf(parent), filepath.Base(path))) {
			return true
		}
	}
	return false
}

// realPathOf follows links as far as the path exists.
func realPathOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPathOf(parent), filepath.Base(path))
	}
	return path
}

// isBelowFolder reports whether a clean path is dir or lies in it.
func isBelowFolder(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
