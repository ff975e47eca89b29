package permission

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
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

// Lint looks for rules without effect. It errs on the side of silence: what
// it finds is so, and there may be more. Mistakes are New's to report; where
// there are any the error is New's.
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
		l.rule(r)
	}
	if !g.allow {
		l.uncovered()
	}
	return l.out, nil
}

type linter struct {
	g   *Gate
	reg *skills.Registry
	out []LintFinding
}

func (l *linter) add(code, at, format string, args ...any) {
	l.out = append(l.out, LintFinding{code, at, fmt.Sprintf(format, args...)})
}

func at(r *rule) string { return fmt.Sprintf("permissions[%d]", r.index) }

// rule reports the first thing that is wrong with r: the rest follows from it.
func (l *linter) rule(r *rule) {
	if r.tree != nil && l.never(r) {
		l.add(LintNever, at(r)+".when", "the condition is false for every skill that the rule is about, so the rule can't match")
		return
	}
	for _, by := range l.g.all {
		same := l.same(r, by)
		switch {
		case by == r || by.index > r.index && same:
			continue // the later of two that are alike is the one to remove
		case same:
			l.add(LintDuplicate, at(r), "says the same as %s", by.signal)
			return
		case l.shadows(by, r):
			l.add(LintShadowed, at(r), "never matters: %s says %s of every call that it fits%s", by.signal, by.word, unlessError(r, by))
			return
		}
	}
	if r.word == Allow && l.g.allow {
		l.add(LintNoEffect, at(r), "allow changes nothing while permissions_default is allow%s", unlessError(r, nil))
	}
}

// unlessError says what is left of a rule whose condition may fail.
func unlessError(r, by *rule) string {
	if r.tree == nil || by != nil && (by.word == Deny || by.text() == r.text()) {
		return ""
	}
	return "; it can only deny, where its condition can't be evaluated"
}

// same reports whether two rules are about the same calls and say the same.
func (l *linter) same(a, b *rule) bool {
	return a.word == b.word && l.covers(a, b) && l.covers(b, a) && users(a, b) && users(b, a) &&
		a.text() == b.text() && reflect.DeepEqual(a.ops, b.ops)
}

// shadows reports whether whenever r fits, by fits too and is at least as
// strict. A rewrite happens all the same unless the call is denied.
func (l *linter) shadows(by, r *rule) bool {
	switch {
	case by.word == Modify, r.word == Modify && by.word != Deny:
		return false
	case r.word != Modify && by.then > r.then:
		return false
	case by.then == r.then && r.word != Modify && by.index > r.index && l.shadowsBack(r, by):
		return false // of two that shadow each other the later goes
	}
	return l.covers(by, r) && users(by, r) && (by.tree == nil || by.text() == r.text())
}

func (l *linter) shadowsBack(by, r *rule) bool {
	return l.covers(by, r) && users(by, r) && (by.tree == nil || by.text() == r.text())
}

// covers reports whether outer is about every skill that inner is about.
func (l *linter) covers(outer, inner *rule) bool {
	return !slices.ContainsFunc(l.g.compiler.names(), func(n string) bool { return inner.covers(n) && !outer.covers(n) })
}

// users reports whether outer is about every user that inner is about.
func users(outer, inner *rule) bool {
	if len(outer.globs) == 0 || slices.Contains(outer.globs, "*") {
		return true
	}
	if len(inner.globs) == 0 {
		return false
	}
	return !slices.ContainsFunc(inner.globs, func(u string) bool {
		plain := !strings.ContainsAny(u, "*?[")
		return !slices.Contains(outer.globs, u) && !(plain && outer.forUser(u))
	})
}

// text is the condition without matters of style.
func (r *rule) text() string {
	if r.tree == nil {
		return ""
	}
	s, err := parser.Unparse(r.tree.NativeRep().Expr(), r.tree.NativeRep().SourceInfo())
	if err != nil {
		return r.when
	}
	return s
}

// never reports whether what is known of each of the rule's skills makes its
// condition false.
func (l *linter) never(r *rule) bool {
	if l.g.compiler.elsewhere(r) {
		return false
	}
	any := false
	for _, name := range l.reg.Names() {
		if !r.covers(name) {
			continue
		}
		any = true
		s, _ := l.reg.Get(name)
		if !l.g.compiler.falseFor(r.when, s) {
			return false
		}
	}
	return any
}

// falseFor folds the condition with what is constant of a skill. It compiles the
// condition again, because folding writes into the tree.
func (c *compiler) falseFor(when string, s *skills.Skill) bool {
	tree, issues := c.env.Compile(when)
	if issues.Err() != nil {
		return false
	}
	known, err := cel.NewActivation(map[string]any{
		"call.skill": s.Name(), "call.effect": string(s.Effect()), "call.reaches": string(s.Reaches()),
	})
	if err != nil {
		return false
	}
	folding, err := cel.NewConstantFoldingOptimizer(cel.FoldKnownValues(known))
	if err != nil {
		return false
	}
	optimizer, err := cel.NewStaticOptimizer(folding)
	if err != nil {
		return false
	}
	folded, issues := optimizer.Optimize(c.env, tree)
	if issues.Err() != nil {
		return false
	}
	e := folded.NativeRep().Expr()
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.False
}

// uncovered names the skills that nothing opens.
func (l *linter) uncovered() {
	for _, name := range l.reg.Names() {
		if !slices.ContainsFunc(l.g.rules, func(r *rule) bool { return r.word != Deny && r.covers(name) }) {
			l.add(LintUncovered, "skills["+name+"]",
				"no rule allows %s or asks about it, and permissions_default is deny: every call of it is denied", name)
		}
	}
}
