package otp

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// Restart says when a child that ended is started again.
type Restart uint8

const (
	// Permanent children are always restarted. It is the zero value, as in OTP.
	Permanent Restart = iota
	// Transient children are restarted unless they ended by normal or shutdown.
	Transient
	// Temporary children are never restarted and forgotten when they end. Use it
	// where a restart would repeat effects.
	Temporary
)

// String is permanent, transient or temporary.
func (r Restart) String() string {
	return [...]string{"permanent", "transient", "temporary"}[min(r, Temporary)]
}

// Type says whether a child is a worker or a supervisor.
type Type uint8

const (
	// Worker is a process with a Server.
	Worker Type = iota
	// Supervisor is a process made by SupervisorSpec or DynamicSupervisorSpec.
	Supervisor
)

// String is worker or supervisor.
func (t Type) String() string { return [...]string{"worker", "supervisor"}[min(t, Supervisor)] }

// Values of ChildSpec.Shutdown and StartTimeout beside plain durations.
const (
	// Infinity waits without limit.
	Infinity time.Duration = -1
	// BrutalKill ends the child at once: Terminate is not called.
	BrutalKill time.Duration = -2
)

// Defaults of ChildSpec and supervisor options.
const (
	defaultShutdown     = 5 * time.Second
	defaultStartTimeout = 30 * time.Second
	defaultMaxRestarts  = 3
	defaultPeriod       = 5 * time.Second
	maxIDBytes          = 200
)

// ChildSpec describes a child. It is copied when given; changing it later has no effect.
type ChildSpec struct {
	// ID names the child in its supervisor, in PIDs and in events: 1 to 200
	// bytes of printable UTF-8. Unique in a static supervisor, free otherwise.
	ID string
	// Start builds the state of one incarnation. It runs in the new process, so
	// a panic in it is a failed start and nothing more.
	Start func() Server
	// Name, when set, registers each incarnation for Whereis.
	Name string
	// Restart is Permanent when zero.
	Restart Restart
	// Shutdown is the time between the request to stop and the kill. Zero means
	// 5 s for a worker and Infinity for a supervisor.
	Shutdown time.Duration
	// StartTimeout bounds Init. Zero means 30 s for a worker and Infinity for a supervisor.
	StartTimeout time.Duration
	// Type is Worker when zero; the supervisor constructors set it.
	Type Type
	// Significant lets this child's end shut its supervisor down (AutoShutdown).
	// Refused for Permanent children.
	Significant bool
}

// validate returns what keeps the spec from working, an ErrBadSpec, or nil.
func (s *ChildSpec) validate() error {
	switch {
	case s.ID == "" || len(s.ID) > maxIDBytes || !isPrintable(s.ID):
		return fmt.Errorf("%w: ID must be 1 to %d bytes of printable text", ErrBadSpec, maxIDBytes)
	case len(s.Name) > maxIDBytes || !isPrintable(s.Name):
		return fmt.Errorf("%w: child %q: Name must be at most %d bytes of printable text", ErrBadSpec, s.ID, maxIDBytes)
	case s.Start == nil:
		return fmt.Errorf("%w: child %q: set Start", ErrBadSpec, s.ID)
	case s.Restart > Temporary || s.Type > Supervisor:
		return fmt.Errorf("%w: child %q: unknown Restart or Type", ErrBadSpec, s.ID)
	case s.Shutdown < BrutalKill || s.StartTimeout < Infinity:
		return fmt.Errorf("%w: child %q: negative Shutdown or StartTimeout", ErrBadSpec, s.ID)
	case s.Significant && s.Restart == Permanent:
		return fmt.Errorf("%w: child %q: a permanent child cannot be significant", ErrBadSpec, s.ID)
	}
	return nil
}

// isPrintable reports whether a text is valid UTF-8 of printable characters.
func isPrintable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// shutdownTime returns the time between the request to stop and the kill.
func (s *ChildSpec) shutdownTime() time.Duration { return s.orDefault(s.Shutdown, defaultShutdown) }

// startTimeout returns the time that Init has.
func (s *ChildSpec) startTimeout() time.Duration {
	return s.orDefault(s.StartTimeout, defaultStartTimeout)
}

// orDefault returns d or, where d is zero, the default of the child's type.
func (s *ChildSpec) orDefault(d, worker time.Duration) time.Duration {
	switch {
	case d != 0:
		return d
	case s.Type == Supervisor:
		return Infinity
	}
	return worker
}

// restartsAfter reports whether a child that ended so is started again: the table of R3.
func (s *ChildSpec) restartsAfter(r Reason) bool {
	switch s.Restart {
	case Permanent:
		return true
	case Transient:
		return r.Failed()
	}
	return false
}
