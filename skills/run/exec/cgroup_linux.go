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

// cgroupPrefix begins the name of each cgroup that a run gets.
const cgroupPrefix = "vedette-exec-"

// cgroup is the cgroup (v2) of one run. Its processes start in it.
type cgroup struct {
	path   string
	folder *os.File
	pids   bool // it bounds the number of processes
}

// boundsProcesses reports whether the group bounds the number of processes.
func (g *cgroup) boundsProcesses() bool { return g != nil && g.pids }

// newCgroup makes a cgroup where rlimits can't give what is wanted. That is a limit on the
// memory of all processes together, and one on the number of root's processes, which every
// grade but none has. Without memory it does what it can; a limit on memory that can't be had
// fails.
func (l limits) newCgroup(w way) (*cgroup, error) {
	if !w.landlock || l.Memory == 0 && os.Geteuid() != 0 {
		return nil, nil
	}
	err := error(unix.ENOENT)
	for _, parent := range cgroupParents() {
		var g *cgroup
		if g, err = l.newCgroupIn(parent); err == nil {
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

// newCgroupIn makes a cgroup in a parent and sets its limits.
func (l limits) newCgroupIn(parent string) (*cgroup, error) {
	path, err := os.MkdirTemp(parent, cgroupPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	g := &cgroup{path: path}
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
func (g *cgroup) remove() {
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
func (g *cgroup) awaitEmpty() {
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

// cgroupParents are the cgroups below which this process may be able to make others. Its
// parent comes first, since one that holds processes can't share out memory. Groups that a
// killed Vedette left behind are removed once.
var cgroupParents = sync.OnceValue(func() []string {
	mount, own := findOwnCgroup()
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

// findOwnCgroup returns where cgroup v2 is mounted, and this process's path in it.
func findOwnCgroup() (mount, own string) {
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
	left, err := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range left {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(path), cgroupPrefix+"%d-", &pid); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			(&cgroup{path: path}).remove()
		}
	}
}
