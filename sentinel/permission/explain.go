package permission

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
	"cel.dev/cel-go/parser"

	"github.com/vedette-dev/vedette/sentinel"
)

// State is what became of one rule on one call.
type State string

// The states of a rule.
const (
	OtherSkill State = "other_skill" // the rule is about other skills
	OtherUser  State = "other_user"  // the rule is about other users
	NoMatch    State = "no_match"    // its condition is false
	Match      State = "match"       // it fits; for a rewrite: it was applied
	Errored    State = "error"       // its condition could not be evaluated: it denies
)

// Term is a part of a condition and its value on the call.
type Term struct {
	Text  string
	Value string
}

// Explained is one rule on one call. Its terms and its error hold argument
// values: it is for the operator's own eyes and belongs in no log.
type Explained struct {
	// Index is the rule's place in Options.Rules, ID its name in records.
	Index int
	ID    string
	Skill string
	Then  string
	When  string
	State State
	// Terms are the parts of the condition that were looked at.
	Terms []Term
	// Err says why the rule could not be evaluated, or applied.
	Err string
}

// The greatest numbers of terms and of characters of a value in an Explained.
const (
	maxTerms = 40
	maxValue = 200
)

// Explain says of every rule what it makes of the call, in the order written.
// Rules that rewrite see the call as it was proposed. The others see the call as
// it is judged. Explain is for people: slow, and with values.
func (g *Gate) Explain(ctx context.Context, c sentinel.Call) []Explained {
	out := make([]Explained, len(g.all))
	judged, proposed := &facts{call: c, now: g.now}, &facts{call: c.Proposed(), now: g.now}
	for i, r := range g.all {
		f := judged
		if r.word == Modify {
			f = proposed
		}
		out[i] = Explained{Index: r.index, ID: r.id, Skill: r.skill, Then: r.word, When: r.when}
		g.explainRule(ctx, r, f, &out[i])
	}
	return out
}

// explainRule fills in e what one rule says of the call in f.
func (g *Gate) explainRule(ctx context.Context, r *rule, f *facts, e *Explained) {
	switch {
	case f.call.Skill() == nil || !r.covers(f.call.Skill().Name()):
		e.State = OtherSkill
		return
	case !r.isForUser(f.call.Grant().User()):
		e.State = OtherUser
		return
	}
	fits, err := r.fitsCall(ctx, f)
	if r.tree != nil {
		e.Terms = g.compiler.readTerms(ctx, r, f)
	}
	switch {
	case err != nil:
		e.State, e.Err = Errored, err.Error()
	case !fits:
		e.State = NoMatch
	default:
		e.State = Match
		if r.word == Modify {
			args := make(map[string]any, len(f.call.Parsed()))
			for k, v := range f.call.Parsed() {
				args[k] = v
			}
			if _, err := r.rewriteArguments(f.call, args); err != nil {
				e.State, e.Err = Errored, err.Error()
			}
		}
	}
}

// termReader collects the parts of an evaluated condition.
type termReader struct {
	state interpreter.EvalState
	info  *ast.SourceInfo
	out   []Term
}

// readQuestion descends through and, or, not and ?: to the questions of the
// condition. It shows each question with what the question looks at.
func (t *termReader) readQuestion(e ast.Expr) {
	if e.Kind() == ast.CallKind {
		switch call := e.AsCall(); call.FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional:
			for _, a := range call.Args() {
				t.readQuestion(a)
			}
			return
		}
	}
	if !t.addTerm(e) {
		return
	}
	t.readOperands(e)
}

// readOperands shows the variables and arguments behind a question.
func (t *termReader) readOperands(e ast.Expr) {
	if e.Kind() != ast.CallKind {
		return
	}
	call := e.AsCall()
	parts := slices.Clone(call.Args())
	if call.IsMemberFunction() {
		parts = append([]ast.Expr{call.Target()}, parts...)
	}
	for _, p := range parts {
		switch p.Kind() {
		case ast.IdentKind, ast.SelectKind:
			t.addTerm(p)
		case ast.CallKind:
			t.addTerm(p)
			t.readOperands(p)
		}
	}
}

// addTerm keeps the value of e, and reports whether it has one.
func (t *termReader) addTerm(e ast.Expr) bool {
	v, ok := t.state.Value(e.ID())
	if !ok || v == nil || len(t.out) >= maxTerms {
		return false
	}
	text, err := parser.Unparse(e, t.info)
	if err != nil {
		return false
	}
	term := Term{cutValue(text), showValue(v)}
	if !slices.Contains(t.out, term) {
		t.out = append(t.out, term)
	}
	return true
}

// showValue writes a value for people, cut to a line.
func showValue(v ref.Val) string {
	switch v := v.(type) {
	case types.String:
		return strconv.Quote(cutValue(string(v)))
	case *types.Err:
		return "error: " + cutValue(v.Error())
	}
	return cutValue(fmt.Sprint(v.Value()))
}

// cutValue shortens a text to what fits a line.
func cutValue(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if r := []rune(s[:min(len(s), 8*maxValue)]); len(r) > maxValue {
		return string(r[:maxValue]) + "…"
	}
	return s
}
