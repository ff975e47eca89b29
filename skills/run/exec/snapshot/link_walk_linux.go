package snapshot

import (
	"path"
	"strings"
)

// maxLinks is how many links a path may lead through, as the kernel has it.
const maxLinks = 40

// linkWalk follows the target of a new link through the root as it is without the
// program's changes. A new link on the way is a change of its own and is judged by itself.
type linkWalk struct {
	top     int    // the open root
	root    string // its path
	allowed []string
	at      []string // the folders on the way to where it is; none of them is a link
	rest    []string // the names that are still to go
	links   int
}

// leadsInside reports whether a link at rel stays in its root, or in an allowed folder. It
// follows links that were there before and stand on the way. The error is the file system's.
func leadsInside(top int, root, rel, target string, allowed []string) (bool, error) {
	w := &linkWalk{top: top, root: root, allowed: allowed}
	if folder := path.Dir(rel); folder != "." {
		w.at = strings.Split(folder, "/")
	}
	if in, ended := w.followTarget(target); ended {
		return in, nil
	}
	for len(w.rest) > 0 {
		name := w.rest[0]
		w.rest = w.rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(w.at) == 0 {
				return false, nil
			}
			w.at = w.at[:len(w.at)-1]
			continue
		}
		if in, ended, err := w.enterName(name); err != nil || ended {
			return in, err
		}
	}
	return true, nil
}

// followTarget goes on with a link's target. The result ended says that it leads out of the
// root, and in whether that is to an allowed folder.
func (w *linkWalk) followTarget(target string) (in, ended bool) {
	if w.links++; w.links > maxLinks {
		return false, true
	}
	names := strings.Split(target, "/")
	if !path.IsAbs(target) {
		w.rest = append(names, w.rest...)
		return false, false
	}
	whole := strings.Join(append(names, w.rest...), "/")
	if below, inRoot := strings.CutPrefix(path.Clean(target)+"/", strings.TrimSuffix(w.root, "/")+"/"); inRoot {
		w.at, w.rest = nil, append(strings.Split(below, "/"), w.rest...)
		return false, false
	}
	return staysInside(w.root, ".", whole, w.allowed), true
}

// enterName goes one name down, or to where a link of that name leads.
func (w *linkWalk) enterName(name string) (in, ended bool, err error) {
	folder, _, err := openParent(w.top, strings.Join(append(w.at[:len(w.at):len(w.at)], name), "/"))
	if err != nil { // the root has no such folder: only the program's own changes do
		w.at = append(w.at[:len(w.at):len(w.at)], name)
		return false, false, nil
	}
	defer closeDescriptor(folder)
	st, found, err := lookAtEntry(folder, name)
	if err != nil {
		return false, false, err
	}
	if !found || entryTypeOf(st) != Link {
		w.at = append(w.at[:len(w.at):len(w.at)], name)
		return false, false, nil
	}
	target, err := readTarget(folder, name)
	if err != nil {
		return false, false, err
	}
	in, ended = w.followTarget(target)
	return in, ended, nil
}
