package otp

import (
	"fmt"
	"math/rand/v2"
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
	DefaultShutdown     = 5 * time.Second
	DefaultStartTimeout = 30 * time.Second
	DefaultMaxRestarts  = 3
	DefaultPeriod       = 5 * time.Second
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

func (s *ChildSpec) shutdownTime() time.Duration { return s.orDefault(s.Shutdown, DefaultShutdown) }

func (s *ChildSpec) startTimeout() time.Duration {
	return s.orDefault(s.StartTimeout, DefaultStartTimeout)
}

func (s *ChildSpec) orDefault(d, worker time.Duration) time.Duration {
	switch {
	case d != 0:
		return d
	case s.Type == Supervisor:
		return Infinity
	}
	return worker
}

// restartsAfter is the table of R3.
func (s *ChildSpec) restartsAfter(r Reason) bool {
	switch s.Restart {
	case Permanent:
		return true
	case Transient:
		return r.Failed()
	}
	return false
}

// Strategy says which siblings share a failing child's restart.
type Strategy uint8

const (
	// OneForOne restarts the failed child alone.
	OneForOne Strategy = iota
	// OneForAll stops and starts all children.
	OneForAll
	// RestForOne stops and starts the failed child and those after it.
	RestForOne
)

// AutoShutdown says whether the end of significant children ends the supervisor.
type AutoShutdown uint8

const (
	// AutoShutdownNever is the default; significant children are refused.
	AutoShutdownNever AutoShutdown = iota
	// AutoShutdownAny stops the supervisor when one significant child ended and is not restarted.
	AutoShutdownAny
	// AutoShutdownAll stops it when all significant children ended.
	AutoShutdownAll
)

// Backoff delays restarts. The zero value is no delay, as in OTP. The n-th
// restart inside Period waits a random time up to Base doubled n-1 times, at
// most Cap (full jitter).
type Backoff struct {
	Base time.Duration
	// Cap is Base*64 when zero.
	Cap time.Duration
	// Jitter returns a duration in [0, limit]. Nil means random; tests set it.
	Jitter func(limit time.Duration) time.Duration
}

func (b Backoff) drawDelay(nth int) time.Duration {
	if b.Base <= 0 {
		return 0
	}
	top := b.Cap
	if top <= 0 {
		top = b.Base << 6
	}
	limit := top
	if shift := max(nth-1, 0); shift < 32 && b.Base<<shift > 0 {
		limit = min(top, b.Base<<shift)
	}
	if b.Jitter != nil {
		return min(max(b.Jitter(limit), 0), limit)
	}
	return rand.N(limit + 1)
}

// SupervisorOptions configure a supervisor with a listed, ordered set of children.
type SupervisorOptions struct {
	Strategy Strategy
	// MaxRestarts in Period are granted, counted for the supervisor, not per
	// child; one more and it gives up. Zero means 3, negative means none.
	MaxRestarts int
	// Period is 5 s when zero.
	Period       time.Duration
	AutoShutdown AutoShutdown
	Backoff      Backoff
	// Children start in this order and stop in reverse.
	Children []ChildSpec
}

// DynamicSupervisorOptions configure a supervisor whose children come by
// StartChild, in any number, with one_for_one restarts.
type DynamicSupervisorOptions struct {
	// MaxChildren counts children that run, start, stop or await a restart.
	// Zero means no limit.
	MaxChildren int
	// MaxRestarts and Period are as in SupervisorOptions.
	MaxRestarts int
	Period      time.Duration
	Backoff     Backoff
}

// SupervisorSpec returns the child spec of a supervisor. It is Permanent;
// change the fields of the returned spec for anything else. Bad options fail
// the supervisor's start.
func SupervisorSpec(id string, o SupervisorOptions) ChildSpec {
	o.Children = append([]ChildSpec(nil), o.Children...)
	return ChildSpec{ID: id, Type: Supervisor, Start: func() Server { return &staticSupervisor{opts: o} }}
}

// DynamicSupervisorSpec returns the child spec of a dynamic supervisor, Permanent.
func DynamicSupervisorSpec(id string, o DynamicSupervisorOptions) ChildSpec {
	return ChildSpec{ID: id, Type: Supervisor, Start: func() Server { return &dynamicSupervisor{opts: o} }}
}

// intensity grants limit restarts in any window of period; now-then <= period counts.
type intensity struct {
	limit  int
	period time.Duration
	times  []time.Time
}

func newIntensity(limit int, period time.Duration) intensity {
	switch {
	case limit == 0:
		limit = DefaultMaxRestarts
	case limit < 0:
		limit = 0
	}
	if period <= 0 {
		period = DefaultPeriod
	}
	return intensity{limit: limit, period: period}
}

// grantRestart enters one restart and reports whether it is still granted. Where the
// clock was set back, earlier restarts count as of now: they neither vanish nor
// stay for longer than a period.
func (in *intensity) grantRestart(now time.Time) bool {
	kept := in.times[:0]
	for _, t := range in.times {
		if t.After(now) {
			t = now
		}
		if now.Sub(t) <= in.period {
			kept = append(kept, t)
		}
	}
	kept = append(kept, now)
	in.times = kept
	return len(in.times) <= in.limit
}
