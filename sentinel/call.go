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
	held *callParts // written by what makes the call alone; nil for the zero value
	// findings are the judge's; the review alone is shown a call that has them.
	findings *Findings
}

// callParts are what a Call holds. Every copy of the Call shares them.
type callParts struct {
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
	// first are the arguments that the first walk came by first, of seen in all.
	first [4]skills.Arg
	seen  int
	// evidence is shared by copies of the call: what it is made from stays the same in them.
	evidence *callEvidence
	// follows is set for a call that another made necessary.
	follows *following

	// parent is the call as it was proposed, where rules rewrote it; by which
	// rules, and what of it.
	parent    *Call
	rewroteBy []string
	rewrote   []string
	// edited is set where a person gave the call its arguments.
	edited *Edited
}

// parts returns what the call holds, for reading alone.
func (c Call) parts() *callParts {
	if c.held == nil {
		return &callParts{}
	}
	return c.held
}

// withID returns the call under another id.
func (c Call) withID(id string) Call {
	parts := *c.parts()
	parts.id = id
	return Call{&parts, c.findings}
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
	// Tool is the skill as its caller declares it, where the registry knows none of that name. It counts for
	// calls that run elsewhere alone.
	Tool *skills.Skill
	// Follows is the call that made this one necessary, and FollowsDecision what
	// allowed that one. The checkpoint alone sets them, never what a model sent.
	Follows         *Call
	FollowsDecision string
	// Writes are what a call that follows would write, and Reasons why a person is
	// asked about it.
	Writes  []skills.FollowPath
	Reasons []string
	// Evidence says what the call's evidence shows. The checkpoint sets its own.
	Evidence EvidenceOptions
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
	room := &struct { // in one piece: every call has both
		callParts
		callEvidence
	}{
		callParts: callParts{
			id: p.ID, name: p.Skill, grant: p.Grant, trace: p.Trace, granted: p.BeforeTaint, args: args, parsed: parsed,
		},
		callEvidence: callEvidence{options: p.Evidence},
	}
	c := &room.callParts
	c.evidence = &room.callEvidence
	if c.id == "" {
		c.id = ids.New()
	}
	if s, ok := p.findSkill(reg); ok {
		c.skill = s
		c.follows = p.newFollowing()
		c.touch = c.readTouch(envOf(p.Grant, env))
	}
	c.flagArgs()
	call := Call{held: c}
	c.outward = isOutward(call)
	c.digest = call.Order().Digest()
	return call, nil
}

// findSkill returns the skill that is called. What the registry knows counts before what a caller declares.
func (p *Proposal) findSkill(reg *skills.Registry) (*skills.Skill, bool) {
	if s, ok := reg.Get(p.Skill); ok {
		return s, true
	}
	if p.Tool != nil && p.Tool.Name() == p.Skill && p.Grant.Remote() != "" {
		return p.Tool, true
	}
	return nil, false
}

// withTouchNow returns the call with its touch worked out a second time. The bytes are the
// same, but links on the way to the named files may have changed.
func (c Call) withTouchNow(env touch.Env) Call {
	if c.Skill() == nil {
		return c
	}
	parts := *c.held
	parts.touch = parts.readTouch(envOf(parts.grant, env))
	now := Call{&parts, c.findings}
	parts.outward = isOutward(now)
	return now
}

// envOf is what the paths of a grant's calls are read against. This machine's files say nothing
// of paths on another.
func envOf(g Grant, env touch.Env) touch.Env {
	env.NoFS = env.NoFS || g.Remote() != ""
	return env
}

// readTouch works out what a call of a known skill would touch, as it is now.
func (c *callParts) readTouch(env touch.Env) touch.Touch {
	if c.follows != nil {
		return touchWrites(c.follows.writes, env)
	}
	return touch.OfWalk(c.skill, c.keepArgs, env)
}

// keepArgs walks the arguments and remembers the first of them. A walk that breaks off
// remembers none.
func (c *callParts) keepArgs(fn func(skills.Arg)) {
	c.seen = 0
	seen := 0
	c.skill.Walk(c.parsed, func(a skills.Arg) {
		if seen < len(c.first) {
			c.first[seen] = a
		}
		seen++
		fn(a)
	})
	c.seen = seen
}

// WalkArgs calls fn for every scalar among the arguments, as skills.Skill.Walk does. Most
// calls have so few that they needn't be walked again. A call of an unknown skill has none.
func (c Call) WalkArgs(fn func(skills.Arg)) {
	p := c.parts()
	switch {
	case p.skill == nil:
	case p.seen == 0, p.seen > len(p.first):
		p.skill.Walk(p.parsed, fn)
	default:
		for _, a := range p.first[:p.seen] {
			fn(a)
		}
	}
}

// NewID returns a new id for a grant or a request. Ids sort by the time at which they were
// made.
func NewID() string { return ids.New() }

// ID names this proposal; a repeat of the same call has another id.
func (c Call) ID() string { return c.parts().id }

// Name is the skill's name as the model wrote it. For an unknown skill that is
// the model's own text: it belongs in no record.
func (c Call) Name() string { return c.parts().name }

// RecordName is the skill's name as records have it: empty for an unknown skill, and for a tool whose name the
// operator didn't write.
func (c Call) RecordName() string {
	if s := c.Skill(); s == nil || !s.Named() {
		return ""
	}
	return c.Name()
}

// Skill returns the skill, nil for an unknown one.
func (c Call) Skill() *skills.Skill { return c.parts().skill }

// Grant returns the authority under which the call was made.
func (c Call) Grant() Grant { return c.parts().grant }

// Trace returns what the agent's desk had returned before.
func (c Call) Trace() Trace { return c.parts().trace }

// BeforeTaint returns the skills handed to sub-agents before the taint.
func (c Call) BeforeTaint() skills.Scope { return c.parts().granted }

// Tainted reports whether the agent had read an untrusted result, in this turn or in one
// before it.
func (c Call) Tainted() bool { return c.parts().grant.Tainted() || c.parts().trace.Untrusted() }

// TaintedThisTurn reports whether the agent had read an untrusted result in this turn.
func (c Call) TaintedThisTurn() bool {
	return c.parts().grant.TaintedThisTurn() || c.parts().trace.Untrusted()
}

// Remote is the principal who runs the call elsewhere; empty where it runs in this program.
func (c Call) Remote() string { return c.parts().grant.Remote() }

// Args returns the canonical JSON (RFC 8785) of the arguments.
func (c Call) Args() string { return c.parts().args }

// Parsed returns the arguments as Go values, numbers as json.Number. The map
// is shared by all gates: read it, never write it. What runs is Args.
func (c Call) Parsed() map[string]any { return c.parts().parsed }

// Touch returns what the call would touch.
func (c Call) Touch() touch.Touch { return c.parts().touch }

// Digest returns the hash of what is judged: see skills.Order.Digest. Two calls with equal
// digests may do the same, under whatever ids. A warrant and an approval are for one digest.
func (c Call) Digest() string { return c.parts().digest }

// Order returns the call as an executor sees it.
func (c Call) Order() skills.Order {
	p := c.parts()
	o := skills.Order{
		CallID: p.id, GrantID: p.grant.ID(), User: p.grant.User(), Conversation: p.grant.Conversation(),
		Skill: p.name, Args: p.args, Deadline: p.grant.Deadline(), Remote: p.grant.Remote(),
	}
	if p.skill != nil {
		o.SkillDigest = p.skill.Digest()
	}
	return o
}

// Effect returns the skill's effect; empty for an unknown skill.
func (c Call) Effect() skills.Effect {
	if s := c.Skill(); s != nil {
		return s.Effect()
	}
	return ""
}

// Sensitive reports whether what the skill returns is private; false for an unknown skill.
func (c Call) Sensitive() bool {
	s := c.Skill()
	return s != nil && s.Sensitive()
}

// strangerFields are the fields of the skill's results that their subject writes.
func (c Call) strangerFields() []string {
	if s := c.Skill(); s != nil {
		return s.Spec().StrangerFields
	}
	return nil
}

// Outward reports whether the call reaches others: its skill says so, or it has an
// effect and a target or URL that is not in the user's own words. Of a read only a
// host or recipient counts that is neither there nor in a trusted result. An unknown
// skill may reach anything, so its calls count as outward.
func (c Call) Outward() bool { return c.parts().outward }

// Follows returns the call that made this one necessary; ok is false for a call that an
// agent proposed.
func (c Call) Follows() (first Call, ok bool) {
	if f := c.parts().follows; f != nil {
		return f.first, true
	}
	return Call{}, false
}

// Reasons are the skill's own words on why a person must be asked about a call that
// follows from another.
func (c Call) Reasons() []string {
	if f := c.parts().follows; f != nil {
		return slices.Clone(f.reasons)
	}
	return nil
}

// withGrantNow is the call under the authority now, with the taint that the desk has by now.
func (c Call) withGrantNow(now Grant, d *Desk) Call {
	parts := *c.held
	was := parts.grant
	now.o.ID, now.o.User, now.o.Conversation = was.o.ID, was.o.User, was.o.Conversation
	now.o.Remote, now.o.Proposer, now.o.Principal = was.o.Remote, was.o.Proposer, was.o.Principal
	parts.grant = now.TaintAs(was).TaintAs(d.Grant())
	return Call{&parts, c.findings}
}
