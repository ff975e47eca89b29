package scope

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// stepNames are the words in the names of arguments that hold what is to be run: the steps of
// a workflow, the skill of a task.
var stepNames = []string{"skill", "skills", "step", "steps", "tool", "tools", "action", "actions", "function", "functions", "uses"}

// ownDomain is of the orchestrator's own skills.
const ownDomain = "agent."

// mayNameSteps reports at a glance whether a call's arguments have one of stepNames.
func mayNameSteps(args string) bool {
	args = strings.ToLower(args)
	return slices.ContainsFunc([]string{"kill", "tep", "ool", "ction", "ses"}, func(part string) bool { return strings.Contains(args, part) })
}

// judgeNamed refuses a call whose arguments name skills, as those of a workflow do, that the
// grant doesn't hold. A workflow would run them in the agent's place.
func (g *Gate) judgeNamed(c sentinel.Call) sentinel.Verdict {
	var outside, args []string
	held := c.Grant().Scope()
	c.Skill().Walk(c.Parsed(), func(a skills.Arg) {
		if a.Marks.Has(skills.Secret) || !holdsSteps(a.Pointer) {
			return
		}
		s, _ := a.Text() // of a number its keys alone
		for _, name := range g.namesIn(a.Pointer, s) {
			if len(namesOutside([]string{name}, held)) > 0 {
				outside = append(outside, name)
				if arg := topLevelName(a.Pointer); c.Skill().Declares(arg) && !slices.Contains(args, arg) {
					args = append(args, arg)
				}
			}
		}
	})
	if len(outside) == 0 {
		return sentinel.Pass()
	}
	slices.Sort(outside)
	outside = slices.Compact(outside)
	v := sentinel.Refuse(CodeNamedSkills, fmt.Sprintf("%d of the skills that its arguments name are not in the grant", len(outside)))
	v.Evidence = []sentinel.Evidence{{Signal: strings.TrimPrefix(CodeNamedSkills, sentinel.GateScope+"."), Args: args}}
	v.Detail = strings.Join(outside[:min(len(outside), maxNamed)], ", ")
	v.WhatYouCanDo = "name only skills that you hold yourself, or ask for help"
	return v
}

// holdsSteps reports whether an argument, or one that it lies in, is called after what is to
// be run. "skill_name" and "nextStep" are such names.
func holdsSteps(pointer string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(splitHumps(pointer), func(r rune) bool { return r < 'a' || r > 'z' }),
		func(w string) bool { return slices.Contains(stepNames, w) }) || holdsSmallSteps(pointer)
}

// holdsSmallSteps is holdsSteps for names in capitals: "STEPS".
func holdsSmallSteps(pointer string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(pointer), func(r rune) bool { return r < 'a' || r > 'z' }),
		func(w string) bool { return slices.Contains(stepNames, w) })
}

// namesIn returns the skills that an argument names: in its value, in a list or JSON that the
// value holds, and in the keys that it lies under.
func (g *Gate) namesIn(pointer, value string) []string {
	names := g.namedSkills(value)
	parts := strings.Split(strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer), "/")
	parts = append(parts, strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(",;|\n\"'[]{}", r) })...)
	for _, part := range parts[:min(len(parts), maxParts)] {
		names = append(names, g.namedSkills(strings.TrimLeft(part, " \t-*@:0123456789."))...)
	}
	return names
}

// maxParts bounds how many parts of a value are looked up.
const maxParts = 4096

// splitHumps writes a name in small letters, with a sign before each capital.
func splitHumps(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// namedSkills returns the skills that a value names: its first word, where that is a
// registered skill's name or a domain of some. "bank.pay(500)" names bank.pay.
func (g *Gate) namedSkills(value string) []string {
	value = strings.ToLower(strings.TrimSpace(value))
	end := strings.IndexFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._-*", r)
	})
	if end >= 0 {
		value = value[:end]
	}
	if len(value) > skills.MaxName {
		return nil
	}
	if _, known := g.reg.Get(value); known {
		return []string{value}
	}
	if s, err := skills.NewScope(value); err == nil && strings.HasSuffix(value, "*") && len(g.reg.InScope(s)) > 0 {
		return []string{value}
	}
	return nil
}

func topLevelName(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}
