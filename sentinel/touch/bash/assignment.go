package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assignment is what one word assigns: its value is expanded already.
type assignment struct {
	name     string
	v        value
	part     varPart
	naked    bool // declare x
	adds     bool // x+=…
	headless bool // of a list without a first element
	fails    bool // the value may be none: what the variable held stays
}

// varPart is the part of a variable that an assignment names.
type varPart uint8

const (
	wholeVar     varPart = iota // x=…, the first element of an array
	listOfVar                   // x=(…)
	firstOfVar                  // x[0]=…
	elementOfVar                // x[i]=…
)

func assignVariable(s *shell, a *syntax.Assign) {
	if a.Name == nil {
		if a.Value != nil {
			s.expandWords(a.Value)
		}
		return
	}
	if g := readAssignment(s, a); !g.naked {
		performAssignment(s, g)
	}
}

// readAssignment expands what a word assigns.
func readAssignment(s *shell, a *syntax.Assign) assignment {
	g := assignment{name: a.Name.Value, adds: a.Append, naked: a.Naked && a.Value == nil && a.Array == nil}
	if a.Index != nil { // x[$(cmd)]=1
		s.walkSubstitutions(a.Index)
		g.part = partOfIndex(a.Index)
	}
	switch {
	case g.naked:
	case a.Array != nil:
		g.part, g.v, g.headless = listOfVar, expandElements(s, a.Array), isHeadless(a.Array)
	default:
		g.v, g.fails = s.expandUnsplit(a.Value, false), mayFail(a.Value)
	}
	return g
}

func partOfIndex(index syntax.ArithmExpr) varPart {
	if w, ok := index.(*syntax.Word); ok && w.Lit() == "0" {
		return firstOfVar
	}
	return elementOfVar
}

// expandElements returns the values that an array's elements have: used as a whole, all of
// them are fields.
func expandElements(s *shell, list *syntax.ArrayExpr) value {
	var v value
	for _, e := range list.Elems {
		if e.Value == nil {
			continue
		}
		for _, f := range flattenFields(s.expandWord(e.Value)) {
			v = append(v, f.toFrags())
		}
	}
	return v
}

// isHeadless reports whether a list may lack the element that a scalar use names.
func isHeadless(list *syntax.ArrayExpr) bool {
	for i, e := range list.Elems {
		if i == 0 && e.Index == nil || e.Index != nil && partOfIndex(e.Index) == firstOfVar {
			return false
		}
	}
	return len(list.Elems) > 0
}

// mayFail reports whether the shell may refuse to expand a word: a division by what may be
// zero, or a piece beyond the end of a text. It assigns nothing then, and may go on.
func mayFail(w *syntax.Word) bool {
	if w == nil || len(w.Parts) == 1 && w.Lit() != "" {
		return false
	}
	fails := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.BinaryArithm:
			fails = fails || n.Op == syntax.Quo || n.Op == syntax.Rem
		case *syntax.UnaryArithm:
			fails = fails || n.Op == syntax.Minus
		case *syntax.ParamExp:
			fails = fails || n.Excl
		}
		return !fails
	})
	return fails
}

// readAssignmentText reads a word of a declaring builtin as an assignment: declare "x=…".
func readAssignmentText(f field) (assignment, bool) {
	left, _, found := strings.Cut(f.text, "=")
	g := assignment{naked: !found}
	name, adds := strings.CutSuffix(left, "+")
	name, index, element := strings.Cut(name, "[")
	if !syntax.ValidName(name) || !found && element {
		return g, false
	}
	g.name, g.adds = name, adds
	if element {
		if g.part = elementOfVar; index == "0]" {
			g.part = firstOfVar
		}
	}
	if !found {
		return g, true
	}
	rest := f.slice(len(left)+1, 0)
	_, rest.other, _ = strings.Cut(f.other, "=")
	if text := rest.text; strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		g.part = listOfVar
		for word := range strings.FieldsSeq(text[1 : len(text)-1]) {
			g.v = append(g.v, literalValue(strings.Trim(word, `"'`))...)
		}
		g.v = append(g.v, rest.toFrags()) // where it is no list
		return g, true
	}
	g.v = value{rest.toFrags()}
	return g, true
}

// performAssignment gives the variable of an assignment its value.
func performAssignment(s *shell, g assignment) {
	name := s.followRefs(g.name)
	v := valueOfAssignment(s, name, g)
	for i, f := range v {
		if f.size() > maxValue {
			v[i] = frags{{s: "$" + name, kind: unknownFrag}}
		}
	}
	for _, f := range v[:min(len(v), 2)] {
		if t := f.text(); strings.Contains(t, "[$(") {
			s.readSubscript(t) // what arithmetic makes of it
		}
	}
	if g.fails {
		s.unsure++
		defer func() { s.unsure-- }()
	}
	if s.hasMark(g.name, referenceVar) {
		referTo(s, g.name, v, false)
	}
	s.setWhole(g.name, v)
	s.bindVariable(name, v)
	if name != g.name {
		s.bindVariable(g.name, v)
	}
}

// valueOfAssignment returns what a variable holds after an assignment, with what it keeps
// of its elements. The first value is that of the first element.
func valueOfAssignment(s *shell, name string, g assignment) value {
	old, had := s.findHeld(name)
	if !s.budget.takeItems((len(old) + len(g.v)) / maxAlts) {
		return g.v
	}
	isArray := s.hasMark(name, arrayVar)
	kept := old[:len(old):len(old)]
	switch g.part {
	case listOfVar:
		add := arrayVar
		if g.headless && (!g.adds || !had) {
			add |= headlessVar
		}
		if g.adds {
			s.markVariable(name, add, 0)
			return append(kept, g.v...)
		}
		s.markVariable(name, add, headlessVar)
		return g.v
	case elementOfVar:
		if s.markVariable(name, arrayVar, 0); !had {
			s.markVariable(name, headlessVar, 0)
		}
		if g.adds && had { // it may be a new one
			kept = append(kept, s.combineValues(old, g.v)...)
		}
		return append(kept, g.v...)
	}
	v := g.v
	if g.adds && had {
		if v = s.combineValues(old, g.v); s.hasMark(name, perhapsVar) {
			v = append(v[:len(v):len(v)], g.v...)
		}
	}
	s.markVariable(name, 0, headlessVar)
	if isArray {
		return append(v[:len(v):len(v)], old...)
	}
	return v
}

// assignName gives a variable, or the element that a name with an index names, one value.
func assignName(s *shell, name string, v value) {
	base, index, element := strings.Cut(name, "[")
	if !element {
		s.setVariable(name, v)
		return
	}
	s.readSubscript(name)
	g := assignment{name: base, v: v, part: elementOfVar}
	if index == "0]" {
		g.part = firstOfVar
	}
	performAssignment(s, g)
}

// declaration is "declare x=1" and its kin.
type declaration struct {
	add, take attributes
	byName    bool // -n: another name for a variable
	exports   bool // it is "export"
	global    bool // -g
	local     bool // the function takes the names for itself
	given     []assignment
}

// declareNames reads a declaration. Without a name it prints those that there are.
func declareNames(s *shell, cmd *syntax.DeclClause) stream {
	d := startDeclaration(s, cmd.Variant.Value)
	for _, a := range cmd.Args { // each word is expanded before the first name has its value
		switch {
		case a.Name != nil:
			d.given = append(d.given, readAssignment(s, a))
		case a.Value != nil:
			s.readQuotedSubscript(a.Value)
			for _, f := range flattenFields(s.expandWord(a.Value)) {
				d.readWord(f)
			}
		}
	}
	declareEach(s, &d)
	return stream{open: true, taint: taint{leak: leak{secret: len(d.given) == 0}}}
}

// declareWords is a declaration whose words the shell has expanded: command export x=1.
func declareWords(s *shell, name string, args []field) {
	d := startDeclaration(s, name)
	for _, f := range args {
		d.readWord(f)
	}
	declareEach(s, &d)
}

func startDeclaration(s *shell, name string) declaration {
	d := declaration{local: s.inFunc && name != "export" && name != "readonly", byName: name == "nameref"}
	switch name {
	case "readonly":
		d.add = fixedVar
	case "export":
		d.add, d.exports = exportedVar, true
	}
	return d
}

// letters are the attributes that the options of a declaration give.
var letters = map[rune]attributes{'a': arrayVar, 'A': arrayVar, 'r': fixedVar, 'l': lowerVar, 'u': upperVar, 'x': exportedVar}

// readWord reads an option or an assignment of a declaration.
func (d *declaration) readWord(f field) {
	switch {
	case len(f.text) > 1 && f.text[0] == '-':
		for _, c := range f.text[1:] {
			d.add |= letters[c]
			if c == 'n' && d.exports {
				d.add, d.take = d.add&^exportedVar, d.take|exportedVar
			} else if c == 'n' {
				d.byName = true
			}
			d.global = d.global || c == 'g'
		}
	case len(f.text) > 1 && f.text[0] == '+':
		for _, c := range f.text[1:] {
			d.take |= letters[c] &^ (arrayVar | fixedVar)
		}
	default:
		if g, ok := readAssignmentText(f); ok {
			d.given = append(d.given, g)
		}
	}
}

// declareEach gives the names of a declaration their attributes and values.
func declareEach(s *shell, d *declaration) {
	for _, g := range d.given {
		if d.local && !d.global {
			holdLocal(s, g.name)
		}
		if d.byName {
			if g.naked {
				s.markVariable(g.name, referenceVar, 0)
				g.v = s.def.vars[g.name]
			}
			if referTo(s, g.name, g.v, d.global) {
				continue
			}
		}
		if g.naked && d.local && !d.global {
			s.doubtVariable(g.name)
		}
		name := s.followRefs(g.name)
		s.markVariable(name, d.add&^fixedVar, d.take)
		if !g.naked {
			performAssignment(s, g)
		} else if _, had := s.findHeld(name); !had && d.add&arrayVar != 0 {
			s.markVariable(name, headlessVar, 0)
		}
		s.markVariable(name, d.add&fixedVar, 0)
	}
}

// referTo makes a name stand for the variable that a value names; a global one outlives the
// function. It reports whether the value is a variable's name.
func referTo(s *shell, name string, v value, global bool) bool {
	if len(v) != 1 || v.isUnknown() || !syntax.ValidName(v[0].text()) {
		return false
	}
	if to := v[0].text(); to != name {
		s.setRef(name, to)
		if global {
			s.globals = append(s.globals, name)
		}
	}
	return true
}

// lasting are the builtins before which an assignment may stay: to a plain sh it does.
var lasting = newWordSet(": . break continue eval exec export readonly return set shift source times trap unset")

// heldBefore is what a variable held before a command that has it for itself.
type heldBefore struct {
	name       string
	old, given value
	had        bool
	marks      attributes
}

// runAssigned runs a command with variables of its own: its words are expanded already, and
// the variables hold what they held when it ends. With stays they may keep their values.
func runAssigned(s *shell, list []*syntax.Assign, stays bool, run func() stream) stream {
	if len(list) == 0 {
		return run()
	}
	held := make([]heldBefore, 0, len(list))
	for _, a := range list {
		if a.Name != nil && !a.Naked {
			held = holdAssignment(s, held, readAssignment(s, a))
		}
	}
	for i := range held {
		held[i].given = s.def.vars[held[i].name]
	}
	out := run()
	for _, h := range slices.Backward(held) {
		restoreVariable(s, h, stays)
	}
	return out
}

// holdAssignment performs an assignment for one command, whether the command may run or not,
// and adds what its variable held before.
func holdAssignment(s *shell, held []heldBefore, g assignment) []heldBefore {
	names := []string{g.name, s.followRefs(g.name)}
	for _, name := range slices.Compact(names) {
		h := heldBefore{name: name, marks: s.def.marks[name]}
		h.old, h.had = s.def.vars[name]
		held = append(held, h)
	}
	unsure, chain := s.unsure, s.chain
	s.unsure, s.chain = 0, nil
	performAssignment(s, g)
	s.markVariable(g.name, exportedVar, 0)
	s.unsure, s.chain = unsure, chain
	return held
}

// restoreVariable gives a variable back what it held before a command. What the command
// itself has made of it counts beside that.
func restoreVariable(s *shell, h heldBefore, stays bool) {
	now := s.def.vars[h.name]
	own := s.ownNames()
	stays = stays || !now.equalTexts(h.given)
	marks := h.marks
	switch {
	case h.had && stays && !now.equalTexts(h.old):
		own.vars[h.name] = append(h.old[:len(h.old):len(h.old)], now...)
		s.budget.takeItems((len(h.old) + len(now)) / maxAlts)
		marks |= own.marks[h.name] &^ exportedVar
	case h.had:
		own.vars[h.name] = h.old
	case stays:
		own.vars[h.name] = markUnsure(now, "")
		marks |= own.marks[h.name]&^exportedVar | perhapsVar
	default:
		delete(own.vars, h.name)
	}
	if marks != own.marks[h.name] {
		setKey(&own.marks, h.name, marks)
	}
}
