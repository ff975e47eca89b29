package orchestrator

import (
	"context"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// takeOrWait gets a credit at once and reports true, or begins to wait for one; the
// task's end is for came. The credit comes back with life at the latest.
func (s *place) takeOrWait(c *otp.Context, p *admission.Pool, ask admission.Ask) bool {
	var err error
	ask.Life, s.gone = context.WithCancel(ask.Life)
	if s.credit, err = p.Ready(ask); err == nil {
		return true
	}
	s.task = c.Async(0, func(ctx context.Context) (any, error) { return p.Acquire(ctx, ask) })
	return false
}

// onWaitEnd reports whether the task's end is this seat's, and what came of it.
func (s *place) onWaitEnd(m otp.TaskResult) (mine bool, err error) {
	if s.task == 0 || m.Ref != s.task {
		return false, nil
	}
	s.task = 0
	s.credit, _ = m.Value.(*admission.Credit)
	if s.credit == nil && m.Err == nil {
		m.Err = ErrOverloaded
	}
	if m.Err != nil {
		s.giveBack()
	}
	return true, m.Err
}

// giveBack gives the place up, also one that is waited for: a credit that comes
// this moment finds its life over, and goes back.
func (s *place) giveBack() {
	s.credit.Release()
	if s.gone != nil {
		s.gone()
	}
	*s = place{}
}

// placeRequest is a call, or an agent, that goes on when it has its places.
type placeRequest struct {
	k    *agentRun // nil for the turn's own call
	from otp.From  // none where no call waits
	over bool
}
