package permission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The codes of the gate. An outcome of Allow has none.
const (
	CodeNoRules        = "permission.no_rules"
	CodeUnknownSkill   = "permission.unknown_skill"
	CodeDisabled       = "permission.disabled"
	CodeApprovalAlways = "permission.approval_always"
	CodeDenied         = "permission.denied"
	CodeAsk            = "permission.ask"
	CodeRuleError      = "permission.rule_error"
	CodeNoMatch        = "permission.no_match"
)

// What a rule says, and what Options.Default may be.
const (
	Allow  = "allow"
	Ask    = "ask"
	Deny   = "deny"
	Modify = "modify"

	DefaultAllow = Allow
	DefaultDeny  = Deny
)

// DefaultCostLimit bounds one condition's evaluation in CEL's cost units. A
// substring search in one megabyte fits, a quadratic loop over it does not.
const DefaultCostLimit = 1_000_000

// Rule is one entry of the configuration's permissions.
type Rule struct {
	// ID names the rule in records. If empty, its place: permissions[1].
	ID string
	// Skill is an exact name, "domain.*" or "*".
	Skill string
	// Users are patterns of which one must match the whole id of the user, letters
	// as they are. * stands for any characters, / among them and none too, and ?
	// for one character. [a-z] stands for one of a class, [^a-z] for one outside
	// it. Braces, ** and backslashes are mistakes. Empty means all users.
	Users []string
	// When is a CEL condition. Empty is always true.
	When string
	// Then is Allow, Ask, Deny or Modify.
	Then string
	// Modify are the rewrites of a rule that says Modify, in order.
	Modify []Op
	// Reason is the operator's own words, shown and recorded.
	Reason string
}

// Options configure a Gate. The zero value denies every call.
type Options struct {
	// Rules in order. Nil denies everything; an empty list that isn't nil
	// leaves everything to Default.
	Rules []Rule
	// Default is what happens where no rule matches: DefaultAllow or
	// DefaultDeny. Empty means DefaultDeny.
	Default string
	// Registry holds rules to skills and arguments that exist. Without one
	// these are not checked.
	Registry *skills.Registry
	// Known are skills that exist and are not in the Registry, such as those of a
	// program. Rules may name them. What rules say of their arguments is not
	// checked.
	Known []string
	// Partial says that there are further skills of unknown names. A name that is
	// neither in the Registry nor Known is no mistake then. Partial is for
	// checking a configuration of which a part can't be read.
	Partial bool
	// Now is the clock behind the variable time. If nil, time.Now.
	Now func() time.Time
	// CostLimit bounds one condition. If zero, DefaultCostLimit.
	CostLimit uint64
}

// Gate applies rules. It is immutable and safe for concurrent use; its zero
// value denies.
type Gate struct {
	loaded bool
	allow  bool
	rules  []*rule // that judge
	// rewrites are the rules that say modify: Check doesn't look at them.
	rewrites []*rule
	all      []*rule // in the order written
	compiler *compiler
	// byName holds the rules of each registered skill in their order. So a call
	// pays only for the rules that are about it.
	byName map[string][]*rule
	now    func() time.Time
}

// New compiles the rules. Every mistake in them is returned at once, joined,
// each a *skills.PathError such as "permissions[1].when".
func New(o Options) (*Gate, error) {
	g := &Gate{loaded: o.Rules != nil, now: o.Now, byName: map[string][]*rule{}}
	if g.now == nil {
		g.now = time.Now
	}
	var errs []error
	switch o.Default {
	case DefaultAllow:
		g.allow = true
	case DefaultDeny, "":
	default:
		errs = append(errs, &skills.PathError{
			Path: "permissions_default", Msg: fmt.Sprintf("%q is not one of allow, deny", o.Default)})
	}
	c, err := newCompiler(o)
	if err != nil {
		return nil, err
	}
	for i, r := range o.Rules {
		compiled, err := c.compileRule(i, r)
		errs = append(errs, err)
		g.all = append(g.all, compiled)
		if r.Then == Modify {
			g.rewrites = append(g.rewrites, compiled)
		} else {
			g.rules = append(g.rules, compiled)
		}
	}
	g.compiler = c
	errs = append(errs, duplicateIDs(o.Rules))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if o.Registry != nil {
		for _, name := range o.Registry.Names() {
			g.byName[name] = rulesAbout(g.rules, name)
		}
	}
	return g, nil
}

// duplicateIDs finds rules that records could not tell apart.
func duplicateIDs(rules []Rule) error {
	var errs []error
	first := map[string]int{}
	for i, r := range rules {
		if j, twice := first[r.ID]; twice && r.ID != "" {
			errs = append(errs, &skills.PathError{
				Path: fmt.Sprintf("permissions[%d].id", i), Msg: fmt.Sprintf("permissions[%d] has the same id", j)})
			continue
		}
		first[r.ID] = i
	}
	return errors.Join(errs...)
}

// rulesAbout returns the rules that are about the skill, in their order.
func rulesAbout(rules []*rule, name string) []*rule {
	var out []*rule
	for _, r := range rules {
		if r.covers(name) {
			out = append(out, r)
		}
	}
	return out
}

// Name returns "permission".
func (*Gate) Name() string { return sentinel.GatePermission }

// Check applies the skill's own switches and every rule about it. It never
// returns an error: a rule that can't be evaluated is a denial of its own.
func (g *Gate) Check(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	v := g.judgeCall(ctx, c)
	v.Gate = sentinel.GatePermission
	return v, nil
}

// judgeCall applies switches, rules and the default, in that order.
func (g *Gate) judgeCall(ctx context.Context, c sentinel.Call) sentinel.Verdict {
	switch {
	case !g.loaded:
		return refuseCall(CodeNoRules, "no permission rules were loaded", "ask the operator to load the permission rules")
	case c.Skill() == nil:
		return refuseCall(CodeUnknownSkill, "no skill of that name is known", "use one of your granted skills")
	}
	t := &tally{outcome: sentinel.Allow}
	g.applySwitches(t, c)
	g.applyRules(ctx, t, c)
	if _, follows := c.Follows(); follows {
		return t.buildVerdict() // it was allowed with its first call: rules only lower it
	}
	if t.matched == 0 && !g.allow {
		t.lower(sentinel.Deny, CodeNoMatch, "no rule allows this call, and the default is deny")
	}
	return t.buildVerdict()
}

// applySwitches applies what the skill's own Spec says. `approval: never` adds
// nothing and lifts nothing, so it is not looked at.
func (g *Gate) applySwitches(t *tally, c sentinel.Call) {
	spec := c.Skill().Spec()
	if spec.Disabled {
		t.lower(sentinel.Deny, CodeDisabled, "the skill is switched off")
		t.note("disabled", nil)
	}
	if spec.Approval == skills.ApproveAlways {
		t.lower(sentinel.Ask, CodeApprovalAlways, "the skill asks a person every time")
		t.note("approval_always", nil)
	}
}

// applyRules evaluates all rules, also once the answer is known: the review and
// a person must see every one that fits.
func (g *Gate) applyRules(ctx context.Context, t *tally, c sentinel.Call) {
	rules, ok := g.byName[c.Skill().Name()]
	if !ok {
		rules = rulesAbout(g.rules, c.Skill().Name())
	}
	var f *facts
	for _, r := range rules {
		if !r.isForUser(c.Grant().User()) {
			continue
		}
		if r.program == nil {
			t.countMatch(r, c.Skill())
			continue
		}
		if f == nil {
			f = &facts{call: c, now: g.now}
		}
		switch fits, err := r.fitsCall(ctx, f); {
		case err != nil:
			t.countError(r, c.Skill(), err)
		case fits:
			t.countMatch(r, c.Skill())
		}
	}
}

// refuseCall returns a denial that says what the agent can do.
func refuseCall(code, reason, advice string) sentinel.Verdict {
	v := sentinel.Refuse(code, reason)
	v.WhatYouCanDo = advice
	return v
}
