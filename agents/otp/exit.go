package otp

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
)

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
