package snapshot

import (
	"path"
	"slices"
	"strings"
)

// bareParts are the entries by which git knows a folder of any name as a repository, whose
// configuration it then follows.
var bareParts = []string{"HEAD", "config", "objects", "refs"}

// listBare returns the changes that make a folder a bare repository, or write what makes
// it one. It looks at the root with the changes in it: an earlier call may have made a part.
func (l *Layer) listBare(c *Changes) ([]Change, error) {
	type place struct {
		root   int
		folder string
	}
	known := map[place]bool{}
	var out []Change
	for _, one := range c.List {
		gone := one.Kind == Deleted || one.Kind == Touched || one.Kind == Attributes || one.Refused != ""
		if gone || !slices.Contains(bareParts, path.Base(one.Path)) || strings.HasSuffix(path.Dir(one.Path), ".git") {
			continue
		}
		at := place{one.Root, path.Dir(one.Path)}
		bare, looked := known[at]
		if !looked {
			var err error
			if bare, err = l.isBare(at.root, at.folder); err != nil {
				return nil, err
			}
			known[at] = bare
		}
		if bare {
			out = append(out, one)
		}
	}
	return out, nil
}

// isBare reports whether a folder has all parts of a repository.
func (l *Layer) isBare(root int, folder string) (bool, error) {
	upper, err := l.openUpper(root)
	if err != nil {
		return false, err
	}
	defer closeFD(upper)
	lower, err := l.openRoot(root)
	if err != nil {
		return false, err
	}
	defer closeFD(lower)
	for _, name := range bareParts {
		if !hasEntry(upper, lower, path.Join(folder, name)) {
			return false, nil
		}
	}
	return true, nil
}

// hasEntry reports whether there is something at a path, the changes included.
func hasEntry(upper, lower int, rel string) bool {
	for _, top := range []int{upper, lower} {
		folder, name, err := openParent(top, rel)
		if err != nil {
			continue
		}
		st, found, err := lookAt(folder, name)
		closeFD(folder)
		if err == nil && found {
			return !isWhiteout(st)
		}
	}
	return false
}
