package assembly

import (
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/skills"
)

// buildHandover makes what decides calls that other programs run: those of skills under skills.known
// that nothing in this program runs.
func buildHandover(p *Parts, o Options) error {
	tokens, err := p.newTokenSigner()
	if err != nil {
		return err
	}
	p.Handover, err = handover.New(handover.Options{
		Checkpoint: p.Checkpoint, Records: p.recorder, Tokens: tokens, Skills: listRunElsewhere(p, o),
		// A loop of its own is no agent with one mission: it has as many calls as a turn may have, or as
		// any agent may be given.
		Calls:      p.Config.Limits.Turn.Calls,
		AskTimeout: p.Config.Approvals.Timeout, Now: o.Now, Log: o.Log,
	})
	return err
}

// listRunElsewhere returns the skills that the configuration knows and that no part of this program runs.
func listRunElsewhere(p *Parts, o Options) skills.Scope {
	here := map[string]bool{}
	for _, g := range o.Skills {
		here[g.Skill().Name()] = true
	}
	for _, n := range o.Natives {
		here[n.Spec.Name] = true
	}
	var names []string
	for _, s := range p.Config.Skills {
		if s.Known && !here[s.Skill.Name()] {
			names = append(names, s.Skill.Name())
		}
	}
	scope, _ := skills.NewScope(names...) // they are names of skills
	return scope
}
