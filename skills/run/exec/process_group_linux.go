package exec

import (
	"errors"
	osexec "os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func askOwnGroup(cmd *osexec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(cmd *osexec.Cmd) error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

// awaitExit returns when the program has ended but still has its number. What is left of its
// group can then be killed without hitting a stranger that got the number next.
func awaitExit(cmd *osexec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
