package orchestrator

import (
	"context"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// place is a place in a pool. A conversation's process has it, or waits for it in a task.
type place struct {
	credit *admission.Credit
	task   otp.Ref            // while it waits
	gone   context.CancelFunc // ends the wait, or returns the credit
}

// takeOrWait gets a credit at once and reports true, or begins to wait for one. The task's
// end is for onWaitEnd. The credit comes back with life at the latest.
func (p *place) takeOrWait(c *otp.Context, pool *admission.Pool, ask admission.Ask) bool {
	var err error
	ask.Life, p.gone = context.WithCancel(ask.Life)
	if p.credit, err = pool.Ready(ask); err == nil {
		return true
	}
	p.task = c.Async(0, func(ctx context.Context) (any, error) { return pool.Acquire(ctx, ask) })
	return false
}

// onWaitEnd reports whether the task's end is this place's, and what came of it.
func (p *place) onWaitEnd(m otp.TaskResult) (mine bool, err error) {
	if p.task == 0 || m.Ref != p.task {
		return false, nil
	}
	p.task = 0
	p.credit, _ = m.Value.(*admission.Credit)
	if p.credit == nil && m.Err == nil {
		m.Err = ErrOverloaded
	}
	if m.Err != nil {
		p.giveBack()
	}
	return true, m.Err
}

// giveBack gives the place up, also one that is waited for. A credit that comes this
// moment finds its life over, and goes back.
func (p *place) giveBack() {
	p.credit.Release()
	if p.gone != nil {
		p.gone()
	}
	*p = place{}
}

// workPlace is the place of a turn or an agent whose calls may wait for people.
type workPlace struct {
	place  place
	parked bool // a call of its own was held and has not asked for the place since
	away   bool // it has given the place back
}

// placeRequest is a call, or an agent, that goes on when it has its places.
type placeRequest struct {
	k    *agentRun // nil for the turn's own call
	from otp.From  // none where no call waits
	over bool
}
