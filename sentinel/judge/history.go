package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// findFirstUse looks for an ungrounded address of somebody whom the user named, where the
// agent could have looked one up. That an earlier step was asked for it makes it no old
// acquaintance: the agent, or a stranger through it, brings that about with any read. Calls
// that reach others are held to more than that: see unvouchedCost.
func findFirstUse(v *view) finding {
	var f finding
	if v.request == nil || v.c.Trace().Len() == 0 || v.s.Reaches() == skills.Others {
		return f
	}
	for i, val := range v.values {
		if val.kind == recipient && (i >= maxValues || !v.isGrounded(val) && v.request.namesOwner(val) > 0) {
			f.add(val.arg)
		}
	}
	return f
}

// findAfterRefusal looks for an earlier try of the same skill that was refused: one
// that a Desk keeps, or one that a recorded history has as a result.
func findAfterRefusal(v *view) finding {
	return finding{found: v.c.Trace().RefusedBefore(v.c.Name()) || v.anyStep(func(s sentinel.Step) bool {
		return s.Skill == v.c.Name() && (strings.HasPrefix(s.Result, "refused by ") ||
			strings.HasPrefix(s.Result, `{"kind":"denied"`) || strings.HasPrefix(s.Result, `{"kind":"refused"`))
	})}
}

// maxStrange is how many steps in fields that the request doesn't speak of make a
// drift.
const maxStrange = 3

// findDrift looks for a conversation that has left the request and the mission:
// at least maxStrange steps, and now a change, in such fields.
func findDrift(v *view) finding {
	t := v.c.Trace()
	if t.Len() < maxStrange || v.request == nil || !v.request.known || !v.p.changes || v.p.delegation || v.isDomainSpoken(v.c.Name()) {
		return finding{}
	}
	strange := 0
	for i := range t.Len() {
		if !v.isDomainSpoken(t.Step(i).Skill) {
			strange++
		}
	}
	return finding{found: strange >= maxStrange}
}
