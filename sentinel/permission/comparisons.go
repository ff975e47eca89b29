package permission

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// closedWords returns the words that each closed name can hold. For a list these
// are the words of its elements. A comparison with another word is a typo: it is
// never true.
func (c *compiler) closedWords() map[string][]string {
	effects := make([]string, 0, len(skills.Effects()))
	for _, e := range skills.Effects() {
		effects = append(effects, string(e))
	}
	out := map[string][]string{
		"call.effect": effects, "call.reaches": {string(skills.Self), string(skills.Others)},
		"grant.mission_by": {string(sentinel.ByUser), string(sentinel.ByOperator), string(sentinel.ByOrchestrator), ""},
		"call.flags":       {sentinel.FlagBidi, sentinel.FlagControl, sentinel.FlagZeroWidth},
	}
	if c.reg != nil && !c.partial {
		out["call.skill"] = c.skillNames()
		out["grant.scope"] = scopesOf(c.skillNames())
	}
	return out
}

// scopesOf returns the names and all domains that a grant may hold.
func scopesOf(names []string) []string {
	out := slices.Clone(names)
	for _, n := range names {
		for i := strings.LastIndexByte(n, '.'); i > 0; i = strings.LastIndexByte(n[:i], '.') {
			out = append(out, n[:i]+".*")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// subject is what a part of a condition is known to hold.
type subject struct {
	name  string
	words []string          // nil where it may be any text
	fold  func(rune) rune   // what was done to every letter of it, nil for nothing
	holds func(string) bool // whether fold was done to a text that holds this part
}

// comparisons checks a condition's comparisons of closed names with literals.
type comparisons struct {
	tree  *ast.AST
	words map[string][]string
	bound map[string]subject // variables of exists, all and their like
	// listed are those of them that go through a list in the condition.
	listed map[string][]ast.Expr
	// typesOf says of which JSON types an argument can be; none: any.
	typesOf func(arg string) []string
	errs    []error
	at      string
}

// checkComparisons returns a mistake for each literal that the other side of its
// comparison can never be.
func (c *compiler) checkComparisons(at string, tree *cel.Ast, r *rule) error {
	v := &comparisons{
		tree: tree.NativeRep(), words: c.closedWords(), bound: map[string]subject{}, listed: map[string][]ast.Expr{}, at: at,
		typesOf: func(arg string) []string { return c.argumentTypes(arg, r) },
	}
	v.visit(tree.NativeRep().Expr())
	return errors.Join(v.errs...)
}

// visit checks the comparisons in e and below.
func (v *comparisons) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		v.visitCall(e.AsCall())
	case ast.SelectKind:
		v.visit(e.AsSelect().Operand())
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			v.visit(x)
		}
	case ast.MapKind:
		for _, x := range e.AsMap().Entries() {
			v.visit(x.AsMapEntry().Key())
			v.visit(x.AsMapEntry().Value())
		}
	case ast.ComprehensionKind:
		v.visitLoop(e.AsComprehension())
	}
}

// visitLoop binds the loop's variable to the elements of a closed list.
func (v *comparisons) visitLoop(c ast.ComprehensionExpr) {
	v.visit(c.IterRange())
	before, was := v.bound[c.IterVar()]
	outer := v.listed[c.IterVar()]
	v.listed[c.IterVar()] = nil
	if c.IterRange().Kind() == ast.ListKind {
		v.listed[c.IterVar()] = c.IterRange().AsList().Elements()
	}
	if s, ok := v.elementsOf(c.IterRange()); ok {
		v.bound[c.IterVar()] = s
	} else {
		delete(v.bound, c.IterVar())
	}
	for _, e := range []ast.Expr{c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
		v.visit(e)
	}
	v.listed[c.IterVar()] = outer
	delete(v.bound, c.IterVar())
	if was {
		v.bound[c.IterVar()] = before
	}
}

// visitCall checks one function or operator and what it is called with.
func (v *comparisons) visitCall(c ast.CallExpr) {
	args := c.Args()
	switch name := c.FunctionName(); {
	case (name == "_==_" || name == "_!=_") && len(args) == 2:
		v.checkEqual(args[0], args[1])
		v.checkEqual(args[1], args[0])
	case name == "@in" && len(args) == 2:
		v.checkIn(args[0], args[1])
	case c.IsMemberFunction() && len(args) == 1:
		v.checkFragment(name, c.Target(), args[0])
	}
	if c.IsMemberFunction() {
		v.visit(c.Target())
	}
	for _, a := range args {
		v.visit(a)
	}
}

// checkEqual holds a literal to the words and to the type of the other side.
func (v *comparisons) checkEqual(side, literal ast.Expr) {
	if s, ok := v.subjectOf(side); ok {
		v.mustBe(s, literal)
	}
	v.mustBeOfType(side, literal)
}

// checkIn checks x in ['a', 'b'] and 'a' in list.
func (v *comparisons) checkIn(item, list ast.Expr) {
	if s, ok := v.subjectOf(item); ok && list.Kind() == ast.ListKind {
		for _, e := range list.AsList().Elements() {
			v.mustBe(s, e)
		}
	}
	if list.Kind() == ast.ListKind {
		for _, e := range list.AsList().Elements() {
			v.mustBeOfType(item, e)
		}
	}
	if s, ok := v.elementsOf(list); ok {
		v.mustBe(s, item)
	}
}

// mustBe refuses a literal that a subject never is. For a loop's variable it
// checks each literal of the loop's list.
func (v *comparisons) mustBe(s subject, e ast.Expr) {
	if e.Kind() == ast.IdentKind {
		for _, one := range v.listed[e.AsIdent()] {
			v.mustBe(s, one)
		}
		return
	}
	text, ok := literalText(e)
	switch {
	case !ok:
	case s.words != nil && !slices.Contains(s.words, text):
		v.addMistake(e, "%s is never %q%s", s.name, text, v.suggestWord(text, s.words))
	case s.words == nil:
		v.checkFolded(s, e, text)
	}
}

// checkFragment checks startsWith, endsWith, contains and matches.
func (v *comparisons) checkFragment(function string, target, arg ast.Expr) {
	fits, known := fragmentTests[function]
	s, ok := v.subjectOf(target)
	text, isText := literalText(arg)
	if !known || !ok || !isText {
		return
	}
	if s.words == nil {
		if function != "matches" { // an expression may say any of them
			v.checkFolded(s, arg, text)
		}
		return
	}
	if !slices.ContainsFunc(s.words, func(w string) bool { return fits(w, text) }) {
		v.addMistake(arg, "%s.%s(%q) is never true%s", s.name, function, text, v.suggestWord(text, s.words))
	}
}

var fragmentTests = map[string]func(word, text string) bool{
	"startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix, "contains": strings.Contains,
	"matches": func(word, text string) bool {
		re, err := regexp.Compile(text)
		return err != nil || re.MatchString(word) // an expression that is none is told elsewhere
	},
}

// checkFolded refuses a literal with letters that the subject no longer has.
func (v *comparisons) checkFolded(s subject, e ast.Expr, text string) {
	if is := strings.Map(s.fold, text); is != text && (s.holds == nil || s.holds(text)) {
		v.addMistake(e, "%s never holds %q; write %q", s.name, text, is)
	}
}

// suggestWord returns the end of a message: the nearest word, or all of a short
// list.
func (v *comparisons) suggestWord(text string, words []string) string {
	if near := skills.Nearest(text, words); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	if len(words) <= 8 {
		return "; it is one of " + strings.Join(words, ", ")
	}
	return ""
}

// addMistake keeps a mistake with its place in the condition.
func (v *comparisons) addMistake(e ast.Expr, format string, args ...any) {
	v.errs = append(v.errs, mistakeAt(v.at, placeOf(v.tree, e.ID()), fmt.Sprintf(format, args...)))
}

// literalText returns the text of a literal that is one.
func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// subjectOf returns what is known of one text.
func (v *comparisons) subjectOf(e ast.Expr) (subject, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		if s, ok := v.bound[name]; ok {
			return s, true
		}
		if words, ok := v.words[name]; ok && name != "call.flags" && name != "grant.scope" {
			return subject{name: name, words: words}, true
		}
	case ast.CallKind:
		c := e.AsCall()
		if name := c.FunctionName(); (name == "dyn" || name == "string") && len(c.Args()) == 1 {
			return v.subjectOf(c.Args()[0]) // the same text
		}
		if !c.IsMemberFunction() {
			return subject{}, false
		}
		switch c.FunctionName() {
		case "lowerAscii":
			return subject{name: "a text after lowerAscii()", fold: lowerASCII}, true
		case "upperAscii":
			return subject{name: "a text after upperAscii()", fold: upperASCII}, true
		case "trim", "substring":
			s, ok := v.subjectOf(c.Target())
			return s, ok && s.words == nil
		}
	}
	return subject{}, false
}

// elementsOf returns what is known of the elements of a list.
func (v *comparisons) elementsOf(e ast.Expr) (subject, bool) {
	if e.Kind() != ast.IdentKind {
		return subject{}, false
	}
	switch name := e.AsIdent(); name {
	case "call.flags", "grant.scope":
		words, ok := v.words[name]
		return subject{name: "an element of " + name, words: words}, ok
	case "call.hosts":
		return subject{name: "an element of call.hosts", fold: lowerASCII}, true
	case "call.recipients":
		// Accounts and ids keep their letters; what has an @ is an address.
		return subject{name: "an address in call.recipients", fold: unicode.ToLower,
			holds: func(s string) bool { return strings.Contains(s, "@") }}, true
	}
	return subject{}, false
}

func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func upperASCII(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r + 'A' - 'a'
	}
	return r
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

// mustBeOfType refuses a literal of a type that the argument's schema never lets
// through. Null stays: with it some rules ask whether there is a value.
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
	v.addMistake(literal, "args.%s is never a %s; its schema says %s", arg, got, strings.Join(takes, " or "))
}
