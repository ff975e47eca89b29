// Package scope is the gate that holds an agent and its delegations to the skills that it was
// granted.
//
//	gate, err := scope.New(scope.Options{Registry: reg})
//
// The package isn't stable: docs/api.md lists those that are.
//
// It denies a skill that is not registered, an empty grant, a grant past its
// deadline and a skill outside the grant. In calls of agent.dispatch and
// agent.extend it reads the list in the argument "skills" too: nothing on it
// may be wider than the grant. Once the branch is tainted a skill outside the
// grants made before the taint asks, and agent.extend adds nothing whose
// effect can't be undone, costs money or isn't known.
//
// Other calls may name skills too, as the steps of a workflow do. What stands in an argument
// called skill, step, tool, action, plan, task, call, job or the like, or in any argument of a
// skill called workflow or pipeline, may name registered skills or domains. It does so as a key or
// within a text, in whatever spelling. Each must be in the grant: a workflow would run it in the
// agent's place. Prose, secrets, paths, links and commands name none.
//
// Where the taint is of earlier turns alone, a turn begins with what its own words ask for.
// A skill whose action and thing they name passes; one that changes what is there, costs
// money, can't be undone or reaches others does so where they name someone or something
// besides. If they name one of the two, reads and inward creates are a doubt. Everything
// else asks. A turn that only assents or thanks goes on with the last turn: it has that
// one's request and taint.
//
// A Reason never holds the name the model wrote: an unknown skill's name is
// the model's own text. What not to do: don't pass another Registry than the
// one the calls were made with.
package scope

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The codes of the gate.
const (
	CodeUnknownSkill     = "scope.unknown_skill"
	CodeEmpty            = "scope.empty"
	CodeExpired          = "scope.expired"
	CodeNotGranted       = "scope.not_granted"
	CodeInvalidSkills    = "scope.invalid_skills"
	CodeWiderThanParent  = "scope.wider_than_parent"
	CodeAfterTaint       = "scope.after_taint"
	CodeExtendAfterTaint = "scope.extend_after_taint"
	CodeNamedSkills      = "scope.named_skills"
	CodeWithdrawn        = "scope.withdrawn"
)

// The skills whose argument "skills" is a list of skills to hand on.
const (
	SkillDispatch = "agent.dispatch"
	SkillExtend   = "agent.extend"
)

// argSkills is the argument that names what is handed on.
const argSkills = "skills"

// Options configure a Gate.
type Options struct {
	// Registry knows the effects of the skills that are handed on. Required.
	Registry *skills.Registry
	// Words reads what a user asks for. Without one each later skill asks.
	Words Words
	// Withdrawn are skills of the registry that the configuration has no more: no grant holds one.
	Withdrawn map[string]bool
	// Now is the clock that deadlines are compared with. If nil, time.Now.
	Now func() time.Time
}

// Words reads what a user asks for.
type Words interface {
	// Asks says whether a user's own words name the thing that a skill is about, what it
	// does, and someone or something besides.
	Asks(words string, s *skills.Skill) (thing, action, target bool)
}

// Gate compares a call with its grant. It is safe for concurrent use. Its zero
// value knows no skill and reads the real clock.
type Gate struct {
	reg *skills.Registry
	// spelled are the skills by their names without signs.
	spelled   map[string]string
	words     Words
	withdrawn map[string]bool
	now       func() time.Time
}

// New returns the gate. It fails without a Registry.
func New(o Options) (*Gate, error) {
	if o.Registry == nil {
		return nil, errors.New("the scope gate needs the registry of skills")
	}
	g := &Gate{reg: o.Registry, spelled: map[string]string{}, words: o.Words, withdrawn: o.Withdrawn, now: o.Now}
	for _, name := range o.Registry.Names() {
		g.spelled[strings.NewReplacer(".", "", "_", "", "-", "").Replace(name)] = name
	}
	return g, nil
}

// Name returns "scope".
func (*Gate) Name() string { return sentinel.GateScope }

// Check denies what the grant does not hold; see the package comment for what
// asks. It never returns an error.
func (g *Gate) Check(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	v := g.judgeCall(c)
	v.Gate = sentinel.GateScope
	return v, nil
}

func (g *Gate) judgeCall(c sentinel.Call) sentinel.Verdict {
	granted := c.Grant().Scope()
	switch {
	case c.Skill() == nil:
		return g.refuseWithGranted(CodeUnknownSkill, "no skill of that name is known", granted)
	case g.isWithdrawn(c):
		return g.refuseWithGranted(CodeWithdrawn, "the skill was taken out of the configuration", granted)
	case granted.Empty():
		return refuseWithAdvice(CodeEmpty, "the grant holds no skills", "finish without skills, or ask for help")
	case g.isExpired(c.Grant()):
		return refuseWithAdvice(CodeExpired, "the grant's deadline has passed", "finish with what you have")
	case c.Skill().Name() == skills.CommitName:
		return g.judgeFollowing(c)
	case !granted.Allows(c.Skill().Name()):
		return g.refuseWithGranted(CodeNotGranted, "the skill is not among those granted", granted)
	}
	if n := c.Skill().Name(); n == SkillDispatch || n == SkillExtend {
		return g.judgeDelegation(c)
	}
	if g.reg == nil || strings.HasPrefix(c.Skill().Name(), ownDomain) || !namesSteps(c) {
		return sentinel.Pass()
	}
	return g.judgeNamed(c)
}

// judgeFollowing judges the call that commits what another wrote. The first call's skill
// must be granted still; without a first call an agent has made it up, and no grant
// holds that, a grant of everything included.
func (g *Gate) judgeFollowing(c sentinel.Call) sentinel.Verdict {
	first, ok := c.Follows()
	granted := c.Grant().Scope()
	if !ok || first.Skill() == nil || !granted.Allows(first.Skill().Name()) {
		return g.refuseWithGranted(CodeNotGranted, "the skill is not among those granted", granted)
	}
	return sentinel.Pass()
}

// isWithdrawn reports whether the configuration has the call's skill no more, or that of the call
// whose changes it commits.
func (g *Gate) isWithdrawn(c sentinel.Call) bool {
	first, follows := c.Follows()
	return g.withdrawn[c.Skill().Name()] || follows && g.withdrawn[first.Name()]
}

func (g *Gate) isExpired(grant sentinel.Grant) bool {
	if grant.Deadline().IsZero() {
		return false
	}
	now := time.Now
	if g.now != nil {
		now = g.now
	}
	return !now().Before(grant.Deadline())
}

// maxNamed bounds the list of granted skills in a refusal's advice.
const maxNamed = 20

// refuseWithGranted tells the agent which skills it does hold. Only registered names are
// listed: a delegated scope may hold a name that a model made up.
func (g *Gate) refuseWithGranted(code, reason string, granted skills.Scope) sentinel.Verdict {
	var held []string
	if g.reg != nil && !granted.Empty() {
		held = slices.DeleteFunc(g.reg.InScope(granted), func(name string) bool { return g.withdrawn[name] })
	}
	switch {
	case len(held) == 0:
		return refuseWithAdvice(code, reason, "finish without skills, or ask for help")
	case len(held) > maxNamed:
		return refuseWithAdvice(code, reason, fmt.Sprintf("use one of your %d granted skills, or ask for help", len(held)))
	}
	return refuseWithAdvice(code, reason, "use one of your granted skills ("+strings.Join(held, ", ")+"), or ask for help")
}

func refuseWithAdvice(code, reason, advice string) sentinel.Verdict {
	v := sentinel.Refuse(code, reason)
	v.WhatYouCanDo = advice
	return v
}
