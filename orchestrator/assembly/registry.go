package assembly

import (
	"errors"
	"slices"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// newRegistry compiles every skill there is and finds names that stand twice.
func newRegistry(cfg *config.Config, o Options) (*skills.Registry, map[string]skills.RunFunc, error) {
	list, err := listDeclared(cfg, o)
	if err != nil {
		return nil, nil, err
	}
	run := map[string]skills.RunFunc{}
	for _, n := range listNatives(cfg, o) {
		s, err := skills.Compile(n.Spec)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, s)
		run[s.Name()] = n.Run
	}
	if newLayers(cfg).NeedCommit(listSkills(cfg)) {
		s, err := skills.Compile(exec.CommitSpec())
		if err != nil {
			return nil, nil, err
		}
		list = append(list, s)
	}
	reg, err := skills.NewRegistry(list...)
	return reg, run, err
}

// listDeclared returns the skills of the configuration and of the program. One that the
// configuration only knows is the program's where that registers it, and what
// both say of it must agree.
func listDeclared(cfg *config.Config, o Options) ([]*skills.Skill, error) {
	program := make(map[string]*skills.Skill, len(o.Skills))
	for _, g := range o.Skills {
		program[g.Skill().Name()] = g.Skill()
	}
	var list []*skills.Skill
	var errs []error
	for _, s := range cfg.Skills {
		runs := program[s.Skill.Name()]
		switch {
		case !s.Known || runs == nil:
			list = append(list, s.Skill)
		default:
			errs = append(errs, cfg.LocateSkill(s.Skill.Name(), skills.Agree(s.Skill, runs)))
		}
	}
	for _, g := range o.Skills {
		list = append(list, g.Skill())
	}
	return list, errors.Join(errs...)
}

// warnOfUnregistered logs the skills that no part of the program runs. Loops elsewhere may run them.
func warnOfUnregistered(cfg *config.Config, o Options) {
	for _, s := range cfg.Skills {
		if s.Known && !slices.ContainsFunc(o.Skills, func(g *skills.GoSkill) bool { return g.Skill().Name() == s.Skill.Name() }) {
			o.Log.Warn("a skill under skills.known is registered by no part of this program: only programs that run their own calls can use it; "+
				"register it in Options.Skills if agents are to",
				"skill", s.Skill.Name())
		}
	}
}
