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

	"bytes"
	"maps"
	"regexp"

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
	Name        string        `yaml:"name" cfg:"required"`
	Description string        `yaml:"description"`
	Effect      skills.Effect `yaml:"effect" cfg:"wanted,enum=read|create|modify|irreversible|costs_money"`
	Reaches     skills.Reach  `yaml:"reaches" cfg:"enum=self|others"`
	Output      skills.Trust  `yaml:"output" cfg:"enum=trusted|untrusted"`
	// StrangerFields are checked by skills.Compile.
	StrangerFields []string        `yaml:"stranger_fields"`
	Sensitive      bool            `yaml:"sensitive"`
	Risk           skills.Risk     `yaml:"risk" cfg:"enum=normal|low"`
	Parameters     json.RawMessage `yaml:"parameters"`
	Approval       skills.Approval `yaml:"approval" cfg:"enum=never|policy|always"`
	Idempotent     bool            `yaml:"idempotent"`
	ByReference    bool            `yaml:"by_reference"`
	Disabled       bool            `yaml:"disabled"`
	Timeout        time.Duration   `yaml:"timeout" cfg:"min=1ms,max=30m"`
	Run            skills.Run      `yaml:"run" cfg:"required"`
}

// runKinds are the ways to run that a configuration can name.
var runKinds = []string{"template", "http", "exec", "builtin", "mcp"}

// SkillPath returns the configuration path of a skill, or of sub within it:
// SkillPath("email.send", "run.http.url") is "skills[email.send].run.http.url".
func SkillPath(name, sub string) string {
	return joinConfigPath("skills["+name+"]", sub)
}

// pendingSkill is a declaration that is decoded and waits to be compiled.
type pendingSkill struct {
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
	d.decodeValue(place{n, n.pos, base}, reflect.ValueOf(&e).Elem(), field{})
	if n.kind != mappingNode {
		l.namesMissing = true
		return
	}
	l.pending = append(l.pending, pendingSkill{n: n, base: base, spec: skills.Spec(e), failed: d.failed, clean: len(l.out.list) == before})
}

// compileAll compiles what was declared on every processor: that is half of the
// time that loading takes.
func (l *loader) compileAll() {
	done := make([]compiledSkill, len(l.pending))
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
		l.keepSkill(p, done[i])
	}
}

// compiledSkill is what compiling a declaration came to.
type compiledSkill struct {
	skill *skills.Skill
	err   error
}

// compileOne compiles in a goroutine of its own, so a panic ends here.
func compileOne(s skills.Spec) (c compiledSkill) {
	defer func() {
		if recover() != nil {
			c = compiledSkill{err: &skills.PathError{Path: "parameters", Msg: "can't be compiled"}}
		}
	}()
	c.skill, c.err = skills.Compile(s)
	return c
}

// refuseName reports a skill's name that another skill or the orchestrator has.
// known says that the declaration is of a skill which the program registers.
func (l *loader) refuseName(name string, at Position, known bool) bool {
	if strings.HasPrefix(name, reservedDomain) {
		l.out.add(at, "skill %s is in the domain %s*, which holds the orchestrator's own calls; choose another domain",
			quoteWord(name), reservedDomain)
		return true
	}
	if first, twice := l.names[name]; twice {
		l.out.add(at, "skill %s is declared twice; the first is at %s", quoteWord(name), first)
		return true
	}
	if slices.Contains(l.opts.KnownSkills, name) && !known {
		l.out.add(at, "skill %s is part of the program already; choose another name", quoteWord(name))
		return true
	}
	return false
}

// keepSkill reports the mistakes of a compiled declaration, or adds the skill.
func (l *loader) keepSkill(p pendingSkill, c compiledSkill) {
	for _, pe := range flattenErrors(c.err) {
		top := pe.path
		if i := strings.IndexAny(top, ".["); i >= 0 {
			top = top[:i]
		}
		if at := joinConfigPath(p.base, top); p.failed[at] || anyBelowPrefix(p.failed, at) {
			continue // reported where it was read
		}
		l.out.list = append(l.out.list, l.cfg.where.locateMistake(p.n, p.n.pos, p.base, pe))
	}
	name := p.spec.Name
	if name == "" {
		l.namesMissing = true
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
	l.mistakenNames = append(l.mistakenNames, name)
	if s := mendSkill(p, c.skill); s != nil {
		l.unsure = append(l.unsure, LoadedSkill{Skill: s, Pos: p.n.pos, Known: p.known})
	}
}

// anyBelowPrefix reports whether failed holds a path inside of prefix: one that goes on with a
// dot or a bracket.
func anyBelowPrefix(failed map[string]bool, prefix string) bool {
	for p := range failed {
		if strings.HasPrefix(p, prefix+".") || strings.HasPrefix(p, prefix+"[") {
			return true
		}
	}
	return false
}

// pathMistake is an error that has a place in the configuration.
type pathMistake struct {
	path, msg string
	within    placeInText
}

// flattenErrors returns the errors in the tree of err that have a path. It gives
// the others the path of the whole.
func flattenErrors(err error) []pathMistake {
	found, rest := splitErrors(err)
	for _, e := range rest {
		found = append(found, pathMistake{msg: e.Error()})
	}
	return found
}

// splitErrors separates the errors that have a path from those that have none.
func splitErrors(err error) (found []pathMistake, rest []error) {
	if err == nil {
		return nil, nil
	}
	if p, ok := err.(interface {
		ConfigPath() string
		ConfigMessage() string
	}); ok {
		one := pathMistake{path: p.ConfigPath(), msg: p.ConfigMessage()}
		if w, ok := err.(interface{ ConfigPlace() (line, column int) }); ok {
			one.within.line, one.within.column = w.ConfigPlace()
		}
		return []pathMistake{one}, nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			f, r := splitErrors(e)
			found, rest = append(found, f...), append(rest, r...)
		}
		return found, rest
	}
	if inner := errors.Unwrap(err); inner != nil {
		if f, r := splitErrors(inner); len(r) == 0 {
			return f, nil
		}
	}
	return nil, []error{err}
}

// runKey is the one key of a skill that a known one doesn't have.
const runKey = "run"

// programSkills is a list of skills that the program runs, as they are written
// under skills.known. The loader reads them one by one.
type programSkills struct{}

// addKnown reads skills.known: declarations without a way to run.
func (l *loader) addKnown() {
	list := l.valueAt("skills", "known")
	if list == nil || list.bad || list.isNull() {
		return
	}
	if list.kind != listNode {
		l.namesMissing = true
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
		l.addSkill(l.withoutRun(item), place{n: list, path: "skills.known"}.placeOfItem(i).path)
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

// addProgram adds the skills that the program registers. A skill that stands in
// the configuration too must agree with it, and keeps its place there.
func (l *loader) addProgram() {
	registered := map[string]bool{}
	for _, s := range l.opts.Program {
		name := s.Name()
		i := slices.IndexFunc(l.cfg.Skills, func(k LoadedSkill) bool { return k.Skill.Name() == name })
		switch {
		case registered[name]:
			l.out.add(l.root.pos, "the program registers skill %s twice; remove one", quoteWord(name))
		case i >= 0 && l.cfg.Skills[i].Known:
			l.reportDifferences(name, skills.Agree(l.cfg.Skills[i].Skill, s))
			l.cfg.Skills[i].Skill = s
		case i >= 0:
			l.out.add(l.names[name], "skill %s is part of the program already; choose another name", quoteWord(name))
		default: // not there, or with mistakes that were reported
			if _, broken := l.names[name]; !broken {
				l.names[name] = Position{}
			}
			l.cfg.Skills = append(l.cfg.Skills, LoadedSkill{Skill: s, Known: true})
		}
		registered[name] = true
	}
}

// reportDifferences reports where a skill of the program and its declaration
// differ.
func (l *loader) reportDifferences(name string, err error) {
	n := l.cfg.where.skills[name]
	for _, pe := range flattenErrors(err) {
		l.out.list = append(l.out.list, l.cfg.where.locateMistake(n, n.pos, SkillPath(name, ""), pe))
	}
}

// textDomain is put before the name of a SKILL.md, which has no domain.
const textDomain = "skill."

// readSkillText reads a SKILL.md: front matter between two lines of dashes, then
// text. Such a file comes from outside as a rule. So it may say its name and its
// arguments, and nothing about what it may do. Its effect is irreversible, it has
// no way to run, its text is untrusted. ${NAME} stays as it is, because models
// read the description. Keys that other tools have ("allowed-tools", "license")
// mean nothing here.
func (l *loader) readSkillText(name string, src []byte) {
	at := Position{name, 1, 1}
	if len(src) > MaxFile {
		l.namesMissing = true
		l.out.add(at, "the file has more than %d bytes", MaxFile)
		return
	}
	head, body, ok := frontMatter(src)
	if !ok {
		l.namesMissing = true
		l.out.add(at, "a SKILL.md starts with front matter: name and description between two lines of ---")
		return
	}
	n := parseYAML(name, head, l.out, withoutEnv)
	if n == nil || n.kind != mappingNode {
		l.namesMissing = true
		if n != nil {
			l.out.add(n.pos, "the front matter must be a mapping with name and description")
		}
		return
	}
	l.addSkillText(n, body)
}

// frontMatter splits src at the second line of dashes. The first stays in the
// head, so that its lines keep their numbers.
func frontMatter(src []byte) (head, body []byte, ok bool) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	first, _, _ := bytes.Cut(src, []byte("\n"))
	if strings.TrimRight(string(first), " \t\r") != "---" {
		return nil, nil, false
	}
	for at := len(first) + 1; at < len(src); {
		line, _, _ := bytes.Cut(src[at:], []byte("\n"))
		next := min(len(src), at+len(line)+1)
		if strings.TrimRight(string(line), " \t\r") == "---" {
			return src[:at], src[next:], true
		}
		at = next
	}
	return nil, nil, false
}

// addSkillText adds the skill that a SKILL.md declares.
func (l *loader) addSkillText(n *node, body []byte) {
	bad := len(l.out.list)
	e := skillEntry{Effect: skills.Irreversible}
	for i := range n.entries {
		en := &n.entries[i]
		switch en.key {
		case "name":
			e.Name = l.entryText(en)
			if !strings.Contains(e.Name, ".") {
				e.Name = textDomain + e.Name
			}
		case "description":
			e.Description = l.entryText(en)
		case "parameters":
			if raw, ok := l.dec.decodeJSON(place{en.val, en.pos, "parameters"}); ok {
				e.Parameters = raw
			}
		case "run":
			l.out.add(en.pos, "a SKILL.md can't say how it runs; declare a skill with run in a YAML file")
		}
	}
	if n.get("name") == nil {
		l.out.add(n.pos, "name is missing")
	}
	if len(l.out.list) > bad {
		l.namesMissing = true
		return
	}
	l.pending = append(l.pending, pendingSkill{n: n, base: SkillPath(e.Name, ""), spec: skills.Spec(e), text: string(body), clean: true})
}

// entryText returns an entry's text, and reports a value that is none.
func (l *loader) entryText(en *entry) string {
	if en.val.kind != scalarNode || en.val.bad || en.val.isNull() {
		l.out.add(en.pos, "%s must be text", en.key)
		return ""
	}
	return en.val.text
}

// nameLine matches a line that seems to name a skill, in a file that can't be
// read.
var nameLine = regexp.MustCompile(`(?m)^[ \t]*(?:-[ \t]+)?\{?[ \t]*name:[ \t]*["']?([a-z0-9_.-]+)`)

// guessNames takes the names of skills out of a file that can't be read. So rules
// about them are no further mistakes, and other unknown names still are.
func (l *loader) guessNames(src []byte) {
	found := false
	for _, m := range nameLine.FindAllSubmatch(src, -1) {
		name := string(m[1])
		if _, known := l.names[name]; !skills.ValidName(name) || known {
			continue
		}
		found = true
		l.names[name] = Position{}
		l.mistakenNames = append(l.mistakenNames, name)
	}
	l.namesMissing = l.namesMissing || !found
}
