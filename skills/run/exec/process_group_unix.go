//go:build unix && !linux

package exec

import (
	osexec "os/exec"
	"syscall"
)

func askOwnGroup(cmd *osexec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *osexec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func awaitExit(*osexec.Cmd) {}
