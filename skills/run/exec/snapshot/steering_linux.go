package snapshot

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// How much is read of one configuration, in bytes, how many of them, and how many hooks of a
// folder. Where there are more configurations, all changes ask.
const (
	maxConfig  = 1 << 20
	maxConfigs = 500
	maxHooks   = 1000
)

// steering are the places of one root that a configuration or a link makes run later. Both
// were there before. The places are relative to the root.
type steering struct {
	files   map[string]bool
	folders map[string]bool
}

// holds reports whether a path is one of the places, or lies in one.
func (s *steering) holds(rel string) bool {
	if s.files[rel] {
		return true
	}
	for ; rel != "." && rel != "/"; rel = path.Dir(rel) {
		if s.folders[rel] {
			return true
		}
	}
	return s.folders["."]
}

// listSteered returns the changes to files that others run later because of a configuration or
// a link. The roots had both before. A changed one asks by itself.
func (e *examiner) listSteered() ([]Change, error) {
	var out []Change
	for i := range e.layer.meta.Roots {
		list := slices.DeleteFunc(slices.Clone(e.list), func(one Change) bool { return one.Root != i || !isWritten(one) })
		if len(list) == 0 {
			continue
		}
		s, err := e.findSteering(i, list)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if s.holds(one.Path) {
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// isWritten reports whether committing a change puts something at its path.
func isWritten(c Change) bool {
	return c.Kind != Deleted && c.Kind != Touched && c.Refused == "" && c.Type != Folder
}

// steerer finds the steering of one root.
type steerer struct {
	root string // its path
	top  int    // open
	out  *steering
	read map[string]bool // configurations
}

// findSteering looks in the folders on the way to changes, and above the root.
func (e *examiner) findSteering(root int, list []Change) (*steering, error) {
	top, err := e.layer.openRoot(root)
	if err != nil {
		return nil, err
	}
	defer closeDescriptor(top)
	s := &steerer{root: e.layer.meta.Roots[root].Path, top: top, out: &steering{files: map[string]bool{}, folders: map[string]bool{}}}
	s.read = map[string]bool{}
	folders := map[string]bool{}
	for _, one := range list {
		for _, f := range listParents(one.Path) {
			folders[f] = true
		}
	}
	for f := range folders {
		if err := e.ctx.Err(); err != nil {
			return nil, err
		}
		s.lookInFolder(f)
	}
	for above := s.root; above != "/"; {
		above = filepath.Dir(above)
		s.lookAtRepository(above)
	}
	return s.out, nil
}

// lookInFolder looks at one folder of the root for links with a name that runs later, and for a
// repository.
func (s *steerer) lookInFolder(rel string) {
	fd, err := openBeneath(s.top, rel, folderFlags)
	if err != nil {
		return // the root has no such folder
	}
	defer closeDescriptor(fd)
	s.lookAtLinks(fd, rel, func(name string) bool {
		return runsLater(Change{Kind: Created, Type: Link, Path: path.Join(rel, name)})
	})
	s.lookAtRepository(path.Join(s.root, rel))
}

// lookAtLinks takes down where links in a folder lead whose names are wanted.
func (s *steerer) lookAtLinks(fd int, rel string, wanted func(name string) bool) {
	names, err := listNames(fd, 1<<20)
	if err != nil {
		return
	}
	for _, name := range names {
		if !wanted(name) {
			continue
		}
		if st, found, err := lookAtEntry(fd, name); err == nil && found && entryTypeOf(st) == Link {
			if target, err := readTarget(fd, name); err == nil {
				s.addPlace(path.Join(s.root, rel), target, true)
			}
		}
	}
}

// addPlace takes down a place by a text that leads there from a folder.
func (s *steerer) addPlace(from, text string, folder bool) {
	if !path.IsAbs(text) {
		text = path.Join(from, text)
	}
	for _, real := range []string{path.Clean(text), followLinks(text)} {
		if rel, err := filepath.Rel(s.root, real); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			s.out.files[rel] = true
			s.out.folders[rel] = s.out.folders[rel] || folder
		}
	}
}

// followLinks returns where a path leads as far as it exists.
func followLinks(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	if parent := path.Dir(name); parent != name {
		return path.Join(followLinks(parent), path.Base(name))
	}
	return name
}

// lookAtRepository reads the configurations of the repositories in a folder, and looks at
// their hooks.
func (s *steerer) lookAtRepository(folder string) {
	s.readConfig(path.Join(folder, ".hg/hgrc"), folder)
	if text, found := readBeginning(path.Join(folder, "HEAD")); found && text != "" { // a bare one
		s.readConfig(path.Join(folder, "config"), folder)
		s.lookAtHooks(path.Join(folder, "hooks"))
	}
	at := path.Join(folder, ".git")
	if _, err := os.Lstat(at); err != nil {
		return
	}
	if text, found := readBeginning(at); found { // it leads to another folder
		if target, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir:"); ok {
			at = resolvePath(folder, strings.TrimSpace(target))
		}
	}
	common := at
	if text, found := readBeginning(path.Join(at, "commondir")); found {
		common = resolvePath(at, strings.TrimSpace(text))
	}
	for _, own := range []string{path.Join(common, "config"), path.Join(at, "config.worktree")} {
		s.addPlace("/", own, false)
		s.readConfig(own, folder)
	}
	for _, own := range []string{os.Getenv("HOME") + "/.gitconfig", os.Getenv("HOME") + "/.config/git/config", "/etc/gitconfig"} {
		s.readConfig(own, folder)
	}
	s.lookAtHooks(path.Join(common, "hooks"))
}

// lookAtHooks takes down where a folder of hooks leads that is a link, and each hook that is.
func (s *steerer) lookAtHooks(hooks string) {
	if target, err := os.Readlink(hooks); err == nil {
		s.addPlace(path.Dir(hooks), target, true)
	}
	if real, err := filepath.EvalSymlinks(hooks); err == nil {
		hooks = real
	}
	fd, err := unix.Open(hooks, folderFlags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	dir := os.NewFile(uintptr(fd), "hooks")
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(maxHooks)
	for _, name := range names {
		if target, err := os.Readlink(path.Join(hooks, name)); err == nil && !strings.HasSuffix(name, ".sample") {
			s.addPlace(hooks, target, false)
		}
	}
}

func resolvePath(from, text string) string {
	if path.IsAbs(text) {
		return path.Clean(text)
	}
	return path.Join(from, text)
}

// readBeginning returns the beginning of a plain file.
func readBeginning(name string) (string, bool) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return "", false
	}
	f := os.NewFile(uintptr(fd), "config")
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	return string(text), err == nil
}

// readConfig takes down what a configuration names. It is a folder where git looks for hooks,
// and for any setting that isn't plain the files that its words name. Relative paths count
// from the work tree and from the file's own folder, since settings differ in that.
func (s *steerer) readConfig(name, worktree string) {
	key := name + "\x00" + worktree
	if s.read[key] {
		return
	}
	text, found := readBeginning(name)
	if !found {
		return
	}
	if s.read[key] = true; len(s.read) > maxConfigs {
		s.out.folders["."] = true
		return
	}
	for _, one := range listSettings(text) {
		words, folder := one.listPlaces()
		for _, word := range words {
			if rest, home := strings.CutPrefix(word, "~/"); home {
				word = path.Join(os.Getenv("HOME"), rest)
			}
			for _, from := range []string{worktree, path.Dir(name)} {
				s.addPlace(from, word, folder)
			}
			if one.includesFile() {
				s.readConfig(resolvePath(path.Dir(name), word), worktree)
			}
		}
	}
}
