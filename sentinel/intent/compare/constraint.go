package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"

	"github.com/vedette-dev/vedette/skills"
)

const (
	// MaxWhen is the greatest length of a condition in characters.
	MaxWhen = 8 << 10
	// costLimit bounds one evaluation in CEL's cost units.
	costLimit = 100_000
	// interruptEvery is after how many turns of a loop the context is looked at.
	interruptEvery = 100
)

// Variables are the names that a Constraint may use, with their types in CEL. What isn't set in the intent is "", 0 or
// an empty list; has_budget and has_deadline tell a budget of nothing from none.
func Variables() map[string]*cel.Type {
	texts := cel.ListType(cel.StringType)
	return map[string]*cel.Type{
		"action": cel.StringType, "risk": cel.StringType, "topic": cel.StringType, "topic_words": texts, "expertise": texts,
		"references": texts, "has_budget": cel.BoolType, "budget": cel.DoubleType, "currency": cel.StringType,
		"max_results": cel.IntType, "max_length": cel.IntType, "has_deadline": cel.BoolType, "deadline_days": cel.IntType,
		"domains": texts, "entities": cel.MapType(cel.StringType, texts), "user": cel.StringType,
	}
}

// variables are the values of Variables.
func (c *comparison) variables() map[string]any {
	cs := c.i.Constraints()
	m, hasBudget := cs.Budget()
	entities := map[string][]string{}
	for _, e := range cs.Entities() {
		entities[e.Kind()] = append(entities[e.Kind()], e.Name())
	}
	days := 0
	if !cs.Deadline().IsZero() {
		days = cs.Deadline().DaysAfter(c.f.Today)
	}
	return map[string]any{
		"action": c.i.Action().String(), "risk": c.vocabulary.Risk(c.i.Action()).String(), "topic": c.i.Topic().String(),
		"topic_words": c.i.Topic().Words(), "expertise": asTexts(c.i.Expertise()), "references": asTexts(c.i.References()),
		"has_budget": hasBudget, "budget": float64(m.Minor()) / 100, "currency": m.Currency(), "max_results": cs.MaxResults(),
		"max_length": cs.MaxLength(), "has_deadline": !cs.Deadline().IsZero(), "deadline_days": days, "domains": asTexts(cs.Domains()),
		"entities": entities, "user": c.f.User,
	}
}

// asTexts lists parts as texts.
func asTexts[T interface{ String() string }](list []T) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = one.String()
	}
	return out
}

// rule is a compiled constraint.
type rule struct {
	id, reason string
	then       Verdict
	program    cel.Program
}

// compileConstraints compiles the conditions, and reports each mistake.
func compileConstraints(errs *pathErrors, list []Constraint) []rule {
	if len(list) == 0 {
		return nil
	}
	opts := []cel.EnvOption{ext.Strings(), cel.ParserExpressionSizeLimit(MaxWhen)}
	for name, kind := range Variables() {
		opts = append(opts, cel.Variable(name, kind))
	}
	env, err := cel.NewEnv(opts...)
	if err != nil {
		errs.add("policy.constraints", "the language of conditions could not be set up: %v", err)
		return nil
	}
	out := make([]rule, 0, len(list))
	ids := map[string]bool{}
	for i, in := range list {
		at := fmt.Sprintf("policy.constraints[%d]", i)
		r := rule{id: in.ID, reason: strings.Join(strings.Fields(in.Reason), " ")}
		if r.id == "" {
			r.id = fmt.Sprintf("constraint-%d", i+1)
		}
		if ids[r.id] {
			errs.add(at+".id", "is that of another constraint already; give one of them another id")
		}
		ids[r.id] = true
		if r.reason == "" {
			r.reason = "The constraint " + r.id + " holds."
		}
		switch in.Then {
		case "soft":
			r.then = Soft
		case "hard":
			r.then = Hard
		case "blocked":
			r.then = Blocked
		default:
			errs.add(at+".then", "must be one of soft, hard, blocked, not %q", in.Then)
		}
		if r.program, err = compileCondition(env, in.When); err != nil {
			errs.add(at+".when", "%s", err.Error())
		}
		out = append(out, r)
	}
	return out
}

// compileCondition compiles one condition.
func compileCondition(env *cel.Env, when string) (cel.Program, error) {
	tree, issues := env.Compile(when)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		hint := ""
		if name, ok := strings.CutPrefix(first.Message, "undeclared reference to '"); ok {
			name, _, _ = strings.Cut(name, "'")
			var known []string
			for v := range Variables() {
				known = append(known, v)
			}
			if near := skills.Nearest(name, known); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
		}
		return nil, fmt.Errorf("is no valid condition: %s%s", first.Message, hint)
	}
	if !tree.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("is a %s; a condition must be true or false, such as budget > 100.0", tree.OutputType())
	}
	return env.Program(tree, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(costLimit), cel.InterruptCheckFrequency(interruptEvery))
}

var errNoAnswer = errors.New("the condition gave neither true nor false")

// evaluate reports whether the condition holds.
func (r rule) evaluate(ctx context.Context, vars map[string]any) (bool, error) {
	out, _, err := r.program.ContextEval(ctx, vars)
	if err != nil {
		return false, err
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, errNoAnswer
	}
	return holds, nil
}
