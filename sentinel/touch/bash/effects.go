package bash

import (
	paths "path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// addTreeEffect records an effect that only holds of a device or of a tree that
// matters.
func (fv *fileView) addTreeEffect(code string, f field) {
	k, _ := fv.findTree(f.text)
	if k == path.NoTree && !fv.isOnDevice(f) {
		return
	}
	switch {
	case slices.Contains(DangerCodes(), code):
		fv.addDanger(code)
	case slices.Contains(DoubtCodes(), code):
		fv.addDoubt(code)
	case slices.Contains(UnreadCodes(), code):
		fv.addUnread(code)
	default:
		fv.addChange(code)
	}
}

// removeTarget looks at one thing that is removed, with all below it or not.
func (fv *fileView) removeTarget(f field, all bool) {
	k, entries := fv.findTree(f.text)
	if w := findWindows(f.text); all && w != path.NoTree {
		k = w
	}
	if k != path.NoTree && (all || f.tree || entries && k != path.RootTree) {
		fv.addDanger(removalCode(k))
		return
	}
	if len(fv.made.remapped) > 0 {
		fv.addUnread(UnreadTarget)
	}
	if all && f.other != "" {
		if k, _ := fv.findTree(f.other); k != path.NoTree {
			fv.addDoubt(UnsetTree)
		}
	}
	if all && slices.ContainsFunc(fv.resolvePath(f.text), func(p string) bool { return backups[strings.TrimSuffix(p, "/*")] }) {
		fv.addDoubt(BackupLoss)
	}
	if !f.unknown || !all || !isUnsureTarget(f) {
		fv.doubtFedTarget(f)
	}
	switch {
	case !f.unknown || !all:
	case isUnsureTarget(f):
		fv.addDoubt(UnknownTarget)
	case f.bare != "" && !namesScratch(f.text):
		// Where X is empty, "$X/*" and "/$X" are the root, "$X/usr" is a
		// system's and "~/$X" a home.
		if k, _ := fv.findTree(strings.ReplaceAll(f.bare, "$entry", "")); k != path.NoTree {
			fv.addDoubt(UnsetTree)
		}
	}
}

// doubtFedTarget asks about what comes from a pipe, a loop or a search, unless it can
// only lie below the working folder, or in a folder for passing files.
func (fv *fileView) doubtFedTarget(f field) {
	if !f.fed || f.proc != nil || fv.isScratchPath(f) || disposable.MatchString(f.text) {
		return
	}
	fv.addUnread(UnreadTarget)
}

// disposable are the names of files that are made again by themselves.
var disposable = regexp.MustCompile(`(?i)/[*._a-z0-9-]*(\.(pyc|pyo|o|obj|class|tmp|temp|swp|swo|orig|rej|bak|old|gcda|gcno|pid)|~` +
	`|__pycache__|node_modules|\.ds_store|thumbs\.db|\.pytest_cache|\.mypy_cache|core\.\*)$`)

// scratchFolders are those where nothing is kept.
var scratchFolders = []string{"/tmp/", "/dev/shm/", "/var/tmp/"}

// isScratchPath reports whether all that a word may name lies below the working
// folder or in a folder for passing files.
func (fv *fileView) isScratchPath(f field) bool {
	if f.blank {
		return false
	}
	root := strings.TrimSuffix(orElse(fv.env.Root, path.UnknownFolder), "/") + "/"
	for _, p := range fv.resolvePath(f.text) {
		inside := strings.HasPrefix(p, root) && len(p) > len(root) || f.tree && p+"/" == root
		if !inside && !slices.ContainsFunc(scratchFolders, func(dir string) bool { return strings.HasPrefix(p, dir) && len(p) > len(dir) }) {
			return false
		}
	}
	return !strings.Contains(f.text, "$(") && !strings.HasPrefix(f.text, "$")
}

// findWindows says which of Windows' trees a word names.
func findWindows(text string) path.Tree {
	switch {
	case len(text) < 2 || text[1] != ':' && text[0] != '%':
		return path.NoTree
	case bareDrive.MatchString(text):
		return path.RootTree
	case wholeDrive.MatchString(text), wholeByName.MatchString(text):
		return path.SystemTree
	}
	return path.NoTree
}

func removalCode(k path.Tree) string {
	switch k {
	case path.RootTree:
		return RmRoot
	case path.HomeTree:
		return RmHome
	}
	return RmSystem
}

// isUnsureTarget reports whether nothing is known of what a word names: no folder on
// its way, no end of its name. A parameter is looked at where the function is
// called; a variable of the environment that is named after what is made again
// is believed.
func isUnsureTarget(f field) bool {
	if !f.unknown || positional.MatchString(f.text) || namesScratch(f.text) {
		return false
	}
	for c := range strings.SplitSeq(f.bare, "/") {
		if strings.Trim(c, ".*?[]$\\ ") != "" {
			return false
		}
	}
	return !strings.HasPrefix(f.bare, "/")
}

var (
	positional = regexp.MustCompile(`^\$[0-9@*]`)
	scratch    = regexp.MustCompile(`(?i)^\$(\w*_)?(build|dist|out|output|tmp|temp|tmpdir|tempdir|cache|coverage|artifacts?|staging|scratch` +
		`|builddir|outdir|work|workdir|test|tests|target)(_\w*)?(/|$)`)
	// wholeDrive is a drive, or what Windows can't be without on it. A POSIX
	// shell eats the backslashes.
	wholeDrive = regexp.MustCompile(`(?i)^[a-z]:[\\/]*(\*(\.\*)?|windows.*|users|program ?files.*|programdata)?$`)
	bareDrive  = regexp.MustCompile(`(?i)^[a-z]:[\\/]*(\*(\.\*)?)?$`)
	// wholeByName are the variables that hold a drive, or what Windows needs.
	wholeByName = regexp.MustCompile(`(?i)^%(systemroot|systemdrive|windir|userprofile|homedrive|programfiles|programdata` +
		`|allusersprofile)%[\\/]*(\*(\.\*)?)?$`)
	// backups are folders that hold nothing else.
	backups = toSet("/backup /backups /var/backups /mnt/backup /mnt/backups /srv/backup /srv/backups /data/backup /data/backups " +
		"/opt/backup /opt/backups")
)

func namesScratch(text string) bool { return len(text) < 256 && scratch.MatchString(text) }

// wipesProject reports whether something that is removed with all below it is
// the working tree, or the history of it.
func (fv *fileView) wipesProject(f field) bool {
	if fv.env.Root == "" && !slices.Contains(fv.resolvePath("."), path.UnknownFolder) {
		return false
	}
	root := orElse(strings.TrimSuffix(fv.env.Root, "/"), path.UnknownFolder)
	for _, p := range fv.resolvePath(f.text) {
		for {
			i := strings.LastIndexByte(p, '/')
			if i <= 0 || !path.IsEveryEntry(p[i+1:]) {
				break
			}
			p = p[:i]
		}
		if p == root || p != "/" && strings.HasPrefix(root, p+"/") || p == root+"/.git" {
			return true
		}
	}
	return false
}

// writeTarget looks at what is written over.
func (fv *fileView) writeTarget(name string, f field, access Access) {
	fv.dialSocket(f)
	if len(fv.made.remapped) > 0 {
		fv.addUnread(UnreadTarget)
	}
	switch {
	case name == "dd" || f.tree && !access.Has(Read):
		fv.writeDevice(f)
	case fv.isOnDevice(f):
		fv.addDanger(DeviceWrite)
	}
	if access == Write {
		fv.doubtFedTarget(f)
		if k, entries := fv.findTree(f.text); entries && k != path.NoTree { // each file in it
			fv.addDanger(removalCode(k))
		}
	}
}

// writeDevice looks for a device, or each file of a tree, that is overwritten.
func (fv *fileView) writeDevice(f field) {
	switch {
	case isUnsureTarget(f):
		fv.addDoubt(UnknownTarget)
	case fv.isOnDevice(f):
		fv.addDanger(DeviceWrite)
	case f.tree || f.text == "/": // of find's {}: each file below
		f.tree = true
		fv.removeTarget(f, true)
	}
}

// isOnDevice reports whether f is a device that holds data.
func (fv *fileView) isOnDevice(f field) bool {
	if !strings.Contains(f.text, "dev") && !strings.ContainsAny(f.text, "*?[~") && !strings.Contains(f.text, "Drive") && !fv.worksInDev() &&
		len(fv.made.links) == 0 {
		return false // it can't resolve to one: most arguments
	}
	return slices.ContainsFunc(fv.resolvePath(f.text), path.IsDevice)
}

// makeFileSystem is mkfs: it makes a file system over what is there. In a file
// that is named as one that is how disk images are made.
func (fv *fileView) makeFileSystem(f field) {
	file := !f.unknown && !f.glob && strings.ContainsAny(f.text, "./")
	if fv.mayBeDevice(f) || !file {
		fv.addDanger(MakeFS)
	}
}

func (fv *fileView) mayBeDevice(f field) bool {
	if f.unknown || f.glob || strings.ContainsAny(f.text, "=:") {
		return true
	}
	return slices.ContainsFunc(fv.resolvePath(f.text), func(p string) bool {
		r := fv.links.Follow(p)
		for _, dir := range []string{"/dev", "/proc", "/sys"} {
			if p == dir || r == dir || strings.HasPrefix(p, dir+"/") || strings.HasPrefix(r, dir+"/") {
				return true
			}
		}
		k, _ := path.FindTree(p, fv.env)
		return k != path.NoTree
	})
}

var octal = regexp.MustCompile(`^[0-7]{1,5}$`)

// opensToAll reports whether a mode lets everybody write, or the group do as the
// owner does.
func opensToAll(mode string) bool {
	if octal.MatchString(mode) {
		m := strings.TrimLeft(mode, "0")
		last := mode[len(mode)-1]
		return last&2 != 0 || len(m) == 3 && strings.HasPrefix(m, "77")
	}
	for part := range strings.SplitSeq(mode, ",") {
		who, what, ok := cutAny(part, "+=")
		if ok && strings.Contains(what, "w") && (who == "" || strings.ContainsAny(who, "ao")) {
			return true
		}
	}
	return false
}

// closesOwner reports whether a mode takes a right from the owner.
func closesOwner(mode string) bool {
	for part := range strings.SplitSeq(mode, ",") {
		if who, what, ok := strings.Cut(part, "-"); ok && strings.ContainsAny(what, "rx") && (who == "" || strings.ContainsAny(who, "au")) {
			return true
		}
	}
	return octal.MatchString(mode) && strings.HasPrefix(strings.TrimLeft(mode[max(0, len(mode)-3):], " "), "0") && len(mode) >= 3
}

// emptyFile records that a file is left with nothing in it: outside of the
// working folder that is as good as a removal.
func (fv *fileView) emptyFile(f field) {
	if fv.wipesProject(f) { // each file below
		fv.addDoubt(ProjectWipe)
	}
	if f.blank || f.text == "" || isHarmlessTarget(f.text) || fv.isScratchPath(f) {
		return
	}
	fv.addAccess(f, Delete)
	fv.removeTarget(f, false)
	if strings.ContainsAny(f.text, "*?") && !strings.HasSuffix(f.text, ".log") && !disposable.MatchString(f.text) {
		fv.doubtFedTarget(field{text: f.text, bare: f.bare, provenance: provenance{fed: true}}) // one after another
	}
}

func isHarmlessTarget(text string) bool {
	return strings.HasPrefix(text, "/dev/") || strings.HasPrefix(text, "&")
}

// returnsHome reports whether a home folder is only given to the one it is
// named after, the usual repair.
func (fv *fileView) returnsHome(owner string, f field, k path.Tree) bool {
	user, _, _ := cutAny(owner, ":.")
	for _, p := range fv.resolvePath(f.text) {
		if k != path.HomeTree || paths.Base(strings.TrimSuffix(p, "/*")) != user {
			return false
		}
	}
	return true
}

// namesCoreTree reports whether a word names a device or a tree that matters.
func (fv *fileView) namesCoreTree(f field) bool {
	if f.text == "" || strings.IndexByte("/~.", f.text[0]) < 0 {
		return false
	}
	if fv.isOnDevice(f) {
		return true
	}
	k, _ := fv.findTree(f.text)
	return k == path.RootTree || k == path.HomeTree || k == path.SystemTree
}

// overwriteFile records that a redirect or a tool writes over f.
func (fv *fileView) overwriteFile(f field) {
	fv.addAccess(f, Write)
	fv.writeTarget("", f, Write)
	if f.text == "/" { // each file below: nothing writes to a folder itself
		f.tree = true
		fv.removeTarget(f, true)
	}
}
