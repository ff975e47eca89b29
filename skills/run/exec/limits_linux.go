package exec

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// ownProcesses is what the sandbox itself uses of a user namespace's processes.
const ownProcesses = 32

// listRlimits returns the resource limits of one run. None is above what this
// process may have itself.
func (l limits) listRlimits(w way) []isolate.Limit {
	cpu := l.cpuTimeOrDefault()
	out := []isolate.Limit{
		limitResource(unix.RLIMIT_CPU, int64((cpu+time.Second-1)/time.Second)),
		limitResource(unix.RLIMIT_FSIZE, cmp.Or(l.FileSize, defaultFileSize)),
		limitResource(unix.RLIMIT_NOFILE, cmp.Or(l.OpenFiles, defaultOpenFiles)),
	}
	if l.AddressSpace > 0 {
		out = append(out, limitResource(unix.RLIMIT_AS, l.AddressSpace))
	}
	// Outside a user namespace the kernel counts all processes of the user.
	switch {
	case w.spaces:
		out = append(out, limitResource(unix.RLIMIT_NPROC, cmp.Or(l.Processes, defaultProcesses)+ownProcesses))
	case l.Processes > 0:
		out = append(out, limitResource(unix.RLIMIT_NPROC, l.Processes))
	}
	return out
}

// keptNumbers are process numbers that the kernel gives out once alone.
const keptNumbers = 300

// boundNumbers returns the bound on process numbers, which stands in for the limit that
// the kernel doesn't apply to root. Before Linux 6.14 the setting is the whole
// system's and must not be touched.
func (l limits) boundNumbers(w way) int64 {
	if !w.spaces || os.Geteuid() != 0 || !isKernelSince(6, 14) {
		return 0
	}
	return cmp.Or(l.Processes, defaultProcesses) + ownProcesses + keptNumbers
}

// boundsProcesses reports whether something bounds the number of processes. For root it is
// the bound on process numbers, for others the limit of their user namespace.
func (w way) boundsProcesses(l limits) bool {
	return l.boundNumbers(w) > 0 || os.Geteuid() != 0 && (w.spaces || w.landlock && l.Processes > 0)
}

// isKernelSince reports whether the running kernel says that it is of a release or newer.
func isKernelSince(major, minor int) bool {
	var name unix.Utsname
	var have [2]int
	if unix.Uname(&name) != nil {
		return false
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &have[0], &have[1]); err != nil {
		return false
	}
	return have[0] > major || have[0] == major && have[1] >= minor
}

func limitResource(resource int, want int64) isolate.Limit {
	value := uint64(want) //nolint:gosec // it was checked to be positive
	var have unix.Rlimit
	if unix.Getrlimit(resource, &have) == nil {
		value = min(value, have.Max)
	}
	return isolate.Limit{Resource: resource, Value: value}
}
