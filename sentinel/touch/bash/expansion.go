package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxBraces is how many groups one word may have, whose readings multiply.
const maxBraces = 64

// expandWord returns the fields of a word, once for each value that it may have.
func (s *shell) expandWord(w *syntax.Word) [][]field {
	if lit, ok := s.readLiteral(w); ok {
		return [][]field{{literalField(lit)}}
	}
	if !hasBraces(w) {
		return s.expandPlain(w)
	}
	if countGroups(w) > maxBraces {
		s.budget.over = true
		return nil
	}
	var all []field
	for b, err := range expand.BracesSeq(&expand.Config{}, w) {
		if err != nil || !s.budget.TakeBytes(64+64*len(b.Parts)) {
			s.budget.over = true
			break
		}
		all = append(all, flattenFields(s.expandPlain(b))...)
	}
	return [][]field{all}
}

func (s *shell) expandPlain(w *syntax.Word) [][]field {
	alts := s.expandParts(w.Parts, false)
	out := make([][]field, 0, len(alts))
	for _, a := range alts {
		out = append(out, s.separateFields(a))
	}
	return out
}

// readLiteral returns the one value of the commonest words: one piece of text that stands
// for itself, in quotes or without.
func (s *shell) readLiteral(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, !mayExpand(p.Value) && (p.Value == "" || p.Value[0] != '~' || !s.changesTilde(p.Value))
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar && s.budget.TakeBytes(len(p.Value))
	case *syntax.DblQuoted:
		text := ""
		if len(p.Parts) == 1 {
			l, ok := p.Parts[0].(*syntax.Lit)
			if !ok {
				return "", false
			}
			text = l.Value
		}
		return text, len(p.Parts) < 2 && strings.IndexByte(text, '\\') < 0 && s.budget.TakeBytes(len(text))
	}
	return "", false
}

// mayExpand reports whether a text without quotes may be more than itself.
func mayExpand(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case '\\', '*', '?', '[', '{':
			return true
		}
	}
	return false
}

// hasBraces reports whether w has {a,b} or {1..3}; it splits them out once.
func hasBraces(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.BraceExp:
			return true
		case *syntax.Lit:
			if strings.IndexByte(p.Value, '{') >= 0 {
				return syntax.SplitBraces(w)
			}
		}
	}
	return false
}

func countGroups(w *syntax.Word) int {
	n := 0
	for _, p := range w.Parts {
		if _, ok := p.(*syntax.BraceExp); ok {
			n++
		}
	}
	return n
}

// expandUnsplit returns a word's values unsplit, as an assignment takes them. In a
// here-document, quoted is set: backslashes stay unless they escape.
func (s *shell) expandUnsplit(w *syntax.Word, quoted bool) value {
	if w == nil {
		return literalValue("")
	}
	v := s.expandParts(w.Parts, quoted)
	for _, f := range v {
		for i := range f {
			if f[i].kind != unknownFrag {
				f[i].kind = quotedFrag
			}
		}
	}
	return v
}

// expandParts returns the values of adjoining parts: all combinations while they
// are few, the i-th of each beyond that.
func (s *shell) expandParts(list []syntax.WordPart, quoted bool) value {
	out := value{nil}
	for i, p := range list {
		if s.budget.over {
			break
		}
		next := s.expandPart(p, quoted)
		if i == 0 && !quoted {
			next = s.expandTilde(p, next)
		}
		if i == 0 && len(next) == 1 {
			out = next // ours alone: no part of a word shares its value
			continue
		}
		if len(next) == 1 {
			for i := range out {
				if i > 0 && !s.budget.TakeBytes(next[0].size()) {
					return unknownValue("$")
				}
				out[i] = append(out[i], next[0]...) // ours alone: combineValues shares nothing
			}
			continue
		}
		out = s.combineValues(out, next)
	}
	return out
}

// expandTilde puts the folder that a leading "~" stands for where the line has changed it.
func (s *shell) expandTilde(p syntax.WordPart, v value) value {
	lit, ok := p.(*syntax.Lit)
	if !ok || lit.Value == "" || lit.Value[0] != '~' {
		return v
	}
	mark, rest, _ := strings.Cut(lit.Value, "/")
	name := tildes[mark]
	to, changed := s.def.vars[name]
	if name == "PWD" && !changed {
		to, changed = s.def.vars[folderName]
	}
	if !changed {
		return v
	}
	var tail frags
	if len(mark) < len(lit.Value) {
		tail = unescapeLiteral("/"+rest, false)
	}
	return s.combineValues(s.useValueInWord(to, true), value{tail})
}

// changesTilde reports whether a leading "~" stands for something else than the home folder.
func (s *shell) changesTilde(text string) bool {
	_, changed := s.def.vars["HOME"]
	return changed || strings.HasPrefix(text, "~+") || strings.HasPrefix(text, "~-")
}

// tildes are the variables that "~" and its kin stand for.
var tildes = map[string]string{"~": "HOME", "~+": "PWD", "~-": "OLDPWD"}

// combineValues joins each value of a with each of b.
func (s *shell) combineValues(a, b value) value {
	if len(b) == 0 {
		return a
	}
	var out value
	add := func(x, y frags) bool {
		out = append(out, slices.Concat(x, y))
		return s.budget.TakeBytes(x.size() + y.size() + 32*(len(x)+len(y)))
	}
	if len(a)*len(b) <= maxAlts {
		for _, x := range a {
			for _, y := range b {
				if !add(x, y) {
					return unknownValue("$")
				}
			}
		}
		return out
	}
	for i := range max(len(a), len(b)) {
		if !add(a[min(i, len(a)-1)], b[min(i, len(b)-1)]) {
			return unknownValue("$")
		}
	}
	return out
}

func (s *shell) expandPart(p syntax.WordPart, quoted bool) value {
	switch p := p.(type) {
	case *syntax.Lit:
		s.budget.TakeBytes(len(p.Value))
		return value{unescapeLiteral(p.Value, quoted)}
	case *syntax.SglQuoted:
		s.budget.TakeBytes(len(p.Value))
		if p.Dollar {
			if t, err := expand.Literal(&expand.Config{}, &syntax.Word{Parts: []syntax.WordPart{p}}); err == nil {
				return literalValue(t)
			}
		}
		return literalValue(p.Value)
	case *syntax.DblQuoted:
		return s.expandQuoted(p)
	case *syntax.ParamExp:
		return s.useValueInWord(s.expandParameter(p), quoted)
	case *syntax.CmdSubst:
		return s.useValueInWord(substitutedValue(s.listStatements(p.Stmts)), quoted)
	case *syntax.ProcSubst:
		out := s.fork().runStatements(p.Stmts, stream{})
		return value{{{s: "/dev/fd/63", kind: quotedFrag, proc: &out, taint: out.taint}}}
	case *syntax.ExtGlob:
		if p.Op == syntax.GlobExcept {
			return value{{{s: "!(" + p.Pattern.Value + ")", kind: litFrag}}} // nearly any name
		}
		return value{{{s: "*", kind: litFrag}}}
	}
	s.walkSubstitutions(p)
	return literalValue("0") // $((…)) is a number
}

// listStatements reads a command whose output becomes the words of another.
func (s *shell) listStatements(list []*syntax.Stmt) stream {
	from := len(s.out.Paths)
	out := s.fork().runStatements(list, stream{})
	s.markOpenedPaths(from, len(s.out.Paths), false)
	return out
}

func (s *shell) expandQuoted(p *syntax.DblQuoted) value {
	v := s.expandParts(p.Parts, true)
	for i, f := range v {
		if len(f) == 0 {
			v[i] = frags{{kind: quotedFrag}} // "" is a field
		}
		for j := range f {
			if f[j].kind != unknownFrag && f[j].kind != breakFrag {
				f[j].kind = quotedFrag
			}
		}
	}
	return v
}

// useValueInWord turns a variable's value into a part of a word.
func (s *shell) useValueInWord(v value, quoted bool) value {
	out := make(value, len(v))
	for i, f := range v {
		if !s.budget.TakeBytes(f.size() + 64*len(f)) { // "$@" may have thousands
			return unknownValue("$")
		}
		out[i] = make(frags, len(f))
		copy(out[i], f)
		for j := range f {
			if f[j].kind != unknownFrag && f[j].kind != breakFrag {
				out[i][j].kind = splitFrag
				if quoted {
					out[i][j].kind = quotedFrag
				}
			}
		}
	}
	return out
}

// unescapeLiteral reads the backslashes of a literal.
func unescapeLiteral(t string, quoted bool) frags {
	if strings.IndexByte(t, '\\') < 0 {
		return frags{{s: t, kind: litFrag}}
	}
	var out frags
	from := 0
	for i := 0; i+1 < len(t); i++ {
		if t[i] != '\\' || quoted && strings.IndexByte("$`\"\\\n", t[i+1]) < 0 {
			continue
		}
		if i > from {
			out = append(out, frag{s: t[from:i], kind: litFrag})
		}
		if t[i+1] != '\n' {
			out = append(out, frag{s: t[i+1 : i+2], kind: quotedFrag})
		}
		from = i + 2
		i++
	}
	if from < len(t) {
		out = append(out, frag{s: t[from:], kind: litFrag})
	}
	return out
}

// expandParameter returns the values of ${…}.
func (s *shell) expandParameter(p *syntax.ParamExp) value {
	unknown := value{{{s: "$", kind: unknownFrag}}}
	if p.Param == nil {
		s.walkSubstitutions(p)
		return unknown
	}
	name := p.Param.Value
	v := s.lookUpVariable(name)
	if p.Index == nil && s.hasMark(s.followRefs(name), headlessVar) {
		v = markUnsure(v, "") // the first element
	}
	if p.Short || p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Excl && !p.Length && p.Index == nil {
		return v
	}
	if p.Index != nil {
		s.walkSubstitutions(p.Index)
		if p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Length && !p.Excl {
			return s.elementsOfArray(p, v)
		}
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && p.Exp.Word.Lit() == "P" {
		for _, f := range v[:min(len(v), 4)] {
			s.guessLine(`true "` + f.text() + `"`)
		}
	}
	if p.Exp != nil {
		if w, ok := s.expandAlternative(p, v); ok {
			return w
		}
	}
	if v.isUnknown() {
		s.walkSubstitutions(p)
		out := frag{s: "$" + name, kind: unknownFrag, taint: taint{leak: leak{token: p.Excl}}} // of any variable
		for _, f := range slices.Concat(v...) {
			out.mix(f.taint)
		}
		return value{{out}}
	}
	return s.computeExpansion(p, v)
}

// elementsOfArray returns ${a[i]}: for @ and * all of them in one, otherwise any of
// them. The values of what is no array are one of several.
func (s *shell) elementsOfArray(p *syntax.ParamExp, v value) value {
	w, ok := p.Index.(*syntax.Word)
	all := ok && (w.Lit() == "@" || w.Lit() == "*")
	switch isArray := s.hasMark(s.followRefs(p.Param.Value), arrayVar); {
	case !isArray && !all && partOfIndex(p.Index) == elementOfVar:
		return markUnsure(v, "")
	case !isArray || !all:
		return v
	}
	var joined frags
	for i, f := range v {
		if i > 0 {
			joined = append(joined, frag{s: " ", kind: breakFrag})
		}
		joined = append(joined, f...)
	}
	return value{joined}
}

// expandAlternative evaluates ${x:-w}, ${x:=w}, ${x:+w}, ${x:?w} and the same without a colon.
// ok is false for other operators. The reader doesn't know whether an empty x is set: the word
// counts then, as one that may not stand there. It is one value: two would be two words, and
// move those behind it.
func (s *shell) expandAlternative(p *syntax.ParamExp, v value) (out value, ok bool) {
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return markUnsure(s.expandUnsplit(p.Exp.Word, false), ""), true
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		kept := v.listNonEmpty()
		if len(kept) > 0 && len(kept) == len(v) {
			return s.weighAlternative(p, kept), true
		}
		w := s.expandUnsplit(p.Exp.Word, false)
		if len(kept) > 0 {
			w = append(slices.Clone(kept), w...)
		}
		if p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.AssignUnset {
			if len(v) > 0 && !v.isUnknown() && syntax.ValidName(p.Param.Value) { // it is set, and empty
				w = markUnsure(w, "")
			}
		}
		s.assignDefault(p, w)
		return w, true
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return markNeverEmpty(v), true
	}
	return nil, false
}

// weighAlternative is ${x:-w} and its kin where x has the value v, or perhaps none any more.
func (s *shell) weighAlternative(p *syntax.ParamExp, v value) value {
	perhaps := s.hasMark(s.followRefs(p.Param.Value), perhapsVar)
	if v.hasOtherText() { // it is set either way, unless what sets it doesn't run
		if perhaps || v.mayBeEmpty() {
			v = append(v[:len(v):len(v)], s.expandUnsplit(p.Exp.Word, false)...)
			s.assignDefault(p, v)
		}
		return v
	}
	if !v.isUnsure() && !perhaps {
		if p.Exp.Word != nil {
			s.walkSubstitutions(p.Exp.Word) // a child may not have x
		}
		return v
	}
	other := ""
	if p.Exp.Word != nil {
		s.readQuotedSubscripts(p.Exp.Word)
		if w := s.expandUnsplit(p.Exp.Word, false); len(w) > 0 {
			other = w[0].text()
		}
	}
	empty := v.isUnsure() && other != "" && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.AssignUnset) // it may be set
	v = markUnsure(v, other)
	if empty {
		v = append(v, frags{{kind: quotedFrag}})
	}
	s.assignDefault(p, v)
	return v
}

// assignDefault is what ${x:=w} and ${x=w} leave in x.
func (s *shell) assignDefault(p *syntax.ParamExp, v value) {
	if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
		s.setVariable(p.Param.Value, v)
	}
}

// computeExpansion lets the shell library work out ${x#y}, ${x:1:2}, ${x/a/b} for each
// known value.
func (s *shell) computeExpansion(p *syntax.ParamExp, v value) value {
	var out value
	if p.Param.Value == "HOME" && len(v) == 1 { // any user's: ${HOME%/*}
		v = append(v[:1:1], frags{{s: "/home/user", kind: quotedFrag}})
	}
	longest := s.measureReplacement(p)
	for _, f := range v {
		if (f.size()+1)*longest > maxBytes { // each place may be replaced
			return unknownValue("$" + p.Param.Value)
		}
		t, ok := s.computeText(p, f.text())
		if !ok {
			return value{{{s: "$" + p.Param.Value, kind: unknownFrag}}}
		}
		part := frag{s: t, kind: quotedFrag}
		if slices.ContainsFunc(f, func(p frag) bool { return p.unsure }) {
			part.unsure = true
			if part.bare, ok = s.computeText(p, f.otherText()); !ok {
				return value{{{s: "$" + p.Param.Value, kind: unknownFrag}}}
			}
		}
		out = append(out, frags{part})
	}
	return out
}

// computeText is what an expansion makes of a variable's text.
func (s *shell) computeText(p *syntax.ParamExp, text string) (out string, ok bool) {
	env := expand.FuncEnviron(func(name string) string {
		if name == p.Param.Value {
			return text
		}
		if w := s.lookUpVariable(name); len(w) > 0 && !w.isUnknown() {
			return w[0].text()
		}
		return ""
	})
	word := &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{p}}}}
	t, err := expand.Literal(&expand.Config{Env: env}, word)
	if err != nil || !s.budget.TakeBytes(len(t)+len(text)) {
		return "", false
	}
	if p.Repl != nil {
		t = strings.ReplaceAll(t, `\/`, "/") // the replacement's own escapes
	}
	return t, true
}

// measureReplacement returns how many bytes may stand in place of each match of
// ${x/a/b}.
func (s *shell) measureReplacement(p *syntax.ParamExp) int {
	if p.Repl == nil || p.Repl.With == nil {
		return 1
	}
	longest := 1
	for _, f := range s.expandUnsplit(p.Repl.With, true) {
		longest = max(longest, f.size())
	}
	return longest
}
