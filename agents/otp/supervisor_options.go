package otp

import "time"

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
