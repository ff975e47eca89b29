package touch

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

func (s *shell) assign(a *syntax.Assign) {
	if a.Name == nil {
		if a.Value != nil {
			s.words(a.Value)
		}
		return
	}
	if a.Naked && a.Value == nil && a.Array == nil {
		return
	}
	name := a.Name.Value
	if a.Index != nil { // x[$(cmd)]=1
		s.inner(a.Index)
	}
	v := s.assigned(a)
	if a.Append {
		if old, ok := s.def.vars[name]; ok && a.Array == nil {
			v = combine(old, v)
		} else {
			v = append(old[:len(old):len(old)], v...)
		}
	}
	for i, f := range v {
		if len(f.text()) > maxValue {
			v[i] = frags{{s: "$" + name, kind: unknownFrag}}
		}
	}
	for _, f := range v[:min(len(v), 2)] {
		if t := f.text(); strings.Contains(t, "[$(") {
			s.subscript(t) // what arithmetic makes of it
		}
	}
	s.set(name, v)
	s.binds(name, v)
}

func (s *shell) assigned(a *syntax.Assign) value {
	if a.Array == nil {
		return s.texts(a.Value, false)
	}
	// An array is kept as the values that its elements have: used as a
	// whole, all of them are fields.
	var v value
	for _, e := range a.Array.Elems {
		if e.Value != nil {
			for _, f := range flatten(s.expand(e.Value)) {
				v = append(v, f.frags())
			}
		}
	}
	return v
}

// set gives a variable its value; where that may not happen, one more.
func (s *shell) set(name string, v value) {
	if old := s.def.vars[name]; s.cond > 0 && len(old) <= maxAlts {
		v = append(v[:len(v):len(v)], old...)
	}
	s.own().vars[name] = v
}

// lookup returns what a variable may hold.
func (s *shell) lookup(name string) value {
	name = cmpCode(s.def.refs[name], name)
	if v, ok := s.def.vars[name]; ok {
		return v
	}
	switch name {
	case "@", "*":
		switch {
		case !s.inFunc: // sh -c has $0 first
			return each(s.params[min(1, len(s.params)):])
		case s.params != nil:
			return each(s.params)
		}
	case "HOME":
		return value{{{s: s.c.env.HomeFolder(), kind: quotedFrag, home: true}}}
	case "USER", "LOGNAME", "USERNAME":
		return literal(path.Base(s.c.env.HomeFolder()))
	case "TMPDIR", "TMP", "TEMP":
		return literal("/tmp")
	case "IFS":
		return literal(" \t\n")
	case "PATH":
		return literal("/usr/local/bin:/usr/bin:/bin")
	case "SHELL", "BASH":
		return literal("/bin/bash")
	case "EDITOR", "VISUAL":
		return literal("vi")
	case "PAGER":
		return literal("less")
	case "OLDPWD":
		return s.def.vars["PWD"]
	case "?", "#", "UID", "EUID":
		return literal("0")
	case "$", "!", "PPID", "RANDOM", "SECONDS", "LINENO":
		return literal("1")
	case "-":
		return literal("hB")
	case "0":
		if !s.inFunc && len(s.params) > 0 {
			return s.positional(name)
		}
		return literal("sh")
	}
	if digits(name) && (!s.inFunc || s.params != nil) {
		return s.positional(name)
	}
	return value{{{s: "$" + name, kind: unknownFrag}}}
}

// each is one value of several fields.
func each(list []field) value {
	all := frags{}
	for i, p := range list {
		if i > 0 {
			all = append(all, frag{s: " ", kind: breakFrag})
		}
		all = append(all, p.frags()...)
	}
	return value{all}
}

// positional returns $1 and so on. In a function params start at $1; in a
// command line at $0, as sh -c has them.
func (s *shell) positional(name string) value {
	n := 0
	for _, c := range name {
		if n = n*10 + int(c-'0'); n > len(s.params) {
			return literal("")
		}
	}
	if s.inFunc {
		n--
	}
	if n < 0 || n >= len(s.params) {
		return literal("")
	}
	return value{s.params[n].frags()}
}

// param returns the values of ${…}.
func (s *shell) param(p *syntax.ParamExp) value {
	unknown := value{{{s: "$", kind: unknownFrag}}}
	if p.Param == nil {
		s.inner(p)
		return unknown
	}
	name := p.Param.Value
	v := s.lookup(name)
	if p.Short || p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Excl && !p.Length && p.Index == nil {
		return v
	}
	if p.Index != nil {
		s.inner(p.Index)
		if p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Length && !p.Excl {
			return element(p, v)
		}
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && p.Exp.Word.Lit() == "P" {
		for _, f := range v[:min(len(v), 4)] {
			s.guesswork(`true "` + f.text() + `"`)
		}
	}
	if p.Exp != nil {
		if w, ok := s.alternative(p, v); ok {
			return w
		}
	}
	if p.Excl && p.Names == 0 && !v.unknown() {
		var out value
		for _, f := range v {
			out = append(out, s.lookup(f.text())...)
		}
		return out
	}
	if v.unknown() {
		s.inner(p)
		return value{{{s: "$" + name, kind: unknownFrag}}}
	}
	return s.compute(p, v)
}

// element is ${a[i]}: for @ and * all of them in one, otherwise any of them.
func element(p *syntax.ParamExp, v value) value {
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
func (s *shell) alternative(p *syntax.ParamExp, v value) (value, bool) {
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return s.texts(p.Exp.Word, false), true
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !v.unknown() && len(v) == 1 && v[0].text() != "" {
			return v, true
		}
		w := s.texts(p.Exp.Word, false)
		if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
			s.set(p.Param.Value, w)
		}
		return w, true
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return neverEmpty(v), true
	}
	return nil, false
}

// neverEmpty marks what stops the shell rather than being empty.
func neverEmpty(v value) value {
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
func (s *shell) compute(p *syntax.ParamExp, v value) value {
	var out value
	for _, f := range v {
		env := expand.FuncEnviron(func(name string) string {
			if name == p.Param.Value {
				return f.text()
			}
			if w := s.lookup(name); len(w) > 0 && !w.unknown() {
				return w[0].text()
			}
			return ""
		})
		word := &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{p}}}}
		t, err := expand.Literal(&expand.Config{Env: env}, word)
		if err != nil || !s.charge(len(t)+len(f.text())) {
			return value{{{s: "$" + p.Param.Value, kind: unknownFrag}}}
		}
		if p.Repl != nil {
			t = strings.ReplaceAll(t, `\/`, "/") // the replacement's own escapes
		}
		out = append(out, frags{{s: t, kind: quotedFrag}})
	}
	return out
}
