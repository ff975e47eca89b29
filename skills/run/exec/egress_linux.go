package exec

import "github.com/vedette-dev/vedette/skills/run/exec/egress/listen"

// planListeners is what must listen in the sandbox; nil without hosts to reach.
func (p *program) planListeners() *listen.Plan {
	if p.policy == nil {
		return nil
	}
	plan := p.policy.Plan()
	return &plan
}
