package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"context"

	"github.com/vedette-dev/vedette/internal/userglob"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// MaxWhen is the greatest length of a condition in characters.
const MaxWhen = 8 << 10

// interruptEvery is after how many turns of a condition's loop the library looks
// at the context.
const interruptEvery = 100

// compiler checks rules and compiles their conditions.
type compiler struct {
	env   *cel.Env
	reg   *skills.Registry
	known []string // skills that are not in reg
	cost  uint64
	// partial is Options.Partial.
	partial bool
}

// coversUnregistered reports whether the rule is about a skill that isn't in the
// registry. Nothing is known here of such a skill's arguments.
func (c *compiler) coversUnregistered(r *rule) bool {
	return c.partial || slices.ContainsFunc(c.known, r.covers)
}

// skillNames returns the names of all skills that there are.
func (c *compiler) skillNames() []string { return append(c.reg.Names(), c.known...) }

// newCompiler sets up the language of conditions with its names and bounds.
func newCompiler(o Options) (*compiler, error) {
	opts := []cel.EnvOption{
		ext.Strings(), flowOption(),
		cel.EnableMacroCallTracking(), // so that exists and its like can be shown as they were written
		cel.ParserExpressionSizeLimit(MaxWhen),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
	}
	for _, v := range knownVariables {
		opts = append(opts, cel.Variable(v.name, v.kind))
	}
	env, err := cel.NewEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("the language of conditions could not be set up: %w", err)
	}
	c := &compiler{env: env, reg: o.Registry, cost: o.CostLimit, partial: o.Partial}
	for _, name := range o.Known {
		if _, there := o.Registry.Get(name); !there {
			c.known = append(c.known, name)
		}
	}
	if c.cost == 0 {
		c.cost = DefaultCostLimit
	}
	return c, nil
}

// compileRule checks one rule and returns it with every mistake in it.
func (c *compiler) compileRule(i int, in Rule) (*rule, error) {
	at := fmt.Sprintf("permissions[%d]", i)
	id := in.ID
	if id == "" {
		id = at
	}
	r := &rule{
		id: id, index: i, signal: "rule " + id, reason: strings.Join(strings.Fields(in.Reason), " "),
		word: in.Then, skill: in.Skill, when: in.When,
	}
	if r.reason == "" {
		r.reason = r.signal + " says " + in.Then
	}
	var errs []error
	var err error
	r.covers, err = c.compilePattern(at+".skill", in.Skill)
	errs = append(errs, err)
	for j, u := range in.Users {
		g, mistake := userglob.Parse(u)
		if mistake != "" {
			errs = append(errs, &skills.PathError{Path: fmt.Sprintf("%s.users[%d]", at, j), Msg: mistake})
		}
		r.users, r.globs = append(r.users, g), append(r.globs, u)
	}
	switch in.Then {
	case Allow:
		r.then = sentinel.Allow
	case Ask:
		r.then = sentinel.Ask
	case Deny:
		r.then = sentinel.Deny
	case Modify:
	default:
		errs = append(errs, &skills.PathError{Path: at + ".then", Msg: thenMistake(in.Then)})
	}
	if in.When != "" {
		errs = append(errs, c.compileWhen(at+".when", in.When, r))
	}
	errs = append(errs, c.compileOps(at, in, r))
	return r, errors.Join(errs...)
}

// thenMistake says what is wrong with a rule's then.
func thenMistake(got string) string {
	if got == "" {
		return "is missing; say allow, ask, deny or modify"
	}
	msg := fmt.Sprintf("%q is not one of allow, ask, deny, modify", got)
	if near := skills.Nearest(got, []string{Allow, Ask, Deny, Modify}); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return msg
}

// compilePattern returns which names the pattern is about. With a registry a
// pattern that is about no skill is a mistake: the rule could never match.
func (c *compiler) compilePattern(at, pattern string) (func(string) bool, error) {
	none := func(string) bool { return false }
	if pattern == "" {
		return none, &skills.PathError{Path: at, Msg: "is missing; name a skill, a domain such as email.* or *"}
	}
	if pattern == "*" {
		return func(string) bool { return true }, nil
	}
	scope, err := skills.NewScope(pattern)
	if err != nil {
		return none, &skills.PathError{
			Path: at, Msg: fmt.Sprintf("%q is no skill name such as email.read, no domain such as email.* and not *", pattern)}
	}
	if c.reg != nil && !c.partial && !slices.ContainsFunc(c.skillNames(), scope.Allows) {
		msg := fmt.Sprintf("no skill is called %q, so the rule can't match", pattern)
		if near := skills.Nearest(pattern, c.skillNames()); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		} else {
			msg += "; go doc ./sentinel/permission lists the names"
		}
		return none, &skills.PathError{Path: at, Msg: msg}
	}
	return scope.Allows, nil
}

// compileWhen compiles the condition into r.
func (c *compiler) compileWhen(at, text string, r *rule) error {
	tree, issues := c.env.Compile(text)
	if issues.Err() != nil {
		return c.explainIssues(at, text, issues)
	}
	if !tree.OutputType().IsExactType(cel.BoolType) {
		return &skills.PathError{Path: at,
			Msg: fmt.Sprintf("is a %s; a condition must be true or false, such as args.draft == true", tree.OutputType())}
	}
	read := argsRead(tree.NativeRep())
	for _, a := range read {
		r.args = append(r.args, a.name)
	}
	slices.Sort(r.args)
	if err := errors.Join(c.checkArguments(at, read, r), c.checkComparisons(at, tree, r), checkFlows(c, at, tree)); err != nil {
		return err
	}
	if c.isConstantlyFalse(tree) {
		return &skills.PathError{Path: at, Msg: "is always false, so the rule can't match; correct the condition, or remove the rule"}
	}
	program, err := c.env.Program(tree, cel.EvalOptions(cel.OptOptimize),
		cel.CostLimit(c.cost), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil {
		return &skills.PathError{Path: at, Msg: "can't be compiled: " + err.Error()}
	}
	r.tree, r.program, r.loops = tree, program, hasLoop(tree.NativeRep())
	return nil
}

// hasLoop reports whether a condition goes through a list or a map, as exists and all do.
func hasLoop(tree *ast.AST) bool {
	found := false
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.ComprehensionKind
	}))
	return found
}

// explainIssues makes a mistake of each part of the compiler's report. For a misspelt
// name under call or grant it names the nearest. The compiler would only say that it
// knows no "call".
func (c *compiler) explainIssues(path, text string, issues *cel.Issues) error {
	var errs []error
	fail := func(at place, msg string) { errs = append(errs, mistakeAt(path, at, "is no valid condition: "+msg)) }
	var fields []namedPlace
	if tree, bad := c.env.Parse(text); bad.Err() == nil {
		fields = unknownFields(tree.NativeRep())
	}
	for _, f := range fields {
		msg := "there is no " + f.name
		if near := skills.Nearest(f.name, variableNames()); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
		fail(f.place, msg)
	}
	seen := map[string]bool{}
	for _, e := range issues.Errors() {
		at, msg := place{e.Location.Line(), e.Location.Column() + 1}, firstLine(e.Message)
		if isUnknownField(msg, fields) || seen[fmt.Sprint(at, msg)] {
			continue // said better above, or before
		}
		seen[fmt.Sprint(at, msg)] = true
		if strings.HasPrefix(msg, "Syntax error") {
			if meant, where, ok := meantOperator(text, at); ok {
				fail(where, meant)
				break // what follows is a consequence
			}
		}
		fail(startName(text, at), msg)
	}
	return errors.Join(errs...)
}

// isUnknownField reports whether a report of the compiler is about a name under call or grant.
func isUnknownField(msg string, fields []namedPlace) bool {
	rest, undeclared := strings.CutPrefix(msg, "undeclared reference to '")
	name, _, _ := strings.Cut(rest, "'")
	return undeclared && slices.ContainsFunc(fields, func(f namedPlace) bool {
		return name == f.name || strings.HasPrefix(f.name, name+".")
	})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// variableNames returns every name that a condition may use.
func variableNames() []string {
	names := []string{"args"}
	for _, v := range knownVariables {
		names = append(names, v.name)
	}
	return names
}

// unknownFields returns names such as call.skil, as they stand in the text.
func unknownFields(tree *ast.AST) []namedPlace {
	var out []namedPlace
	names := variableNames()
	visitSelections(tree, func(operand, field string, id int64) {
		if (operand == "call" || operand == "grant") && !slices.Contains(names, operand+"."+field) {
			out = append(out, namedPlace{operand + "." + field, placeOf(tree, id)})
		}
	})
	return firstPlaces(out)
}

// argsRead returns the top-level arguments that the condition names, as args.to or
// args["to"], each where it first stands.
func argsRead(tree *ast.AST) []namedPlace {
	var out []namedPlace
	visitSelections(tree, func(operand, field string, id int64) {
		if operand == "args" {
			out = append(out, namedPlace{field, placeOf(tree, id)})
		}
	})
	return firstPlaces(out)
}

// visitSelections calls fn for each operand.field, operand["field"] and "field" in
// operand. The operand must be a plain name; id is the operand's.
func visitSelections(tree *ast.AST, fn func(operand, field string, id int64)) {
	ast.PostOrderVisit(ast.NavigateAST(tree), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			if s := e.AsSelect(); s.Operand().Kind() == ast.IdentKind {
				fn(s.Operand().AsIdent(), s.FieldName(), s.Operand().ID())
			}
		case ast.CallKind:
			call := e.AsCall()
			if len(call.Args()) != 2 {
				return
			}
			operand, index := call.Args()[0], call.Args()[1]
			switch call.FunctionName() {
			case "_[_]":
			case "@in": // 'cc' in args
				operand, index = index, operand
			default:
				return
			}
			if operand.Kind() != ast.IdentKind || index.Kind() != ast.LiteralKind {
				return
			}
			if s, ok := index.AsLiteral().(types.String); ok {
				fn(operand.AsIdent(), string(s), operand.ID())
			}
		}
	}))
}

// isConstantlyFalse folds the condition as far as it goes without a call. What
// can't be folded may be true.
func (c *compiler) isConstantlyFalse(tree *cel.Ast) bool {
	folding, err := cel.NewConstantFoldingOptimizer()
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

// isFalseForSkill folds the condition with what is constant of a skill. It
// compiles the condition again, because folding writes into the tree.
func (c *compiler) isFalseForSkill(when string, s *skills.Skill) bool {
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

// readTerms evaluates the condition once more and keeps what its parts came to.
func (c *compiler) readTerms(ctx context.Context, r *rule, f *facts) []Term {
	program, err := c.env.Program(r.tree, cel.EvalOptions(cel.OptTrackState),
		cel.CostLimit(c.cost), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil {
		return nil
	}
	_, details, _ := program.ContextEval(ctx, f) // the error is the rule's, and was told
	if details == nil || details.State() == nil {
		return nil
	}
	t := &termReader{state: details.State(), info: r.tree.NativeRep().SourceInfo()}
	t.readQuestion(r.tree.NativeRep().Expr())
	return t.out
}
