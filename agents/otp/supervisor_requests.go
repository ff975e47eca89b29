package otp

import "context"

// supRequest marks what only supervisors answer.
type supRequest interface{ supRequest() }

type (
	startChild     struct{ spec ChildSpec }
	terminateChild struct {
		id  string
		pid PID
	}
	restartChild  struct{ id string }
	deleteChild   struct{ id string }
	whichChildren struct{}
	countChildren struct{}
)

func (startChild) supRequest()     {}
func (terminateChild) supRequest() {}
func (restartChild) supRequest()   {}
func (deleteChild) supRequest()    {}
func (whichChildren) supRequest()  {}
func (countChildren) supRequest()  {}

// ChildInfo is one child in WhichChildren. PID is zero when the child has no
// process; State is absent, starting, running, stopping or restarting.
type ChildInfo struct {
	ID      string
	PID     PID
	Type    Type
	Restart Restart
	State   string
}

// Counts is CountChildren's answer. Specs is all children, Active those with a process.
type Counts struct{ Specs, Active, Supervisors, Workers int }

// StartChild starts a child under sup and returns when its Init has. The context must
// have a deadline; a child that comes up after the caller gave up is stopped
// again. A static supervisor refuses an id it has (ErrDuplicate) and keeps the
// spec of a child it started; a dynamic one refuses more than MaxChildren
// (ErrMaxChildren). A failing Init is returned, not retried and not counted.
func StartChild(ctx context.Context, sup PID, spec ChildSpec) (PID, error) {
	v, err := Call(ctx, sup, startChild{spec})
	pid, _ := v.(PID)
	return pid, err
}

// TerminateChild stops the child with this PID and returns when it is gone. It
// cancels a pending restart of that child; the PID of an earlier incarnation
// serves as well. A static supervisor keeps the spec unless it is Temporary.
func TerminateChild(ctx context.Context, sup, pid PID) error {
	_, err := Call(ctx, sup, terminateChild{pid: pid})
	return err
}

// TerminateChildID is TerminateChild by id, for static supervisors.
func TerminateChildID(ctx context.Context, sup PID, id string) error {
	_, err := Call(ctx, sup, terminateChild{id: id})
	return err
}

// RestartChild starts the absent child id of a static supervisor again.
func RestartChild(ctx context.Context, sup PID, id string) (PID, error) {
	v, err := Call(ctx, sup, restartChild{id})
	pid, _ := v.(PID)
	return pid, err
}

// DeleteChild forgets the spec of the absent child id of a static supervisor.
func DeleteChild(ctx context.Context, sup PID, id string) error {
	_, err := Call(ctx, sup, deleteChild{id})
	return err
}

// WhichChildren lists the children in start order.
func WhichChildren(ctx context.Context, sup PID) ([]ChildInfo, error) {
	v, err := Call(ctx, sup, whichChildren{})
	list, _ := v.([]ChildInfo)
	return list, err
}

// CountChildren counts the children.
func CountChildren(ctx context.Context, sup PID) (Counts, error) {
	v, err := Call(ctx, sup, countChildren{})
	n, _ := v.(Counts)
	return n, err
}
