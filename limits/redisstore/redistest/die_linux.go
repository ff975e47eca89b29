package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent leaves no server behind where the test is killed.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
