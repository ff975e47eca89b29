package exec

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// groupPrefix begins the name of each cgroup that a run gets.
const groupPrefix = "vedette-exec-"

// group is the cgroup (v2) of one run. Its processes start in it.
type group struct {
	path   string
	folder *os.File
	pids   bool // it bounds the number of processes
}

// holdsProcesses reports whether the group bounds the number of processes.
func (g *group) holdsProcesses() bool { return g != nil && g.pids }

// newGroup makes a cgroup where rlimits can't give what is wanted: a limit on the
// memory of all processes together, and one on the number of root's processes, which
// every grade but none has. Without memory it does what it can; a limit on memory that
// can't be had fails.
func (l limits) newGroup(w way) (*group, error) {
	if !w.landlock || l.Memory == 0 && os.Geteuid() != 0 {
		return nil, nil
	}
	err := error(unix.ENOENT)
	for _, parent := range groupParents() {
		var g *group
		if g, err = l.newGroupIn(parent); err == nil {
			return g, nil
		}
	}
	if l.Memory == 0 {
		return nil, nil
	}
	var errno syscall.Errno
	_ = errors.As(err, &errno)
	failed := &isolate.Failed{Step: isolate.StepLimits, Errno: errno, Text: "no cgroup v2 with a limit on memory can be made"}
	return nil, explainFailure(failed)
}

// newGroupIn makes a cgroup in a parent and sets its limits.
func (l limits) newGroupIn(parent string) (*group, error) {
	path, err := os.MkdirTemp(parent, groupPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	g := &group{path: path}
	// A parent that has the controllers already refuses this at times.
	_ = writeControl(parent, "cgroup.subtree_control", "+memory +pids")
	if l.Memory > 0 {
		if err := writeControl(path, "memory.max", strconv.FormatInt(l.Memory, 10)); err != nil {
			g.remove()
			return nil, err
		}
		_ = writeControl(path, "memory.swap.max", "0")
		_ = writeControl(path, "memory.oom.group", "1")
	}
	if l.Processes > 0 || os.Geteuid() == 0 {
		err := writeControl(path, "pids.max", strconv.FormatInt(cmp.Or(l.Processes, defaultProcesses)+ownProcesses, 10))
		if g.pids = err == nil; err != nil && l.Memory == 0 && l.Processes == 0 {
			g.remove()
			return nil, err // there is no other use for it
		}
	}
	if g.folder, err = os.Open(path); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// writeControl writes to a control file, which must be there.
func writeControl(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// remove kills what is left in the group and removes it.
func (g *group) remove() {
	if g == nil {
		return
	}
	_ = writeControl(g.path, "cgroup.kill", "1")
	g.awaitEmpty()
	_ = unix.Rmdir(g.path)
	if g.folder != nil {
		_ = g.folder.Close()
	}
}

// emptyWithin bounds, in milliseconds, how long the kernel may take to end what
// was killed.
const emptyWithin = 2000

// awaitEmpty returns when no process is in the group. The kernel tells changes of
// cgroup.events by POLLPRI.
func (g *group) awaitEmpty() {
	f, err := os.Open(filepath.Join(g.path, "cgroup.events"))
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	for range 10 {
		b := make([]byte, 256)
		n, err := f.ReadAt(b, 0)
		if n == 0 && err != nil || strings.Contains(string(b[:n]), "populated 0") {
			return
		}
		wait := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}} //nolint:gosec // files have small numbers
		_, _ = unix.Poll(wait, emptyWithin/10)
	}
}

// groupParents are the cgroups below which this process may be able to make
// others: its parent first, since one that holds processes can't share out memory.
// Groups that a killed Vedette left behind are removed once.
var groupParents = sync.OnceValue(func() []string {
	mount, own := ownCgroup()
	if mount == "" {
		return nil
	}
	dirs := []string{filepath.Join(mount, filepath.Dir(own)), filepath.Join(mount, own)}
	dirs = slices.Compact(dirs)
	for _, dir := range dirs {
		removeAbandoned(dir)
	}
	return dirs
})

// ownCgroup returns where cgroup v2 is mounted, and this process's path in it.
func ownCgroup() (mount, own string) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if i := slices.Index(fields, "-"); i > 4 && i+1 < len(fields) && fields[i+1] == "cgroup2" {
			mount = fields[4]
		}
	}
	paths, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(paths)) {
		if path, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			return mount, path
		}
	}
	return "", ""
}

// removeAbandoned removes the groups of processes that are gone.
func removeAbandoned(parent string) {
	left, err := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range left {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(path), groupPrefix+"%d-", &pid); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			(&group{path: path}).remove()
		}
	}
}
