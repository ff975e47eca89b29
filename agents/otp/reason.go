package otp

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
)

// Kind is the class of an exit reason; it alone decides whether a Transient
// child is restarted. The zero Kind is KindCrash, so a reason that code forgot to
// fill in counts as a failure.
type Kind uint8

const (
	// KindCrash is a panic, a Goexit, a failing start or Stop(Crash(err)).
	KindCrash Kind = iota
	// KindNormal is a process that finished its work.
	KindNormal
	// KindShutdown is a process that was told to stop, or a supervisor that gave
	// up. It covers OTP's shutdown and {shutdown, Detail}.
	KindShutdown
	// KindKilled is a process that was ended from outside without Terminate:
	// BrutalKill, or a shutdown deadline that passed.
	KindKilled
)

// String returns OTP's word for the kind.
func (k Kind) String() string {
	switch k {
	case KindNormal:
		return "normal"
	case KindShutdown:
		return "shutdown"
	case KindKilled:
		return "killed"
	}
	return "crash"
}

// Reason is why a process ended. Detail is the *Exit or error of a crash, or
// the x of {shutdown, x}. Detail may hold what the process worked on: Reason's
// String and LogValue never print it, and neither should you.
type Reason struct {
	Kind   Kind
	Detail any
}

// Normal returns the reason of a process that finished.
func Normal() Reason { return Reason{Kind: KindNormal} }

// Shutdown returns the reason of an orderly stop; detail may be nil.
func Shutdown(detail any) Reason { return Reason{Kind: KindShutdown, Detail: detail} }

// Crash returns the reason of a failure that was noticed without a panic.
func Crash(err error) Reason { return Reason{Kind: KindCrash, Detail: err} }

// Failed reports whether a Transient child that ended this way is restarted.
func (r Reason) Failed() bool { return r.Kind == KindCrash || r.Kind == KindKilled }

// Err returns nil for a normal exit or a shutdown, the error of a crash, and
// ErrKilled for a killed process.
func (r Reason) Err() error {
	switch r.Kind {
	case KindNormal, KindShutdown:
		return nil
	case KindKilled:
		return ErrKilled
	}
	if err, ok := r.Detail.(error); ok && err != nil {
		return err
	}
	return errors.New("otp: process crashed without a reason")
}

// Stack returns where a panic happened, "" when the reason is no panic.
func (r Reason) Stack() (stack string) {
	defer func() { _ = recover() }() // the error's own Unwrap or As
	var e *Exit
	if err, ok := r.Detail.(error); ok && errors.As(err, &e) {
		return e.Stack()
	}
	return ""
}

// String returns the kind and the safe part of the detail: the text of runtime
// errors and of this package's errors, the bare type of anything else.
func (r Reason) String() string {
	if r.Detail == nil {
		return r.Kind.String()
	}
	return r.Kind.String() + " (" + safeText(r.Detail) + ")"
}

// LogValue makes slog print what String prints.
func (r Reason) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Exit is a recovered panic: its value and the stack where it happened. It is
// an error with a short text that never contains the value.
type Exit struct {
	Value any
	pcs   []uintptr
}

// Stack returns the panicking goroutine's functions and lines, innermost first.
// It is put into words only when asked for: a restart need not pay for it.
func (e *Exit) Stack() string {
	var b strings.Builder
	frames := runtime.CallersFrames(e.pcs)
	for more := len(e.pcs) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
	}
	return b.String()
}

// Error names the runtime error, or the type of the value that was panicked with.
func (e *Exit) Error() string {
	if _, nested := e.Value.(*Exit); nested { // perhaps itself
		return "panic: value of type *otp.Exit"
	}
	return "panic: " + safeText(e.Value)
}

// Unwrap returns the panic's value when it is an error, so errors.Is sees it.
func (e *Exit) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// LogValue keeps value and stack out of logs.
func (e *Exit) LogValue() slog.Value { return slog.StringValue(e.Error()) }

// newExit is called in the deferred function that recovered, while the
// panicking frames are still on the stack.
func newExit(value any) *Exit {
	if e, ok := value.(*Exit); ok {
		return e
	}
	var pcs [64]uintptr
	n := runtime.Callers(3, pcs[:]) // without Callers, newExit and the deferred function
	return &Exit{Value: value, pcs: append([]uintptr(nil), pcs[:n]...)}
}

// safeText describes a value without what it may carry. Runtime errors hold
// indexes and type names only; our own errors hold ids only. The value's own
// methods may panic: this runs in the supervisor.
func safeText(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("value of type %T", v)
		}
	}()
	if err, ok := v.(error); ok {
		var re runtime.Error
		var own *plainError
		var exit *Exit
		switch {
		case errors.As(err, &exit):
			return exit.Error()
		case errors.As(err, &own):
			return own.Error()
		case errors.As(err, &re):
			return re.Error()
		}
	}
	return fmt.Sprintf("value of type %T", v)
}

// plainError is an error whose text is a constant of this package.
type plainError struct{ text string }

func (e *plainError) Error() string { return e.text }

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
