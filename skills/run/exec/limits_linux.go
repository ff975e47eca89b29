package exec

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// ownProcesses is what the sandbox itself uses of a user namespace's processes.
const ownProcesses = 32

// limitsFor returns the resource limits of one run. None is above what this
// process may have itself.
func (p *program) limitsFor(w way) []isolate.Limit {
	l := p.Limits
	cpu := l.cpuTime()
	out := []isolate.Limit{
		limitTo(unix.RLIMIT_CPU, int64((cpu+time.Second-1)/time.Second)),
		limitTo(unix.RLIMIT_FSIZE, cmp.Or(l.FileSize, defaultFileSize)),
		limitTo(unix.RLIMIT_NOFILE, cmp.Or(l.OpenFiles, defaultOpenFiles)),
	}
	if l.AddressSpace > 0 {
		out = append(out, limitTo(unix.RLIMIT_AS, l.AddressSpace))
	}
	// Outside a user namespace the kernel counts all processes of the user.
	switch {
	case w.spaces:
		out = append(out, limitTo(unix.RLIMIT_NPROC, cmp.Or(l.Processes, defaultProcesses)+ownProcesses))
	case l.Processes > 0:
		out = append(out, limitTo(unix.RLIMIT_NPROC, l.Processes))
	}
	return out
}

func limitTo(resource int, want int64) isolate.Limit {
	value := uint64(want) //nolint:gosec // it was checked to be positive
	var have unix.Rlimit
	if unix.Getrlimit(resource, &have) == nil {
		value = min(value, have.Max)
	}
	return isolate.Limit{Resource: resource, Value: value}
}
