package exec

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// explainFailure gives a step that failed its remedy. The last two steps are the
// program's own: no other way to isolate would help.
func explainFailure(f *isolate.Failed) error {
	if f.Step == isolate.StepDir || f.Step == isolate.StepProgram {
		if f.Step == isolate.StepDir {
			return fmt.Errorf("the program can't be started: go to its working directory: %w", f.Errno)
		}
		return fmt.Errorf("the program can't be started: %w", f.Errno)
	}
	if f.Step == isolate.StepStart && f.Text == "" {
		f.Text = "the child ended before it said why"
	}
	return &StepError{Step: f.Step.String(), Err: errors.New(f.Words()), Remedy: remedyForStep(f.Step, f.Errno), errno: f.Errno}
}

// cloneFailed is a child that couldn't be started in its namespaces.
func cloneFailed(errno syscall.Errno) error { return stepFailed(isolate.StepClone, errno) }

func stepFailed(s isolate.Step, errno syscall.Errno) error {
	return explainFailure(&isolate.Failed{Step: s, Errno: errno})
}

// remedyForStep says what to do about a step that failed.
func remedyForStep(s isolate.Step, errno syscall.Errno) string {
	if errno == unix.ELOOP {
		return "a link was put where a declared path leads; look who made it, remove it, or start Vedette again if it is meant"
	}
	switch s {
	case isolate.StepClone:
		if errno == unix.ENOSPC {
			return "raise user.max_user_namespaces"
		}
		return "let this user make user namespaces: the container's seccomp profile, user.max_user_namespaces or an AppArmor rule forbids it"
	case isolate.StepNetwork:
		if errno == unix.EPERM || errno == unix.EACCES {
			return "let this user rule a network namespace of its own: an AppArmor profile with userns and capability net_admin"
		}
		return "give the kernel a loopback device and IPv4 in a new network namespace, with netlink and packet sockets where a skill lists egress"
	case isolate.StepMounts:
		return "give Vedette an AppArmor profile with the userns rule, or set kernel.apparmor_restrict_unprivileged_userns to 0"
	case isolate.StepProc:
		return "this container masks /proc; run it with an unmasked /proc, or take /proc out of read"
	case isolate.StepWriteRoot:
		if errno == unix.EINVAL {
			return "put Vedette's state on a volume: an overlay's upper folder can't be on an overlay"
		}
		return "run Vedette as the owner of the write roots: for root no other user's files can be written in the sandbox"
	case isolate.StepLandlock:
		return "use Linux 5.13 or newer with Landlock among the security modules (lsm=landlock,...)"
	case isolate.StepSeccomp:
		return "use amd64 or arm64, and a kernel with seccomp filters"
	case isolate.StepLimits:
		return "lower the values under limits to what this process may have itself; limits.memory needs a delegated cgroup v2 (Delegate=yes)"
	}
	return "look for a filter or a limit of this process or container that refuses what a start needs"
}
