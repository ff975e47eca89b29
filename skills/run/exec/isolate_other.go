//go:build !linux

package exec

import (
	"fmt"
	"io"
	osexec "os/exec"
)

// MaybeChild does nothing on this system: there is no isolation to apply.
func MaybeChild() {}

func childReady() bool { return true }

// ways lists what to try, in order. There is nothing to try here.
func (p *program) ways() ([]way, error) {
	if p.Isolation == IsolationLandlock || p.Isolation == IsolationNamespaces {
		return nil, fmt.Errorf("isolation %q is not to be had on this system", p.Isolation)
	}
	return []way{{name: IsolationNone}}, nil
}

func (p *program) wrap(*osexec.Cmd, way) (started func() error, closers []io.Closer, err error) {
	return nil, nil, nil
}
