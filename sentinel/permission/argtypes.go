package permission

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// typesOf returns of which JSON types an argument can be in the skills of a rule.
// It returns none where one of them takes any type, or isn't known here.
func (c *compiler) typesOf(arg string, r *rule) []string {
	if c.reg == nil || c.elsewhere(r) {
		return nil
	}
	var out []string
	for _, name := range c.reg.Names() {
		s, _ := c.reg.Get(name)
		if !r.covers(name) || !s.Declares(arg) && !open(s) {
			continue
		}
		p := property(s, arg)
		if len(p.types) == 0 {
			return nil
		}
		out = append(out, p.types...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mustBeOfType refuses a comparison of an argument with a literal of a type that its
// schema never lets through. Null stays: it is how some write that there is a value.
func (v *comparisons) mustBeOfType(side, literal ast.Expr) {
	arg, isArg := argumentRead(side)
	got, fits := literalType(literal)
	if !isArg || got == "" {
		return
	}
	takes := v.typesOf(arg)
	if len(takes) == 0 || slices.ContainsFunc(takes, func(t string) bool { return slices.Contains(fits, t) }) {
		return
	}
	v.fail(literal, "args.%s is never a %s; its schema says %s", arg, got, strings.Join(takes, " or "))
}

// argumentRead returns the name of a top-level argument that is read as args.to or
// args["to"].
func argumentRead(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		return s.FieldName(), !s.IsTestOnly() && isArgs(s.Operand())
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() != "_[_]" || len(c.Args()) != 2 || !isArgs(c.Args()[0]) {
			return "", false
		}
		return literalText(c.Args()[1])
	}
	return "", false
}

func isArgs(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "args" }

// literalType says what a literal is, and which types of a schema can equal it.
func literalType(e ast.Expr) (got string, fits []string) {
	if e.Kind() != ast.LiteralKind {
		return "", nil
	}
	switch e.AsLiteral().(type) {
	case types.String:
		return "string", []string{"string"}
	case types.Int, types.Uint, types.Double:
		return "number", []string{"number", "integer"}
	case types.Bool:
		return "boolean", []string{"boolean"}
	}
	return "", nil
}
