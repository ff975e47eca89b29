package config

import (
	"maps"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/vedette-dev/vedette/skills"
)

// programSkills is a list of skills that the program runs, as they are written
// under skills.known. The loader reads them one by one.
type programSkills struct{}

// runKey is the one key of a skill that a known one doesn't have.
const runKey = "run"

// addKnown reads skills.known: declarations without a way to run.
func (l *loader) addKnown() {
	list := l.section("skills", "known")
	if list == nil || list.bad || list.isNull() {
		return
	}
	if list.kind != listNode {
		l.broken = true
		return
	}
	whole := *l.dec
	without := whole
	without.fields = maps.Clone(whole.fields)
	t := reflect.TypeFor[skillEntry]()
	without.fields[t] = slices.DeleteFunc(slices.Clone(whole.fieldsOf(t)), func(f field) bool { return f.name == runKey })
	l.dec = &without
	for i, item := range list.items {
		before := len(l.pending)
		l.addSkill(l.withoutRun(item), place{n: list, path: "skills.known"}.item(i).path)
		for j := range l.pending[before:] {
			p := &l.pending[before+j]
			p.known, p.spec.Run = true, skills.Run{Kind: "go"}
		}
	}
	l.dec = &whole
}

// withoutRun refuses a way to run and returns the rest of the declaration.
func (l *loader) withoutRun(n *node) *node {
	if n.get(runKey) == nil {
		return n
	}
	rest := *n
	rest.entries = slices.DeleteFunc(slices.Clone(n.entries), func(e entry) bool {
		if e.key == runKey {
			l.out.add(e.pos, "a skill under skills.known is run by the program; remove run, or declare the skill in a file under skills.include")
		}
		return e.key == runKey
	})
	return &rest
}

// addProgram adds the skills that the program registers. One that the
// configuration knows too must be the same there, and stands there.
func (l *loader) addProgram() {
	registered := map[string]bool{}
	for _, s := range l.opts.Program {
		name := s.Name()
		i := slices.IndexFunc(l.cfg.Skills, func(k LoadedSkill) bool { return k.Skill.Name() == name })
		switch {
		case registered[name]:
			l.out.add(l.root.pos, "the program registers skill %s twice; remove one", quote(name))
		case i >= 0 && l.cfg.Skills[i].Known:
			l.reportDifferences(name, skills.Agree(l.cfg.Skills[i].Skill, s))
			l.cfg.Skills[i].Skill = s
		case i >= 0:
			l.out.add(l.names[name], "skill %s is part of the program already; choose another name", quote(name))
		default: // not there, or with mistakes that were reported
			if _, broken := l.names[name]; !broken {
				l.names[name] = Position{}
			}
			l.cfg.Skills = append(l.cfg.Skills, LoadedSkill{Skill: s, Known: true})
		}
		registered[name] = true
	}
}

func (l *loader) reportDifferences(name string, err error) {
	n := l.cfg.where.skills[name]
	for _, pe := range flatten(err) {
		l.out.list = append(l.out.list, l.cfg.where.locate(n, n.pos, SkillPath(name, ""), pe))
	}
}

// knownSchema is the editor's schema of skills.known.
func knownSchema() *jsonschema.Schema {
	one := objectSchema(reflect.TypeFor[skillEntry]())
	one.Properties.Delete(runKey)
	one.Required = slices.DeleteFunc(one.Required, func(k string) bool { return k == runKey })
	return &jsonschema.Schema{Type: "array", Items: one}
}
