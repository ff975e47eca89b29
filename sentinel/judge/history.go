package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// firstUse looks for an address of somebody whom the user named and that nothing
// grounds, where the agent could have looked one up. That an earlier step was asked for
// it makes it no old acquaintance: the agent, or a stranger through it, brings that
// about with any read. Calls that reach others are held to more than that: see
// unvouched.
func firstUse(v *view) finding {
	var f finding
	if v.request == nil || v.c.Trace().Len() == 0 || v.s.Reaches() == skills.Others {
		return f
	}
	for i, val := range v.values {
		if val.kind == recipient && (i >= maxValues || !v.grounds(val) && v.request.namesOwner(val) > 0) {
			f.add(val.arg)
		}
	}
	return f
}

// afterRefusal looks for an earlier try of the same skill that was refused: one
// that a Desk keeps, or one that a recorded history has as a result.
func afterRefusal(v *view) finding {
	return finding{found: v.c.Trace().RefusedBefore(v.c.Name()) || v.anyStep(func(s sentinel.Step) bool {
		return s.Skill == v.c.Name() && (strings.HasPrefix(s.Result, "refused by ") ||
			strings.HasPrefix(s.Result, `{"kind":"denied"`) || strings.HasPrefix(s.Result, `{"kind":"refused"`))
	})}
}

func (v *view) anyStep(fits func(sentinel.Step) bool) bool {
	t := v.c.Trace()
	for i := range t.Len() {
		if fits(t.Step(i)) {
			return true
		}
	}
	return false
}

// maxStrange is how many steps in fields that the request doesn't speak of make a
// drift.
const maxStrange = 3

// drift looks for a conversation that has left the request and the mission:
// at least maxStrange steps, and now a change, in such fields.
func drift(v *view) finding {
	t := v.c.Trace()
	if t.Len() < maxStrange || v.request == nil || !v.request.known || !v.p.changes || v.p.delegation || v.domainSpoken(v.c.Name()) {
		return finding{}
	}
	strange := 0
	for i := range t.Len() {
		if !v.domainSpoken(t.Step(i).Skill) {
			strange++
		}
	}
	return finding{found: strange >= maxStrange}
}

func (v *view) domainSpoken(skill string) bool {
	name, _, _ := strings.Cut(skill, ".")
	for _, w := range nameWords(name) {
		st := stem(w)
		for _, t := range []*text{v.request, v.mission} {
			if t != nil && (t.words[st] || concepts[st]&t.concepts != 0) {
				return true
			}
		}
	}
	return false
}
