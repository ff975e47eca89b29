package exec

import (
	"fmt"
	"syscall"
)

// StepError is a step of the isolation that failed. The program did not run.
type StepError struct {
	// Step is one of clone, mounts, write root, network, proc, init, landlock,
	// privileges, seccomp, limits, start.
	Step string
	// Err is what the system said. It holds no value of a call.
	Err error
	// Remedy says what an operator can do about it.
	Remedy string

	errno syscall.Errno
}

// Error returns the step, what the system said, and the remedy.
func (e *StepError) Error() string {
	return fmt.Sprintf("the sandbox can't be set up, step %q: %v; %s", e.Step, e.Err, e.Remedy)
}

// Unwrap returns the system's error number where there is one. A StepError also
// matches the mark of a failure before the program itself was reached.
func (e *StepError) Unwrap() []error {
	if e.errno == 0 {
		return []error{errIsolation, e.Err}
	}
	return []error{errIsolation, e.Err, e.errno}
}
