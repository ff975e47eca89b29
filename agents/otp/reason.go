package otp

import (
	"errors"
	"log/slog"
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

// Err returns the error of a crash, ErrKilled for a killed process, and nil otherwise.
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

// String returns the kind and the safe part of the detail. That is the text of runtime
// errors and of this package's errors, and the bare type of anything else.
func (r Reason) String() string {
	if r.Detail == nil {
		return r.Kind.String()
	}
	return r.Kind.String() + " (" + safeText(r.Detail) + ")"
}

// LogValue makes slog print what String prints.
func (r Reason) LogValue() slog.Value { return slog.StringValue(r.String()) }

// briefText returns what String does, and for a panic what kind of value it had.
func (r Reason) briefText() string {
	if e, ok := r.Detail.(*Exit); ok {
		return r.Kind.String() + " (" + e.Error() + ")"
	}
	return r.String()
}
