package isolate

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
)

// openListeners makes what listens inside the network namespace. Its files go to
// Vedette in the order returned, at most maxListeners of them.
func openListeners(p *Plan) (fds []int, err error) {
	if p.Egress == nil {
		return nil, nil
	}
	return listen.Open(*p.Egress)
}

// prepareNetwork raises the loopback of a network namespace that goes with a
// tree, and passes the listeners out.
func prepareNetwork(p *Plan) error {
	if !p.OwnNet || !p.Tree {
		return nil
	}
	if err := raiseLoopback(); err != nil {
		return failAtStep(StepNetwork, err)
	}
	fds, err := openListeners(p)
	if err != nil {
		return failAtStep(StepNetwork, err)
	}
	if len(fds) == 0 {
		return nil
	}
	return failAtStep(StepNetwork, sendListeners(fds))
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("raise the loopback: %w", err)
	}
	return nil
}
