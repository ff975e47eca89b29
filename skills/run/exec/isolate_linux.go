package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"sync/atomic"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// childName is argv[0] of this binary when it is started to isolate itself and
// become the program.
const childName = "vedette-exec-child"

// mayHaveChild is set once, by MaybeChild. It is the one fact about the whole
// process that New must know: a binary that lacks the call would run its own
// main again in place of the program.
var mayHaveChild atomic.Bool

func childReady() bool { return mayHaveChild.Load() }

// MaybeChild makes this process the isolated program where it was started as
// one, and then doesn't return. Otherwise it returns at once. Call it first in
// main, and in TestMain of tests that run isolated programs.
func MaybeChild() {
	if len(os.Args) == 1 && os.Args[0] == childName {
		becomeProgram()
		os.Exit(childFailed)
	}
	mayHaveChild.Store(true)
}

// plan is what the child is told, over a pipe so that its environment and its
// arguments stay clean.
type plan struct {
	Path        string
	Argv, Env   []string
	Dir         string
	Read, Write []string
	Landlock    bool
	Mounts      bool
	Network     bool
}

// landlockABI returns the version that the kernel has, 0 for none.
func landlockABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// firstABIWithTCP is the Landlock version that can refuse TCP.
const firstABIWithTCP = 4

// ways lists what to try, the best first. A start costs a process, and what a
// system lacks it lacks for every run, but asking is the one reliable probe.
func (p *program) ways() ([]way, error) {
	both := way{name: "landlock+namespaces", landlock: true, spaces: true}
	alone := way{name: IsolationLandlock, landlock: true}
	mounts := way{name: IsolationNamespaces, spaces: true, mounts: true}
	abi := landlockABI()
	switch p.Isolation {
	case IsolationNone:
		return []way{{name: IsolationNone}}, nil
	case IsolationNamespaces:
		return []way{mounts}, nil
	case IsolationLandlock:
		switch {
		case abi == 0:
			return nil, errors.New("isolation \"landlock\" is not to be had on this system")
		case abi < firstABIWithTCP && !p.Network:
			return []way{both}, nil
		}
		return []way{both, alone}, nil
	}
	if abi == 0 {
		return []way{mounts, {name: IsolationNone}}, nil
	}
	return []way{both, alone}, nil
}

// wrap turns cmd into one that starts this binary, which isolates itself as w
// says and becomes the program. started returns when that has happened.
func (p *program) wrap(cmd *osexec.Cmd, w way) (started func() error, closers []io.Closer, err error) {
	if !w.landlock && !w.mounts {
		return nil, nil, nil
	}
	raw, err := json.Marshal(plan{Path: p.path, Argv: cmd.Args, Env: cmd.Env, Dir: p.Dir, Read: p.Read, Write: p.Write,
		Landlock: w.landlock, Mounts: w.mounts, Network: p.Network})
	if err != nil {
		return nil, nil, err
	}
	order, err := sealed(raw)
	if err != nil {
		return nil, nil, err
	}
	report, tell, err := os.Pipe()
	if err != nil {
		_ = order.Close()
		return nil, nil, err
	}
	cmd.Path, cmd.Args, cmd.Env, cmd.Dir = "/proc/self/exe", []string{childName}, []string{}, "/"
	cmd.ExtraFiles = []*os.File{order, tell}
	if w.spaces {
		spaces(cmd, w, p.Network)
	}
	return func() error {
		_ = tell.Close() // the child's copy is the only one left
		return told(report)
	}, []io.Closer{order, tell, report}, nil
}

// spaces asks for namespaces of its own. The user namespace maps our own ids
// alone, and is what lets an ordinary user make the others.
func spaces(cmd *osexec.Cmd, w way, network bool) {
	a := cmd.SysProcAttr
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	if !network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if w.mounts {
		a.Cloneflags |= unix.CLONE_NEWNS
	}
	a.UidMappings, a.GidMappings = ownIDs()
}

// sealed returns a memory file with the plan, to be read from the start. It
// holds arguments, so it is on no disk.
func sealed(raw []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make the child's plan: %w", err)
	}
	f := os.NewFile(uintptr(fd), "plan")
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

// told reads the child's report: nothing if it became the program.
func told(report io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(report, 4096))
	if err != nil {
		return fmt.Errorf("%w: %w", errIsolation, err)
	}
	switch {
	case len(b) == 0 || b[0] != readyMark:
		return fmt.Errorf("%w: the child ended before it said why", errIsolation)
	case len(b) == 1:
		return nil
	case b[1] == programMark:
		return fmt.Errorf("the program can't be started: %s", b[2:])
	}
	return fmt.Errorf("%w: %s", errIsolation, b[2:])
}
