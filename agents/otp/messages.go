package otp

// Messages between the package's own parts. Users' messages always travel in
// cast or call: Proto.Actor gives meaning to some types and to nil.
type (
	cast       struct{ msg any }
	timerFired struct {
		ref Ref
		msg any
	}
	taskDone    struct{ TaskResult }
	downMsg     struct{ Down }
	replyMsg    struct{ Reply }
	childReady  struct{ p *proc }
	childGone   struct{ p *proc }
	stopTree    struct{ reason Reason }
	stopExpired struct{ procs []*proc }
	startLate   struct{ p *proc }
	retryChild  struct {
		k   *child
		try uint64
	}
)
