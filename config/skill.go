package config

import (
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// skillFile is a file with more than one skill.
type skillFile struct {
	Include []string  `yaml:"include"`
	Skills  skillList `yaml:"skills"`
}

// skillList is decoded one by one by the loader, which knows the names.
type skillList []skillEntry

// skillEntry is a skill as it is written. What skills.Compile checks itself
// isn't repeated in the tags.
type skillEntry struct {
	Name        string          `yaml:"name" cfg:"required"`
	Description string          `yaml:"description"`
	Effect      skills.Effect   `yaml:"effect" cfg:"wanted,enum=read|create|modify|irreversible|costs_money"`
	Reaches     skills.Reach    `yaml:"reaches" cfg:"enum=self|others"`
	Output      skills.Trust    `yaml:"output" cfg:"enum=trusted|untrusted"`
	Parameters  json.RawMessage `yaml:"parameters"`
	Approval    skills.Approval `yaml:"approval" cfg:"enum=never|policy|always"`
	Idempotent  bool            `yaml:"idempotent"`
	ByReference bool            `yaml:"by_reference"`
	Disabled    bool            `yaml:"disabled"`
	Timeout     time.Duration   `yaml:"timeout" cfg:"min=1ms,max=30m"`
	Run         skills.Run      `yaml:"run" cfg:"required"`
}

// runKinds are the ways to run that a configuration can name.
var runKinds = []string{"template", "http", "exec", "builtin", "mcp"}

// run decodes the one key under run and keeps its options for the package of
// that kind.
func (d *decoder) run(p place, v reflect.Value) {
	if p.n.kind != mappingNode {
		d.fail(p, p.n.pos, "must be a mapping with one of %s%s", strings.Join(runKinds, ", "), notA(p.n))
		return
	}
	for i := range p.n.entries {
		e := &p.n.entries[i]
		if indexOf(runKinds, e.key) < 0 {
			d.fail(p, e.pos, "names an %s", unknown("kind", e.key, runKinds))
			return
		}
	}
	if len(p.n.entries) != 1 {
		d.fail(p, p.at, "must name exactly one of %s; it names %d", strings.Join(runKinds, ", "), len(p.n.entries))
		return
	}
	e := &p.n.entries[0]
	if e.val.isNull() && !e.val.bad {
		d.fail(p.child(e), e.pos, "has no value; write its options")
		return
	}
	if raw, ok := d.json(p.child(e)); ok {
		v.Set(reflect.ValueOf(skills.Run{Kind: e.key, Options: raw}))
	} else {
		d.failed[p.path] = true
	}
}

// SkillPath returns the configuration path of a skill, or of sub within it:
// SkillPath("email.send", "run.http.url") is "skills[email.send].run.http.url".
func SkillPath(name, sub string) string {
	return joinPath("skills["+name+"]", sub)
}

// pending is a declaration that is decoded and waits to be compiled.
type pending struct {
	n      *node
	base   string // its configuration path
	spec   skills.Spec
	text   string          // of a SKILL.md
	known  bool            // the program runs it
	failed map[string]bool // paths that mistakes were reported for
	clean  bool            // no mistake so far
}

// addSkill decodes one declaration.
func (l *loader) addSkill(n *node, fallback string) {
	base := fallback
	if name := n.get("name"); n.kind == mappingNode && name != nil && name.kind == scalarNode && skills.ValidName(name.text) {
		base = SkillPath(name.text, "")
	}
	d := *l.dec
	d.failed = map[string]bool{}
	before := len(l.out.list)
	var e skillEntry
	d.value(place{n, n.pos, base}, reflect.ValueOf(&e).Elem(), field{})
	if n.kind != mappingNode {
		l.broken = true
		return
	}
	l.pending = append(l.pending, pending{n: n, base: base, spec: skills.Spec(e), failed: d.failed, clean: len(l.out.list) == before})
}

// compileAll compiles what was declared: half of the time that loading takes,
// so on every processor.
func (l *loader) compileAll() {
	done := make([]compiled, len(l.pending))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(done)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(done)); i = next.Add(1) - 1 {
				done[i] = compileOne(l.pending[i].spec)
			}
		})
	}
	workers.Wait()
	for i, p := range l.pending {
		l.keep(p, done[i])
	}
}

type compiled struct {
	skill *skills.Skill
	err   error
}

// compileOne compiles in a goroutine of its own, so a panic ends here.
func compileOne(s skills.Spec) (c compiled) {
	defer func() {
		if recover() != nil {
			c = compiled{err: &skills.PathError{Path: "parameters", Msg: "can't be compiled"}}
		}
	}()
	c.skill, c.err = skills.Compile(s)
	return c
}

// refuseName reports a skill's name that another skill or the orchestrator has. known
// says that the declaration is of a skill which the program registers.
func (l *loader) refuseName(name string, at Position, known bool) bool {
	if strings.HasPrefix(name, reservedDomain) {
		l.out.add(at, "skill %s is in the domain %s*, which holds the orchestrator's own calls; choose another domain",
			quote(name), reservedDomain)
		return true
	}
	if first, twice := l.names[name]; twice {
		l.out.add(at, "skill %s is declared twice; the first is at %s", quote(name), first)
		return true
	}
	if slices.Contains(l.opts.KnownSkills, name) && !known {
		l.out.add(at, "skill %s is part of the program already; choose another name", quote(name))
		return true
	}
	return false
}

// keep reports the mistakes of a compiled declaration, or adds the skill.
func (l *loader) keep(p pending, c compiled) {
	for _, pe := range flatten(c.err) {
		top := pe.path
		if i := strings.IndexAny(top, ".["); i >= 0 {
			top = top[:i]
		}
		if at := joinPath(p.base, top); p.failed[at] || underAny(p.failed, at) {
			continue // reported where it was read
		}
		l.out.list = append(l.out.list, l.cfg.where.locate(p.n, p.n.pos, p.base, pe))
	}
	name := p.spec.Name
	if name == "" {
		l.broken = true
		return
	}
	at := p.n.pos
	if n := p.n.get("name"); n != nil {
		at = n.pos
	}
	if l.refuseName(name, at, p.known) {
		return
	}
	l.names[name] = at
	l.cfg.where.skills[name] = p.n
	// The parameters say what rules may ask of a skill, also where other keys hold
	// mistakes. Without parameters, they may stand under a misspelt key.
	if c.skill != nil && (p.clean || len(p.spec.Parameters) > 0) {
		l.cfg.Skills = append(l.cfg.Skills, LoadedSkill{Skill: c.skill, Pos: p.n.pos, Text: p.text, Known: p.known})
		return
	}
	l.spoilt = append(l.spoilt, name)
	if s := mend(p, c.skill); s != nil {
		l.unsure = append(l.unsure, LoadedSkill{Skill: s, Pos: p.n.pos, Known: p.known})
	}
}

func underAny(failed map[string]bool, prefix string) bool {
	for p := range failed {
		if strings.HasPrefix(p, prefix+".") || strings.HasPrefix(p, prefix+"[") {
			return true
		}
	}
	return false
}

// pathed is an error that has a place in the configuration.
type pathed struct {
	path, msg string
	within    placed
}

// flatten returns the errors in the tree of err that have a path, and gives
// the others the path of the whole.
func flatten(err error) []pathed {
	found, rest := split(err)
	for _, e := range rest {
		found = append(found, pathed{msg: e.Error()})
	}
	return found
}

// split separates the errors that have a path from those that have none.
func split(err error) (found []pathed, rest []error) {
	if err == nil {
		return nil, nil
	}
	if p, ok := err.(interface {
		ConfigPath() string
		ConfigMessage() string
	}); ok {
		one := pathed{path: p.ConfigPath(), msg: p.ConfigMessage()}
		if w, ok := err.(interface{ ConfigPlace() (line, column int) }); ok {
			one.within.line, one.within.column = w.ConfigPlace()
		}
		return []pathed{one}, nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			f, r := split(e)
			found, rest = append(found, f...), append(rest, r...)
		}
		return found, rest
	}
	if inner := errors.Unwrap(err); inner != nil {
		if f, r := split(inner); len(r) == 0 {
			return f, nil
		}
	}
	return nil, []error{err}
}
