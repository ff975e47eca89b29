package permission

import (
	"errors"
	"fmt"
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/flow"
	"github.com/vedette-dev/vedette/skills"
)

// flowName is the variable whose function from tells what a call's arguments carry.
const flowName = "flow"

var flowType = types.NewOpaqueType("flow")

// flowOption declares flow.from(pattern).
func flowOption() cel.EnvOption {
	return cel.Function("from", cel.MemberOverload("flow_from_string", []*cel.Type{flowType, cel.StringType}, cel.BoolType,
		cel.BinaryBinding(func(target, pattern ref.Val) ref.Val {
			f, ok := target.(flowFacts)
			text, isText := pattern.(types.String)
			if !ok || !isText {
				return types.NoSuchOverloadErr()
			}
			covers, err := skillPattern(string(text))
			if err != nil {
				return types.WrapErr(err)
			}
			return types.Bool(flow.Carries(f.call, func(s sentinel.Step) bool { return covers(s.Skill) }))
		})))
}

// flowFacts is the value of flow: a call and what came back before it.
type flowFacts struct{ call sentinel.Call }

var errNoFlowValue = errors.New("flow is no value of its own; write flow.from('domain.*')")

// ConvertToNative refuses: conditions alone see the value.
func (flowFacts) ConvertToNative(reflect.Type) (any, error) { return nil, errNoFlowValue }

// ConvertToType refuses every type but its own name.
func (f flowFacts) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return flowType
	}
	return types.WrapErr(errNoFlowValue)
}

// Equal is true of itself alone: a call has one.
func (flowFacts) Equal(other ref.Val) ref.Val {
	_, same := other.(flowFacts)
	return types.Bool(same)
}

// Type returns flow's own.
func (flowFacts) Type() ref.Type { return flowType }

// Value returns words: what is behind them is the call's.
func (flowFacts) Value() any { return "what came back before the call" }

// skillPattern reads the name of a skill, a domain such as bank.* or *.
func skillPattern(pattern string) (func(string) bool, error) {
	if pattern == "*" {
		return func(string) bool { return true }, nil
	}
	scope, err := skills.NewScope(pattern)
	if err != nil {
		return nil, fmt.Errorf("flow.from takes a skill's name, a domain such as bank.* or *: %w", err)
	}
	return scope.Allows, nil
}

// checkFlows refuses flow.from with a literal that is about no skill: the condition could
// never be true.
func checkFlows(c *compiler, at string, tree *cel.Ast) error {
	var errs []error
	native := tree.NativeRep()
	ast.PostOrderVisit(ast.NavigateAST(native), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		if call.FunctionName() != "from" || !call.IsMemberFunction() || len(call.Args()) != 1 {
			return
		}
		text, ok := literalText(call.Args()[0])
		if !ok {
			return
		}
		var mistake *skills.PathError
		if _, err := c.compilePattern(at, text); errors.As(err, &mistake) {
			errs = append(errs, mistakeAt(at, placeOf(native, call.Args()[0].ID()), mistake.Msg))
		}
	}))
	return errors.Join(errs...)
}
