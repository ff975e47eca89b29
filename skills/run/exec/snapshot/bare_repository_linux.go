package snapshot

import (
	"path"
	"slices"
	"strings"
)

// bareParts are the entries by which git knows a folder of any name as a repository. Git then
// follows its configuration.
var bareParts = []string{"HEAD", "config", "objects", "refs"}

// listBareRepositories returns the changes that make a folder a bare repository, or write what makes
// it one. It looks at the root with the changes in it: an earlier call may have made a part.
func (e *examiner) listBareRepositories() ([]Change, error) {
	type place struct {
		root   int
		folder string
	}
	known := map[place]bool{}
	var out []Change
	for _, one := range e.list {
		gone := one.Kind == Deleted || one.Kind == Touched || one.Kind == Attributes || one.Refused != ""
		if gone || !slices.Contains(bareParts, path.Base(one.Path)) || strings.HasSuffix(path.Dir(one.Path), ".git") {
			continue
		}
		at := place{one.Root, path.Dir(one.Path)}
		bare, looked := known[at]
		if !looked {
			var err error
			if bare, err = e.isBareRepository(at.root, at.folder); err != nil {
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

// isBareRepository reports whether a folder has all parts of a repository.
func (e *examiner) isBareRepository(root int, folder string) (bool, error) {
	upper, err := e.layer.openUpper(root)
	if err != nil {
		return false, err
	}
	defer closeDescriptor(upper)
	lower, err := e.layer.openRoot(root)
	if err != nil {
		return false, err
	}
	defer closeDescriptor(lower)
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
		st, found, err := lookAtEntry(folder, name)
		closeDescriptor(folder)
		if err == nil && found {
			return !isWhiteout(st)
		}
	}
	return false
}
