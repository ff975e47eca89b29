package permission

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cel.dev/cel-go/parser"

	"github.com/vedette-dev/vedette/skills"
)

// The codes of Lint.
const (
	LintNever     = "rule.never"       // the rule can't match
	LintShadowed  = "rule.shadowed"    // another rule always decides in its place
	LintDuplicate = "rule.duplicate"   // another rule says the same
	LintNoEffect  = "rule.no_effect"   // an allow rule where the default is allow
	LintUncovered = "skill.never_open" // no rule opens the skill and the default is deny
)

// LintFinding is something in the rules that is allowed and does nothing, or
// less than it seems to.
type LintFinding struct {
	Code string
	// Path is the configuration path it is about: "permissions[2]",
	// "permissions[2].when", "skills[email.send]".
	Path string
	Msg  string
}

// Lint looks for rules without effect. What Lint finds is so, and there may be
// more. Mistakes are New's to report: where there are any, the error is New's.
func Lint(o Options) ([]LintFinding, error) {
	g, err := New(o)
	if err != nil {
		return nil, err
	}
	if o.Registry == nil {
		return nil, errors.New("rules can't be looked through without the registry of skills")
	}
	l := &linter{g: g, reg: o.Registry}
	for _, r := range g.all {
		l.lintRule(r)
	}
	if !g.allow {
		l.findUncovered()
	}
	return l.out, nil
}

type linter struct {
	g   *Gate
	reg *skills.Registry
	out []LintFinding
}

// addFinding keeps one finding.
func (l *linter) addFinding(code, at, format string, args ...any) {
	l.out = append(l.out, LintFinding{code, at, fmt.Sprintf(format, args...)})
}

// rulePath returns the rule's configuration path.
func rulePath(r *rule) string { return fmt.Sprintf("permissions[%d]", r.index) }

// lintRule reports the first thing that is wrong with r: the rest follows from it.
func (l *linter) lintRule(r *rule) {
	if r.tree != nil && l.neverMatches(r) {
		l.addFinding(LintNever, rulePath(r)+".when", "the condition is false for every skill that the rule is about, so the rule can't match")
		return
	}
	for _, by := range l.g.all {
		same := l.saysSame(r, by)
		switch {
		case by == r || by.index > r.index && same:
			continue // the later of two that are alike is the one to remove
		case same:
			l.addFinding(LintDuplicate, rulePath(r), "says the same as %s", by.signal)
			return
		case l.shadowsRule(by, r):
			l.addFinding(LintShadowed, rulePath(r), "never matters: %s says %s of every call that it fits%s", by.signal, by.word, unlessError(r, by))
			return
		}
	}
	if r.word == Allow && l.g.allow {
		l.addFinding(LintNoEffect, rulePath(r), "allow changes nothing while permissions_default is allow%s", unlessError(r, nil))
	}
}

// unlessError says what is left of a rule whose condition may fail.
func unlessError(r, by *rule) string {
	if r.tree == nil || by != nil && (by.word == Deny || by.conditionText() == r.conditionText()) {
		return ""
	}
	return "; it can only deny, where its condition can't be evaluated"
}

// saysSame reports whether two rules are about the same calls and say the same.
func (l *linter) saysSame(a, b *rule) bool {
	return a.word == b.word && l.coversSkills(a, b) && l.coversSkills(b, a) && coversUsers(a, b) && coversUsers(b, a) &&
		a.conditionText() == b.conditionText() && reflect.DeepEqual(a.ops, b.ops)
}

// shadowsRule reports whether by fits whenever r fits and is at least as strict. A
// rewrite happens all the same unless the call is denied.
func (l *linter) shadowsRule(by, r *rule) bool {
	switch {
	case by.word == Modify, r.word == Modify && by.word != Deny:
		return false
	case r.word != Modify && by.then > r.then:
		return false
	case by.then == r.then && r.word != Modify && by.index > r.index && l.coversCalls(r, by):
		return false // of two that shadow each other the later goes
	}
	return l.coversCalls(by, r)
}

// coversCalls reports whether by fits every call that r fits.
func (l *linter) coversCalls(by, r *rule) bool {
	return l.coversSkills(by, r) && coversUsers(by, r) && (by.tree == nil || by.conditionText() == r.conditionText())
}

// coversSkills reports whether outer is about every skill that inner is about.
func (l *linter) coversSkills(outer, inner *rule) bool {
	return !slices.ContainsFunc(l.g.compiler.skillNames(), func(n string) bool { return inner.covers(n) && !outer.covers(n) })
}

// coversUsers reports whether outer is about every user that inner is about.
func coversUsers(outer, inner *rule) bool {
	if len(outer.globs) == 0 || slices.Contains(outer.globs, "*") {
		return true
	}
	if len(inner.globs) == 0 {
		return false
	}
	return !slices.ContainsFunc(inner.globs, func(u string) bool {
		plain := !strings.ContainsAny(u, "*?[")
		return !slices.Contains(outer.globs, u) && !(plain && outer.isForUser(u))
	})
}

// conditionText returns the condition without matters of style.
func (r *rule) conditionText() string {
	if r.tree == nil {
		return ""
	}
	s, err := parser.Unparse(r.tree.NativeRep().Expr(), r.tree.NativeRep().SourceInfo())
	if err != nil {
		return r.when
	}
	return s
}

// neverMatches reports whether what is known of each of the rule's skills makes
// its condition false.
func (l *linter) neverMatches(r *rule) bool {
	if l.g.compiler.coversUnregistered(r) {
		return false
	}
	any := false
	for _, name := range l.reg.Names() {
		if !r.covers(name) {
			continue
		}
		any = true
		s, _ := l.reg.Get(name)
		if !l.g.compiler.isFalseForSkill(r.when, s) {
			return false
		}
	}
	return any
}

// findUncovered reports the skills that no rule opens.
func (l *linter) findUncovered() {
	for _, name := range l.reg.Names() {
		if !slices.ContainsFunc(l.g.rules, func(r *rule) bool { return r.word != Deny && r.covers(name) }) {
			l.addFinding(LintUncovered, "skills["+name+"]",
				"no rule allows %s or asks about it, and permissions_default is deny: every call of it is denied", name)
		}
	}
}
