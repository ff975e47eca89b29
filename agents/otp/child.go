package otp

// childState is what a supervisor knows of a child's process.
type childState uint8

const (
	absent   childState = iota // spec without a process
	starting                   // Init has not returned
	running
	stopping // asked to stop, not gone
	pending  // a restart is due: in backoff, or a failed one to be retried
)

func (s childState) String() string {
	return [...]string{"absent", "starting", "running", "stopping", "restarting"}[s]
}

// child is a supervisor's record of one child over all its incarnations.
// Only the supervisor's goroutine touches it.
type child struct {
	spec    ChildSpec
	state   childState
	proc    *proc // the present incarnation, nil if none
	last    *proc // the newest incarnation, also when it is gone
	starts  int   // successful starts
	from    *call // the caller that waits for the start
	added   bool  // the start belongs to StartChild: on failure the spec goes too
	stopped []*call
	try     uint64 // identifies the pending restart; a stale timer has an older one
	timer   func() bool
	counted bool // the pending restart is in the intensity already
}

// stopTimer stops the child's timer, if one runs.
func (k *child) stopTimer() {
	if k.timer != nil {
		k.timer()
		k.timer = nil
	}
}

// answerStart answers the caller that waits for the start. It reports false if the caller
// gave up: no process knows the child then, so the child must end.
func (k *child) answerStart(err error) bool {
	from := k.from
	k.from = nil
	if from == nil {
		return true
	}
	if err != nil {
		from.finish(nil, err)
		return true
	}
	return from.finish(PID{k.proc}, nil)
}

// cancelRestart cancels a restart that is due (R10).
func (k *child) cancelRestart() {
	k.stopTimer()
	k.try++
	k.state = absent
}

// describeChild returns the child as WhichChildren lists it.
func (k *child) describeChild() ChildInfo {
	return ChildInfo{ID: k.spec.ID, PID: PID{k.proc}, Type: k.spec.Type, Restart: k.spec.Restart, State: k.state.String()}
}

// countRecords counts children for CountChildren.
func countRecords(kids []*child) Counts {
	var n Counts
	for _, k := range kids {
		n.Specs++
		if k.proc != nil {
			n.Active++
		}
		if k.spec.Type == Supervisor {
			n.Supervisors++
		} else {
			n.Workers++
		}
	}
	return n
}
