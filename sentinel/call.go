package sentinel

import (
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Call is one proposed action: a grant, a skill, canonical arguments and their
// digest. It is immutable: what was judged is what runs. Its zero value is a
// call of no skill and denies.
type Call struct {
	id      string
	name    string
	grant   Grant
	trace   Trace
	granted skills.Scope
	skill   *skills.Skill
	args    string
	parsed  map[string]any
	touch   touch.Touch
	flags   []Flag
	outward bool
	digest  string
	// follows is set for a call that another made necessary.
	follows *following
	// findings are the judge's; the review alone is shown a call that has them.
	findings *Findings

	// parent is the call as it was proposed, where rules rewrote it; by which
	// rules, and what of it.
	parent    *Call
	rewroteBy []string
	rewrote   []string
}

// Proposal is what becomes a Call.
type Proposal struct {
	Skill string
	// Args is what the model sent, byte for byte. Empty means no arguments.
	Args  []byte
	Grant Grant
	Trace Trace
	// BeforeTaint are the skills that the branch had handed to sub-agents
	// before it read an untrusted result; only agent.* calls look at it.
	BeforeTaint skills.Scope
	// ID names the call; empty makes a new one.
	ID string
	// Follows is the call that made this one necessary, and FollowsDecision what
	// allowed that one. The checkpoint alone sets them, never what a model sent.
	Follows         *Call
	FollowsDecision string
	// Writes are what a call that follows would write, and Reasons why a person is
	// asked about it.
	Writes  []skills.FollowPath
	Reasons []string
}

// NewCall checks and freezes a proposal. It returns a *CallError for one that
// can't be a call: no skill name, arguments that are not one JSON object in
// UTF-8 without duplicate or case-folded keys, with exact numbers, within
// MaxArgs and MaxDepth. An unknown skill is a Call: scope denies it.
func NewCall(reg *skills.Registry, env touch.Env, p Proposal) (Call, error) {
	args, parsed, err := canonicalize(p.Args)
	if err != nil {
		return Call{}, err
	}
	if p.Skill == "" {
		return Call{}, &CallError{CodeNoSkill, "the call names no skill"}
	}
	if len(p.Skill) > skills.MaxName {
		return Call{}, &CallError{CodeSkillName,
			fmt.Sprintf("the skill's name is %d bytes long; no skill's is longer than %d", len(p.Skill), skills.MaxName)}
	}
	c := Call{
		id: p.ID, name: p.Skill, grant: p.Grant, trace: p.Trace, granted: p.BeforeTaint,
		args: args, parsed: parsed,
	}
	if c.id == "" {
		c.id = ids.New()
	}
	if s, ok := reg.Get(p.Skill); ok {
		c.skill = s
		c.follows = p.newFollowing()
		c.touch = c.readTouch(env)
	}
	c.flagArgs()
	c.outward = isOutward(c)
	c.digest = c.Order().Digest()
	return c, nil
}

// withTouchNow returns the call with its touch worked out a second time. The bytes are the
// same, but links on the way to the named files may have changed.
func (c Call) withTouchNow(env touch.Env) Call {
	if c.skill != nil {
		c.touch = c.readTouch(env)
		c.outward = isOutward(c)
	}
	return c
}

// readTouch works out what a call of a known skill would touch, as it is now.
func (c Call) readTouch(env touch.Env) touch.Touch {
	if c.follows != nil {
		return touchWrites(c.follows.writes, env)
	}
	return touch.Of(c.skill, c.parsed, env)
}

// NewID returns a new id for a grant or a request. Ids sort by the time at which they were
// made.
func NewID() string { return ids.New() }

// ID names this proposal; a repeat of the same call has another id.
func (c Call) ID() string { return c.id }

// Name is the skill's name as the model wrote it. For an unknown skill that is
// the model's own text: it belongs in no record.
func (c Call) Name() string { return c.name }

// Skill returns the skill, nil for an unknown one.
func (c Call) Skill() *skills.Skill { return c.skill }

// Grant returns the authority under which the call was made.
func (c Call) Grant() Grant { return c.grant }

// Trace returns what the agent's desk had returned before.
func (c Call) Trace() Trace { return c.trace }

// BeforeTaint returns the skills handed to sub-agents before the taint.
func (c Call) BeforeTaint() skills.Scope { return c.granted }

// Tainted reports whether the agent had read an untrusted result, in this turn or in one
// before it.
func (c Call) Tainted() bool { return c.grant.Tainted() || c.trace.Untrusted() }

// TaintedThisTurn reports whether the agent had read an untrusted result in this turn.
func (c Call) TaintedThisTurn() bool { return c.grant.TaintedThisTurn() || c.trace.Untrusted() }

// Args returns the canonical JSON (RFC 8785) of the arguments.
func (c Call) Args() string { return c.args }

// Parsed returns the arguments as Go values, numbers as json.Number. The map
// is shared by all gates: read it, never write it. What runs is Args.
func (c Call) Parsed() map[string]any { return c.parsed }

// Touch returns what the call would touch.
func (c Call) Touch() touch.Touch { return c.touch }

// Digest returns the hash of what is judged: see skills.Order.Digest. Two calls with equal
// digests may do the same, under whatever ids. A warrant and an approval are for one digest.
func (c Call) Digest() string { return c.digest }

// Order returns the call as an executor sees it.
func (c Call) Order() skills.Order {
	o := skills.Order{
		CallID: c.id, GrantID: c.grant.ID(), User: c.grant.User(), Conversation: c.grant.Conversation(),
		Skill: c.name, Args: c.args, Deadline: c.grant.Deadline(),
	}
	if c.skill != nil {
		o.SkillDigest = c.skill.Digest()
	}
	return o
}

// Effect returns the skill's effect; empty for an unknown skill.
func (c Call) Effect() skills.Effect {
	if c.skill == nil {
		return ""
	}
	return c.skill.Effect()
}

// Outward reports whether the call reaches others: its skill says so, or it has an
// effect and a target or URL that is not in the user's own words. Of a read only a
// host or recipient counts that is neither there nor in a trusted result. An unknown
// skill may reach anything, so its calls count as outward.
func (c Call) Outward() bool { return c.outward }

// Follows returns the call that made this one necessary; ok is false for a call that an
// agent proposed.
func (c Call) Follows() (first Call, ok bool) {
	if c.follows == nil {
		return Call{}, false
	}
	return c.follows.first, true
}

// Reasons are the skill's own words on why a person must be asked about a call that
// follows from another.
func (c Call) Reasons() []string {
	if c.follows == nil {
		return nil
	}
	return slices.Clone(c.follows.reasons)
}
