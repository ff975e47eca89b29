package exec

import (
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// limits bound what one run of a program may use. Zero means the default.
type limits struct {
	CPU          string `json:"cpu"`
	FileSize     int64  `json:"file_size"`
	OpenFiles    int64  `json:"open_files"`
	AddressSpace int64  `json:"address_space"`
	Processes    int64  `json:"processes"`
	Memory       int64  `json:"memory"`
}

// The defaults. There is none for the address space: node and Go reserve
// gigabytes that they never use.
const (
	defaultCPU       = 10 * time.Minute
	defaultFileSize  = 4 << 30
	defaultOpenFiles = 4096
	defaultProcesses = 1024
)

// The least that a program can start with.
const (
	leastFiles        = 16
	leastAddressSpace = 16 << 20
)

// cpuTimeOrDefault returns the limit on the processor time of one process.
func (l limits) cpuTimeOrDefault() time.Duration {
	if d, err := time.ParseDuration(l.CPU); err == nil && d > 0 {
		return d
	}
	return defaultCPU
}

// check returns the mistakes in the limits.
func (l limits) check(at, isolation string) error {
	var errs []error
	fail := func(key, msg string) { errs = append(errs, &skills.PathError{Path: at + "." + key, Msg: msg}) }
	if l != (limits{}) && isolation == IsolationNone {
		errs = append(errs, &skills.PathError{Path: at, Msg: "bind nothing where isolation is none; leave them out or isolate"})
	}
	if d, err := time.ParseDuration(l.CPU); l.CPU != "" && (err != nil || d < time.Second) {
		fail("cpu", "must be a time of at least 1s, such as 30s")
	}
	for _, n := range []struct {
		key          string
		value, least int64
	}{{"file_size", l.FileSize, 1}, {"open_files", l.OpenFiles, leastFiles}, {"address_space", l.AddressSpace, leastAddressSpace},
		{"processes", l.Processes, 1}, {"memory", l.Memory, leastAddressSpace}} {
		if n.value != 0 && n.value < n.least {
			fail(n.key, fmt.Sprintf("must be at least %d", n.least))
		}
	}
	return errors.Join(errs...)
}
