package otp

import "fmt"

// plainError is an error whose text is a constant of this package.
type plainError struct{ text string }

func (e *plainError) Error() string { return e.text }

// newPlainError returns an error whose text safeText may show.
func newPlainError(text string) error { return &plainError{text: "otp: " + text} }

// Errors of this package, for errors.Is.
var (
	// ErrNoProcess answers a Call, request or monitor to a process that is dead.
	ErrNoProcess = newPlainError("no such process")
	// ErrTimeout answers a Call or request whose deadline passed first.
	ErrTimeout = newPlainError("no answer before the deadline")
	// ErrNoDeadline refuses a Call whose context has no deadline.
	ErrNoDeadline = newPlainError("a call needs a context with a deadline")
	// ErrNoReply answers a Call that Handle neither answered nor took From of.
	ErrNoReply = newPlainError("the server handled the call without a reply")
	// ErrCallSelf refuses a server's Call to itself, which could never be answered.
	ErrCallSelf = newPlainError("a server cannot call itself")
	// ErrIgnore, returned from Init, means "not wanted": nothing runs, and it is no failure.
	ErrIgnore = newPlainError("ignored")
	// ErrStartTimeout is a child whose Init did not return in StartTimeout.
	ErrStartTimeout = newPlainError("start deadline passed")
	// ErrKilled is the Err of KindKilled.
	ErrKilled = newPlainError("killed")
	// ErrGoexit is a callback or task that ended its goroutine by runtime.Goexit.
	ErrGoexit = newPlainError("runtime.Goexit was called")
	// ErrTaskTimeout is a task that ran longer than its timeout.
	ErrTaskTimeout = newPlainError("task timed out")
	// ErrTaskCancelled is a task that was cancelled by CancelTask.
	ErrTaskCancelled = newPlainError("task cancelled")
	// ErrMaxRestarts is the Detail of a supervisor that gave up.
	ErrMaxRestarts = newPlainError("too many restarts")
	// ErrAutoShutdown is the Detail of a supervisor that ended with its significant children.
	ErrAutoShutdown = newPlainError("significant children ended")
	// ErrMaxChildren refuses a start beyond MaxChildren.
	ErrMaxChildren = newPlainError("max_children reached")
	// ErrDuplicate refuses a child id that the supervisor already has.
	ErrDuplicate = newPlainError("child id already present")
	// ErrNoChild is a child id or PID that the supervisor does not have.
	ErrNoChild = newPlainError("no such child")
	// ErrRunning refuses DeleteChild and RestartChild for a child that is alive or being restarted.
	ErrRunning = newPlainError("child is running or restarting")
	// ErrStopping answers requests to a supervisor or system that is stopping.
	ErrStopping = newPlainError("stopping")
	// ErrNotSupervisor answers supervisor requests to a worker.
	ErrNotSupervisor = newPlainError("process is not a supervisor")
	// ErrNotServer answers calls to a supervisor.
	ErrNotServer = newPlainError("process is a supervisor and handles no messages")
	// ErrNameTaken fails the start of a child whose Name is registered already.
	ErrNameTaken = newPlainError("name already registered")
	// ErrBadSpec is a child spec or option that cannot work; the text says which.
	ErrBadSpec = newPlainError("bad child spec")
	// ErrUnstopped is returned by System.Stop when something still runs; the text has the counts.
	ErrUnstopped = newPlainError("goroutines still running")
)

// DownError answers a Call whose process ended before it replied. It matches
// ErrNoProcess.
type DownError struct {
	PID    PID
	Reason Reason
}

// Error names the process and the safe text of its reason.
func (e *DownError) Error() string {
	return fmt.Sprintf("otp: process %s is down: %s", e.PID, e.Reason)
}

// Is reports true for ErrNoProcess.
func (e *DownError) Is(target error) bool { return target == ErrNoProcess }

// Unwrap returns the reason's error, nil after a normal exit or shutdown.
func (e *DownError) Unwrap() error { return e.Reason.Err() }
