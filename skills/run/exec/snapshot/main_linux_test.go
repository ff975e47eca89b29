package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// childName is argv[0] of this binary where it is the child that mounts a layer and
// becomes a shell.
const childName = "snapshot-test-child"

func TestMain(m *testing.M) {
	if os.Args[0] == childName {
		fmt.Fprintln(os.Stderr, becomeShell())
		os.Exit(126)
	}
	os.Exit(m.Run())
}

// becomeShell mounts the layer named in the environment over its roots, and runs a script
// in the first.
func becomeShell() error {
	runtime.LockOSThread()
	layer, err := Load(os.Getenv("SNAPSHOT_STATE"), os.Getenv("SNAPSHOT_ID"))
	if err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	roots := layer.Mounts().Roots
	if os.Getenv("SNAPSHOT_NO_MOUNT") != "" { // a benchmark of the rest
		roots = nil
	}
	for _, r := range roots {
		fd, err := mount.Detach(r)
		if err != nil {
			return err
		}
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, r.Path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return err
		}
	}
	if err := unix.Chdir(layer.Roots()[0]); err != nil {
		return err
	}
	// As in the sandbox, the program itself has no capability.
	if err := dropAll(); err != nil {
		return err
	}
	if attr := os.Getenv("SNAPSHOT_ATTR"); attr != "" {
		path, name, _ := strings.Cut(attr, "=")
		if err := unix.Setxattr(path, name, []byte("y"), 0); err != nil {
			return err
		}
	}
	if state := os.Getenv("SNAPSHOT_OPEN"); state != "" {
		return openInside(state)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	return syscall.Exec("/bin/bash", []string{"bash", "-euo", "pipefail", "-c", os.Getenv("SNAPSHOT_SCRIPT")}, env)
}

// openInside tries to make a layer whose state is on an overlay, as in most containers, and
// prints what it is told.
func openInside(state string) error {
	_, err := Open(Options{State: state + "/state", Roots: []string{state + "/root"}})
	var st *StateError
	fmt.Println(errors.As(err, &st), err)
	os.Exit(0)
	return nil
}

func dropAll() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// runIn runs a bash script over the layer, in namespaces of its own, and returns what it prints.
func runIn(t testing.TB, l *Layer, script string, env ...string) string {
	t.Helper()
	cmd := childCommand(t, l, script, env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "the script said: %s", &stderr)
	return stdout.String()
}

// childCommand is what runs a bash script over the layer, in namespaces of its own.
func childCommand(t testing.TB, l *Layer, script string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Args = []string{childName}
	cmd.Env = slices.Concat(env, []string{"PATH=" + os.Getenv("PATH"),
		"SNAPSHOT_STATE=" + filepath.Dir(l.folder), "SNAPSHOT_ID=" + l.id, "SNAPSHOT_SCRIPT=" + script})
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_FSETID},
	}
	return cmd
}

// ordinary is a user without any right, as whom tests run besides root.
const ordinary = 65534

// asBoth runs a test as root and, in a process of its own, as an ordinary user. A test that
// isn't started by root runs as who it is. t is a test at the top.
func asBoth(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	if os.Geteuid() != 0 {
		body(t)
		return
	}
	t.Run("root", body)
	t.Run("ordinary", func(t *testing.T) {
		dir, err := os.MkdirTemp("", "snapshot") //nolint:usetesting // t.TempDir is closed to other users
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		require.NoError(t, os.Chown(dir, ordinary, ordinary))
		name, _, _ := strings.Cut(t.Name(), "/")
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+name+"$", "-test.v")
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: "+name+" ")
	})
}

// site says on which file systems root and state are.
type site struct{ root, state string }

// newSite makes a root and a state folder: on one file system, or the state on another.
func newSite(t testing.TB, apart bool) site {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := site{root: filepath.Join(root, "root"), state: filepath.Join(root, "state")}
	require.NoError(t, os.Mkdir(s.root, 0o755))
	if apart {
		s.state, err = os.MkdirTemp("/dev/shm", "snapshot") //nolint:usetesting // another file system
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(s.state)) })
		var a, b unix.Stat_t
		require.NoError(t, unix.Stat(s.state, &a))
		require.NoError(t, unix.Stat(s.root, &b))
		require.NotEqual(t, a.Dev, b.Dev, "the test needs two file systems: TMPDIR and /dev/shm")
	}
	t.Cleanup(func() { openAll(s.root); openAll(s.state) })
	return s
}

// openAll lets the test remove what a program closed.
func openAll(folder string) {
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && err != nil || e != nil && e.IsDir() && e.Type().Perm() == 0 {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}

func (s site) open(t testing.TB, more ...func(*Options)) *Layer {
	t.Helper()
	o := Options{State: s.state, Roots: []string{s.root}}
	for _, m := range more {
		m(&o)
	}
	l, err := Open(o)
	require.NoError(t, err)
	return l
}

// fillTree makes files of a root: a name that ends in "/" is a folder, a value that begins with
// "->" a link.
func fillTree(t testing.TB, root string, files map[string]string) {
	t.Helper()
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		path := filepath.Join(root, n)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		target, link := strings.CutPrefix(files[n], "->")
		switch {
		case strings.HasSuffix(n, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		case link:
			require.NoError(t, os.Symlink(target, path))
		default:
			require.NoError(t, os.WriteFile(path, []byte(files[n]), 0o644))
		}
	}
}

// dumpTree is a tree as text: types, permissions, contents, targets and kept attributes.
func dumpTree(t testing.TB, root string) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s", strconv.QuoteToASCII(rel), entryTypeOf(st))
		if entryTypeOf(st) == Link {
			target, err := os.Readlink(path)
			out = append(out, line+" -> "+target)
			return err
		}
		line += fmt.Sprintf(" %04o", st.Mode&0o7777)
		if entryTypeOf(st) == File {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", content)
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		names, err := listAttrs(int(f.Fd()))
		if names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "security.") }); len(names) > 0 {
			line += fmt.Sprintf(" %v", names)
		}
		out = append(out, line)
		return err
	}))
	return out
}

// showLines are changes as short text.
func showLines(list []Change) []string {
	var out []string
	for _, c := range list {
		line := fmt.Sprintf("%s %s %s", c.Kind, dashIfEmpty(string(c.Type)), c.Show())
		if c.Was != None && c.Was != c.Type {
			line += " was " + string(c.Was)
		}
		if c.Mode != c.WasMode && c.Kind != Deleted && c.Type != Link {
			line += fmt.Sprintf(" %04o", c.Mode)
		}
		for _, f := range []struct{ name, value string }{{"to", c.Target}, {"stripped", c.Stripped}, {"refused", string(c.Refused)}} {
			if f.value != "" {
				line += " " + f.name + " " + f.value
			}
		}
		if c.Lost > 0 {
			line += fmt.Sprintf(" lost %d", c.Lost)
		}
		if c.HardLinked {
			line += " hard-linked"
		}
		out = append(out, line)
	}
	return out
}

// runDirectly runs a script in a folder itself, as others do while a program runs.
func runDirectly(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// listChanges lists a layer.
func listChanges(t testing.TB, l *Layer) *Changes {
	t.Helper()
	c, err := l.Changes(t.Context())
	require.NoError(t, err)
	return c
}
