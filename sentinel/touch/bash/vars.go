package bash

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

func (s *shell) assignVariable(a *syntax.Assign) {
	if a.Name == nil {
		if a.Value != nil {
			s.expandWords(a.Value)
		}
		return
	}
	if a.Naked && a.Value == nil && a.Array == nil {
		return
	}
	name := a.Name.Value
	if a.Index != nil { // x[$(cmd)]=1
		s.walkInner(a.Index)
	}
	v := s.readAssigned(a)
	if a.Append {
		if old, ok := s.def.vars[name]; ok && a.Array == nil {
			v = s.combineValues(old, v)
		} else {
			v = append(old[:len(old):len(old)], v...)
			s.budget.takeItems(len(v) / maxAlts)
		}
	}
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
	s.setVariable(name, v)
	s.bindVariable(name, v)
}

func (s *shell) readAssigned(a *syntax.Assign) value {
	if a.Array == nil {
		return s.readTexts(a.Value, false)
	}
	// An array is kept as the values that its elements have: used as a
	// whole, all of them are fields.
	var v value
	for _, e := range a.Array.Elems {
		if e.Value != nil {
			for _, f := range flatten(s.expandWord(e.Value)) {
				v = append(v, f.toFrags())
			}
		}
	}
	return v
}

// set gives a variable its value; where that may not happen, one more.
func (e *environment) setVariable(name string, v value) {
	if old := e.def.vars[name]; e.unsure > 0 && len(old) <= maxAlts {
		v = append(v[:len(v):len(v)], old...)
	}
	e.ownNames().vars[name] = v
}

// lookup returns what a variable may hold.
func (e *environment) lookUpVariable(name string) value {
	name = orElse(e.def.refs[name], name)
	if v, ok := e.def.vars[name]; ok {
		return v
	}
	switch name {
	case "@", "*":
		switch {
		case !e.inFunc: // sh -c has $0 first
			return joinEach(e.params[min(1, len(e.params)):])
		case e.params != nil:
			return joinEach(e.params)
		}
	case "HOME":
		return value{{{s: e.env.HomeFolder(), kind: quotedFrag, provenance: provenance{home: true}}}}
	case "USER", "LOGNAME", "USERNAME":
		return literalValue(path.Base(e.env.HomeFolder()))
	case "OLDPWD":
		return e.def.vars["PWD"]
	case "0":
		if !e.inFunc && len(e.params) > 0 {
			return e.readPositional(name)
		}
		return literalValue("sh")
	}
	if text, ok := usualValues[name]; ok {
		return literalValue(text)
	}
	if isNumber(name) && (!e.inFunc || e.params != nil) {
		return e.readPositional(name)
	}
	return value{{{s: "$" + name, kind: unknownFrag, taint: nameToken(name)}}}
}

// nameToken says what a variable holds by its name, and for which hosts.
func nameToken(name string) taint {
	if !namesSecret(name) {
		return taint{}
	}
	hosts := programs.ReadWords("$"+strings.ToLower(name), nil).TokenHosts
	return taint{leak: leak{token: true}, minted: strings.Join(hosts, " ")}
}

// usualValues are what variables hold that a shell sets by itself.
var usualValues = map[string]string{
	"TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp", "IFS": " \t\n",
	"PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": "/bin/bash", "BASH": "/bin/bash",
	"EDITOR": "vi", "VISUAL": "vi", "PAGER": "less", "?": "0", "#": "0", "UID": "0", "EUID": "0",
	"$": "1", "!": "1", "PPID": "1", "RANDOM": "1",
	"SECONDS": "1", "LINENO": "1", "-": "hB",
}

// joinEach is one value of several fields.
func joinEach(list []field) value {
	all := frags{}
	for i, p := range list {
		if i > 0 {
			all = append(all, frag{s: " ", kind: breakFrag})
		}
		all = append(all, p.toFrags()...)
	}
	return value{all}
}

// positional returns $1 and so on. In a function params start at $1; in a
// command line at $0, as sh -c has them.
func (e *environment) readPositional(name string) value {
	n := 0
	for _, c := range name {
		if n = n*10 + int(c-'0'); n > len(e.params) {
			return literalValue("")
		}
	}
	if e.inFunc {
		n--
	}
	if n < 0 || n >= len(e.params) {
		return literalValue("")
	}
	return value{e.params[n].toFrags()}
}

// param returns the values of ${…}.
func (s *shell) readParam(p *syntax.ParamExp) value {
	unknown := value{{{s: "$", kind: unknownFrag}}}
	if p.Param == nil {
		s.walkInner(p)
		return unknown
	}
	name := p.Param.Value
	v := s.lookUpVariable(name)
	if p.Short || p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Excl && !p.Length && p.Index == nil {
		return v
	}
	if p.Index != nil {
		s.walkInner(p.Index)
		if p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Length && !p.Excl {
			return readElement(p, v)
		}
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && p.Exp.Word.Lit() == "P" {
		for _, f := range v[:min(len(v), 4)] {
			s.guessLine(`true "` + f.text() + `"`)
		}
	}
	if p.Exp != nil {
		if w, ok := s.readAlternative(p, v); ok {
			return w
		}
	}
	if v.isUnknown() {
		s.walkInner(p)
		out := frag{s: "$" + name, kind: unknownFrag, taint: taint{leak: leak{token: p.Excl}}} // of any variable
		for _, f := range slices.Concat(v...) {
			out.mix(f.taint)
		}
		return value{{out}}
	}
	return s.computeParam(p, v)
}

// element is ${a[i]}: for @ and * all of them in one, otherwise any of them.
func readElement(p *syntax.ParamExp, v value) value {
	w, ok := p.Index.(*syntax.Word)
	if !ok || w.Lit() != "@" && w.Lit() != "*" {
		return v
	}
	var all frags
	for i, f := range v {
		if i > 0 {
			all = append(all, frag{s: " ", kind: breakFrag})
		}
		all = append(all, f...)
	}
	return value{all}
}

// alternative is ${x:-word} and its kin.
func (s *shell) readAlternative(p *syntax.ParamExp, v value) (value, bool) {
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return s.readTexts(p.Exp.Word, false), true
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !v.isUnknown() && len(v) == 1 && v[0].text() != "" {
			return v, true
		}
		w := s.readTexts(p.Exp.Word, false)
		if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
			s.setVariable(p.Param.Value, w)
		}
		return w, true
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return markNeverEmpty(v), true
	}
	return nil, false
}

// markNeverEmpty marks what stops the shell rather than being empty.
func markNeverEmpty(v value) value {
	out := make(value, len(v))
	for i, f := range v {
		out[i] = slices.Clone(f)
		for j := range f {
			if f[j].kind == unknownFrag && f[j].bare == "" {
				out[i][j].bare = f[j].s
			}
		}
	}
	return out
}

// compute lets the shell library work out ${x#y}, ${x:1:2}, ${x/a/b} for each
// known value.
func (s *shell) computeParam(p *syntax.ParamExp, v value) value {
	var out value
	if p.Param.Value == "HOME" && len(v) == 1 { // any user's: ${HOME%/*}
		v = append(v[:1:1], frags{{s: "/home/user", kind: quotedFrag}})
	}
	longest := s.measureReplacement(p)
	for _, f := range v {
		if (f.size()+1)*longest > maxBytes { // each place may be replaced
			return unknownValue("$" + p.Param.Value)
		}
		env := expand.FuncEnviron(func(name string) string {
			if name == p.Param.Value {
				return f.text()
			}
			if w := s.lookUpVariable(name); len(w) > 0 && !w.isUnknown() {
				return w[0].text()
			}
			return ""
		})
		word := &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{p}}}}
		t, err := expand.Literal(&expand.Config{Env: env}, word)
		if err != nil || !s.budget.TakeBytes(len(t)+len(f.text())) {
			return value{{{s: "$" + p.Param.Value, kind: unknownFrag}}}
		}
		if p.Repl != nil {
			t = strings.ReplaceAll(t, `\/`, "/") // the replacement's own escapes
		}
		out = append(out, frags{{s: t, kind: quotedFrag}})
	}
	return out
}

// measureReplacement returns how many bytes may stand in place of each match of
// ${x/a/b}.
func (s *shell) measureReplacement(p *syntax.ParamExp) int {
	if p.Repl == nil || p.Repl.With == nil {
		return 1
	}
	longest := 1
	for _, f := range s.readTexts(p.Repl.With, true) {
		longest = max(longest, f.size())
	}
	return longest
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
