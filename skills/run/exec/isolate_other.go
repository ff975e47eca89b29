//go:build !linux

package exec

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"syscall"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

// MaybeChild does nothing on this system: there is no isolation to apply.
func MaybeChild() {}

func isChildReady() bool { return true }

// way is one way to isolate.
type way struct {
	grade  string
	spaces bool
	layer  *snapshot.Layer
}

// listWays lists what to try, in order. There is nothing to try here.
func (p *program) listWays() ([]way, error) {
	if p.Isolation != IsolationNone {
		return nil, &StepError{Step: "landlock", Err: fmt.Errorf("isolation %q is not to be had on this system", p.Isolation),
			Remedy: "run Vedette on Linux, or trust the program and set isolation to none"}
	}
	return []way{{grade: GradeNone}}, nil
}

// child is the isolated side of a running program; there is none here.
type child struct{}

func (c *child) close() {}

func (c *child) firstPID() int { return 0 }

func (p *program) wrapCommand(*osexec.Cmd, way) (*child, error) { return &child{}, nil }

func (r *running) awaitStart(context.Context, way) error { return nil }

func (r *running) awaitNamespaceEnd() {}

func (w way) boundsProcesses(limits) bool { return false }

func cloneFailed(errno syscall.Errno) error { return fmt.Errorf("%w: %w", errIsolation, errno) }

func closeListeners(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
