package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

// mayHaveChild is set once, by MaybeChild. It is the one fact about the whole process that New
// must know. A binary that lacks the call would run its own main again in place of the
// program.
var mayHaveChild atomic.Bool

func isChildReady() bool { return mayHaveChild.Load() }

// MaybeChild makes this process the isolated program where it was started as
// one, and then doesn't return. Otherwise it returns at once. Call it first in
// main, and in TestMain of tests that run isolated programs.
func MaybeChild() {
	isolate.MaybeChild()
	mayHaveChild.Store(true)
}

// way is one way to isolate.
type way struct {
	grade    string
	landlock bool
	spaces   bool            // namespaces for processes, network and IPC
	tree     bool            // a file system of its own; needs spaces
	strict   bool            // a filter that stands in for namespaces
	layer    *snapshot.Layer // what the program writes to; nil: its write roots themselves
}

var (
	wayFull     = way{grade: GradeFull, landlock: true, spaces: true, tree: true}
	wayStrict   = way{grade: GradeStrict, landlock: true, strict: true}
	wayBoth     = way{grade: gradeBoth, landlock: true, spaces: true}
	wayLandlock = way{grade: GradeLandlock, landlock: true}
)

// listWays lists what to try, the best first. A start costs a process, and what a
// system lacks it lacks for every run, but asking is the one reliable probe.
func (p *program) listWays() ([]way, error) {
	abi := isolate.LandlockABI()
	switch {
	case p.Isolation == IsolationNone:
		return []way{{grade: GradeNone}}, nil
	case abi == 0:
		return nil, stepFailed(isolate.StepLandlock, unix.ENOSYS)
	}
	switch p.Isolation {
	case IsolationFull, IsolationNamespaces:
		return []way{wayFull}, nil
	case IsolationStrict:
		return []way{wayStrict}, nil
	case IsolationLandlock:
		if abi < isolate.FirstABIWithTCP && !p.Network {
			return []way{wayBoth}, nil
		}
		return []way{wayBoth, wayLandlock}, nil
	}
	if p.readsOnly && len(p.Write) == 0 && p.policy == nil {
		return []way{wayFull, wayStrict}, nil
	}
	return []way{wayFull}, nil
}

// child is the isolated side of a running program, as Vedette sees it.
type child struct {
	line  *os.File // to the child; nil without isolation
	order *os.File // the plan
	peer  *os.File // the child's end
	group *cgroup  // nil without limits that need one
	init  *os.File // PID 1's pidfd; nil until it came
}

// close lets go of what is still open.
func (c *child) close() {
	for _, f := range []*os.File{c.line, c.order, c.peer, c.init} {
		if f != nil {
			_ = f.Close()
		}
	}
	c.group.remove()
	*c = child{}
}

// wrapCommand turns cmd into one that starts this binary, which isolates itself
// as w says and becomes the program.
func (p *program) wrapCommand(cmd *osexec.Cmd, w way) (*child, error) {
	if !w.landlock {
		return &child{}, nil
	}
	plan, err := planner{p, w}.planRun(cmd)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	c := &child{}
	if c.order, err = writeSealed(raw); err != nil {
		return nil, err
	}
	if c.line, c.peer, err = openChildLine(); err != nil {
		c.close()
		return nil, err
	}
	cmd.Path, cmd.Args, cmd.Env, cmd.Dir = "/proc/self/exe", []string{isolate.ChildName}, []string{}, "/"
	cmd.ExtraFiles = []*os.File{c.order, c.peer}
	// A session of its own: no terminal to put input into, and a group.
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid = false, true
	if w.spaces {
		askNamespaces(cmd, w, plan)
	}
	if c.group, err = p.Limits.newCgroup(w); err != nil {
		c.close()
		return nil, err
	}
	if c.group != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(c.group.folder.Fd()) //nolint:gosec // files have small numbers
	}
	return c, nil
}

// askNamespaces asks for namespaces of its own. The user namespace maps our own ids
// alone, and is what lets an ordinary user make the others. Starting another
// binary takes an ordinary user's capabilities unless they are ambient.
func askNamespaces(cmd *osexec.Cmd, w way, plan isolate.Plan) {
	a := cmd.SysProcAttr
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWIPC
	if plan.OwnNet {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if w.tree {
		a.Cloneflags |= unix.CLONE_NEWNS | unix.CLONE_NEWUTS
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	if os.Geteuid() != 0 {
		a.AmbientCaps = isolate.SetupCaps(plan)
	}
}

// openChildLine returns the two ends of a socket that keeps messages apart.
func openChildLine() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a line to the child: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "line"), os.NewFile(uintptr(fds[1]), "line"), nil //nolint:gosec // files have small numbers
}

// writeSealed returns a memory file with the plan, to be read from the start. It
// holds arguments, so it is on no disk.
func writeSealed(raw []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make the child's plan: %w", err)
	}
	f := os.NewFile(uintptr(fd), "plan") //nolint:gosec // files have small numbers
	if _, err := f.Write(raw); err != nil {
		_ = f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// awaitStart reads the line until the program runs, or the child has said why it
// doesn't.
func (r *running) awaitStart(ctx context.Context, w way) error {
	if r.child.line == nil {
		return nil
	}
	_ = r.child.peer.Close() // the child's copy is the only one left
	ready := false
	for {
		m, more, err := isolate.Receive(int(r.child.line.Fd())) //nolint:gosec // files have small numbers
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", errIsolation, err)
		case !more && ready:
			return nil // it became the program, or was killed when that may have run
		case !more && ctx.Err() != nil:
			return ctx.Err()
		case !more:
			return stepFailed(isolate.StepStart, 0)
		case m.Failed != nil:
			return explainFailure(m.Failed)
		case m.Started:
			if m.NoProc {
				r.isolation = GradeFullNoProc
			}
			r.bounded = r.bounded && !m.NoBound || r.child.group.boundsProcesses()
			return nil
		}
		ready = ready || m.Ready
		r.keepInitFile(m)
		r.listeners = append(r.listeners, filesFromFDs(m.Listeners)...)
	}
}

func filesFromFDs(fds []int) (out []*os.File) {
	for _, fd := range fds {
		out = append(out, os.NewFile(uintptr(fd), "listener")) //nolint:gosec // files have small numbers
	}
	return out
}

// keepInitFile keeps PID 1's pidfd.
func (r *running) keepInitFile(m isolate.Message) {
	for _, fd := range m.Init {
		r.child.init = os.NewFile(uintptr(fd), "PID 1") //nolint:gosec // files have small numbers
	}
}

// firstPID returns the number of PID 1 as this process sees it. It is 0 where there is none,
// or it has ended.
func (c *child) firstPID() int {
	if c.init == nil {
		return 0
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", c.init.Fd()))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if value, found := strings.CutPrefix(line, "Pid:"); found {
			pid, _ := strconv.Atoi(strings.TrimSpace(value))
			return max(pid, 0)
		}
	}
	return 0
}

// awaitNamespaceEnd learns how the program ended. It returns once PID 1 and all others of its
// namespace have ended. Without PID 1 the child's own end is the program's.
func (r *running) awaitNamespaceEnd() {
	if r.child.line == nil || !r.spaces {
		return
	}
	for {
		m, more, err := isolate.Receive(int(r.child.line.Fd())) //nolint:gosec // files have small numbers
		if err != nil || !more {
			break
		}
		r.keepInitFile(m)
		closeListeners(filesFromFDs(m.Listeners))
		if m.Ended != nil {
			r.exit = m.Ended
		}
	}
	r.child.awaitInit()
}

// awaitInit returns when PID 1 has ended. The kernel says so when the last process of
// its namespace is gone, whatever killed it.
func (c *child) awaitInit() {
	if c.init == nil {
		return // it never began, or the kernel is older than 5.3
	}
	for {
		wait := []unix.PollFd{{Fd: int32(c.init.Fd()), Events: unix.POLLIN}} //nolint:gosec // files have small numbers
		if _, err := unix.Poll(wait, -1); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// closeListeners closes what nothing serves.
func closeListeners(files []*os.File) {
	for _, f := range slices.Clone(files) {
		_ = f.Close()
	}
}
