package scope

import (
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// judgeDelegation judges the skills that a call would hand to a sub-agent. The most
// restrictive finding answers; denials come before the one that asks.
func (g *Gate) judgeDelegation(c sentinel.Call) sentinel.Verdict {
	names, ok := parseHandedOn(c.Parsed()[argSkills])
	if !ok {
		return completeFinding(c, sentinel.Refuse(CodeInvalidSkills, "skills is not a list of skill names"), nil,
			"send skills as a list of skill names")
	}
	if wider := namesOutside(names, c.Grant().Scope()); len(wider) > 0 {
		return completeFinding(c, sentinel.Refuse(CodeWiderThanParent,
			fmt.Sprintf("%d of the %d skills to hand on are not in the grant", len(wider), len(names))), wider,
			"hand on only skills that you hold yourself")
	}
	if !c.Tainted() {
		return sentinel.Pass()
	}
	if c.Skill().Name() == SkillExtend {
		if grave := g.graveNames(names); len(grave) > 0 {
			return completeFinding(c, sentinel.Refuse(CodeExtendAfterTaint,
				fmt.Sprintf("after an untrusted result %d of the %d skills can't be added", len(grave), len(names))), grave,
				"name each skill in full and leave out those that are irreversible or cost money")
		}
	}
	if later := namesOutside(names, c.BeforeTaint()); len(later) > 0 {
		return g.judgeLater(c, later, len(names))
	}
	return sentinel.Pass()
}

// judgeLater judges skills that were not granted before the taint, of all that are handed on.
func (g *Gate) judgeLater(c sentinel.Call, later []string, all int) sentinel.Verdict {
	asks, doubts := g.splitLater(c, later)
	held := completeFinding(c, sentinel.Hold(CodeAfterTaint,
		fmt.Sprintf("%d of the %d skills were not granted before an untrusted result was read", len(asks)+len(doubts), all)),
		append(asks, doubts...), "hand on only skills that were granted before the untrusted result was read")
	switch {
	case len(asks) > 0:
		return held
	case len(doubts) == 0:
		return sentinel.Pass()
	}
	v := sentinel.Pass()
	v.Detail, v.Evidence = held.Detail, held.Evidence
	v.Evidence[0].Doubt = true
	v.Doubt = &sentinel.Doubt{Outcome: sentinel.Ask, Code: CodeAfterTaint, Reason: held.Reason, WhatYouCanDo: held.WhatYouCanDo}
	return v
}

// completeFinding completes a verdict. The names go to Detail, which is sealed.
func completeFinding(c sentinel.Call, v sentinel.Verdict, names []string, advice string) sentinel.Verdict {
	e := sentinel.Evidence{Signal: strings.TrimPrefix(v.Code, sentinel.GateScope+".")}
	if c.Skill().Declares(argSkills) {
		e.Args = []string{argSkills}
	}
	v.Evidence = []sentinel.Evidence{e}
	if len(names) > 0 {
		v.Detail = strings.Join(names, ", ")
	}
	v.WhatYouCanDo = advice
	return v
}

// parseHandedOn reads the argument. An absent one hands on nothing, which is never
// too wide; anything but a list of strings could be read differently later.
func parseHandedOn(v any) (names []string, ok bool) {
	if v == nil {
		return nil, true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, false
		}
		names = append(names, s)
	}
	return names, true
}

// namesOutside returns the names that the scope does not hold as a whole. What is
// no name at all, such as "*", is outside every scope.
func namesOutside(names []string, held skills.Scope) []string {
	var out []string
	for _, n := range names {
		s, err := skills.NewScope(n)
		if err == nil {
			if ok, _ := s.Within(held); ok {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

// graveNames returns the names that a tainted branch must not add. A pattern and an
// unknown name are among them: what they stand for may change with the next
// configuration.
func (g *Gate) graveNames(names []string) []string {
	var out []string
	for _, n := range names {
		s, known := g.reg.Get(n)
		if !known || s.Effect() == skills.Irreversible || s.Effect() == skills.CostsMoney {
			out = append(out, n)
		}
	}
	return out
}
