package isolate

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// privateSize bounds each private folder, in what tmpfs reads. Pages of it are
// memory, and are given back when the program ends.
const privateSize = "size=1g,nr_inodes=200k,"

// buildTree puts together below Stage a root that holds the rules' paths, private
// folders, synthetic files and nothing else. PID 1 makes it the root.
func buildTree(p *Plan, rules []rule) error {
	if _, err := os.Stat(p.Dir); errors.Is(err, os.ErrNotExist) {
		return failAtStep(StepDir, err) // the tree would hold an empty one
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return failAtStep(StepMounts, fmt.Errorf("name the host: %w", err))
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failAtStep(StepMounts, fmt.Errorf("keep mounts to ourselves: %w", err))
	}
	// All copies are taken before the stage hides what is below it.
	copies := make([]int, len(rules))
	for i, r := range rules {
		fd, err := copyMount(p, r)
		if err != nil {
			return err
		}
		copies[i] = fd
	}
	if err := unix.Mount("vedette", Stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=16m,mode=0755"); err != nil {
		return failAtStep(StepMounts, fmt.Errorf("make a root: %w", err))
	}
	if err := p.furnishTree(rules); err != nil {
		return failAtStep(StepMounts, err)
	}
	for i, r := range rules {
		if err := attachMount(copies[i], r); err != nil {
			return failAtStep(StepMounts, err)
		}
		if err := checkOwner(r); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(Stage+p.Dir, 0o755); err != nil {
		return failAtStep(StepMounts, fmt.Errorf("make the working directory: %w", err))
	}
	return nil
}

// copyMount returns a detached mount of what a rule names.
func copyMount(p *Plan, r rule) (int, error) {
	if !r.write || isWithin(r.path, "/dev") {
		fd, err := cloneMount(r)
		return fd, failAtStep(StepMounts, err)
	}
	fd, err := mountWriteRoot(p, r)
	return fd, failAtStep(StepWriteRoot, err)
}

// mountWriteRoot returns a detached mount (as open_tree or fsmount give it) that
// is attached at root in the new tree. The system's paths are all still where
// they belong when it is called.
func mountWriteRoot(p *Plan, r rule) (fd int, err error) {
	if root, layered := p.Snapshot.Find(r.path); layered && r.dir {
		return mount.Detach(root)
	}
	return cloneMount(r)
}

// cloneMount returns a detached copy of the mounts at a rule's path, made read-only
// unless it may be written. Devices work below /dev alone.
func cloneMount(r rule) (int, error) {
	place, err := openRulePlace(r, "")
	if err != nil {
		return 0, fmt.Errorf("open a declared path: %w", err)
	}
	defer func() { _ = unix.Close(place) }()
	fd, err := unix.OpenTree(place, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return 0, fmt.Errorf("copy a mount: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !r.write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if !isWithin(r.path, "/dev") {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return 0, fmt.Errorf("protect a mount: %w", err)
	}
	return fd, nil
}

// openRulePlace opens what a rule names, as a place alone. A declared path is opened where it
// led at first, and a link that was planted since then fails. A program may change what lies
// in its write roots between two runs.
func openRulePlace(r rule, prefix string) (int, error) {
	if prefix != "" || r.real == "" {
		return unix.Open(prefix+r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	return unix.Openat2(unix.AT_FDCWD, r.real, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

// furnishTree makes what the tree holds besides the system's paths. These are folders for the
// program alone, the entries of /dev that lead to its own files, and files that name its user
// and no other. Binds come on top of them.
func (p *Plan) furnishTree(rules []rule) error {
	for _, dir := range p.privateFolders(rules) {
		if err := mountPrivate(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(Stage+"/proc", 0o555); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if err := makeTreeLinks(); err != nil {
		return fmt.Errorf("make a link: %w", err)
	}
	for path, content := range p.Files {
		to := Stage + path
		if err := os.MkdirAll(parentFolder(to), 0o755); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		if err := os.WriteFile(to, []byte(content), 0o644); err != nil { //nolint:gosec // it holds no secret
			return fmt.Errorf("make a file: %w", err)
		}
	}
	return nil
}

// makeTreeLinks makes the links that every tree has.
func makeTreeLinks() error {
	links := map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	}
	for _, path := range mergedPaths {
		if to, linked := mergedLink(path); linked {
			links[path] = strings.TrimPrefix(to, "/")
		}
	}
	for path, to := range links {
		if err := os.Symlink(to, Stage+path); err != nil {
			return err
		}
	}
	return nil
}

func mountPrivate(dir string) error {
	to := Stage + dir
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	mode := "mode=0700"
	if dir == "/tmp" || dir == "/dev/shm" {
		mode = "mode=1777"
	}
	if err := unix.Mount("private", to, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, privateSize+mode); err != nil {
		return fmt.Errorf("mount a private folder: %w", err)
	}
	return nil
}

// attachMount puts a mount where its path says, below the stage.
func attachMount(fd int, r rule) error {
	to := Stage + r.path
	if err := makeMountPlace(to, r.dir); err != nil {
		return fmt.Errorf("make a place for a mount: %w", err)
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach a mount: %w", err)
	}
	return unix.Close(fd)
}

func makeMountPlace(to string, dir bool) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(parentFolder(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// checkOwner finds a write root that root can't write to. Only root's own number is mapped, so
// files of others are as closed to it as to any stranger.
func checkOwner(r rule) error {
	if !r.write || os.Geteuid() != 0 || isWithin(r.path, "/dev") {
		return nil
	}
	if err := unix.Access(Stage+r.path, unix.W_OK); errors.Is(err, unix.EACCES) {
		return &Failed{Step: StepWriteRoot, Errno: unix.EACCES}
	}
	return nil
}

// landlockRules are the tree's paths for Landlock: what was taken from the system
// and what was made.
func (p *Plan) landlockRules(rules []rule) []rule {
	if !p.Tree {
		return rules
	}
	out := slices.Clone(rules)
	for _, dir := range p.privateFolders(rules) {
		out = append(out, rule{path: dir, write: true, dir: true, own: true})
	}
	for path := range p.Files {
		out = append(out, rule{path: path, own: true})
	}
	return out
}

// parentFolder returns the folder that a clean absolute path lies in. Package filepath is
// initialised too late to be used here.
func parentFolder(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 1)] }
