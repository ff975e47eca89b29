package permission

import (
	"context"
	"errors"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/vedette-dev/vedette/internal/userglob"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// rule is a Rule that was checked and compiled.
type rule struct {
	id      string
	index   int    // its place in the list
	signal  string // "rule permissions[1]": how records name it
	covers  func(skill string) bool
	users   []userglob.Glob
	globs   []string
	tree    *cel.Ast    // nil where there is no condition
	program cel.Program // nil where there is no condition
	loops   bool        // the condition goes through a list or a map
	args    []string    // arguments that the condition reads
	then    sentinel.Outcome
	word    string // what the rule says: allow, ask, deny or modify
	reason  string
	skill   string
	when    string
	ops     []op
}

// isForUser reports whether the rule is about the user.
func (r *rule) isForUser(user string) bool {
	return len(r.users) == 0 || slices.ContainsFunc(r.users, func(g userglob.Glob) bool { return g.Matches(user) })
}

// declaredArgs returns the arguments the condition reads that the skill declares.
func (r *rule) declaredArgs(s *skills.Skill) []string {
	var out []string
	for _, a := range r.args {
		if s.Declares(a) {
			out = append(out, a)
		}
	}
	return out
}

var errNotBool = errors.New("the condition is neither true nor false")

// fitsCall reports whether the condition is true of the call; a rule without one
// always fits.
func (r *rule) fitsCall(ctx context.Context, f *facts) (bool, error) {
	if r.program == nil {
		return true, nil
	}
	out, err := r.evaluateWhen(ctx, f)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, errNotBool
	}
	return bool(b), nil
}

// evaluateWhen evaluates the condition within its cost limit. The library looks at the
// context between the turns of a loop alone, so without a loop it is spared the context.
func (r *rule) evaluateWhen(ctx context.Context, f *facts) (ref.Val, error) {
	if !r.loops {
		out, _, err := r.program.Eval(f)
		return out, err
	}
	out, _, err := r.program.ContextEval(ctx, f)
	return out, err
}
