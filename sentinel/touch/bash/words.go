package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxBraces is how many groups one word may have, whose readings multiply.
const maxBraces = 64

type fragKind uint8

const (
	litFrag     fragKind = iota // unquoted: patterns count
	quotedFrag                  // as it stands
	splitFrag                   // unquoted value: blanks separate
	unknownFrag                 // s is a stand-in
	breakFrag                   // ends a field, also in quotes: "$@"
)

// frag is a piece of a word.
type frag struct {
	s    string
	kind fragKind
	bare string  // of an unknown one: what is known of it
	proc *stream // what <( … ) prints
	provenance
	taint
}

// taint is what a text carries wherever it goes: into a word, a variable, a
// pipe, a file.
type taint struct {
	leak
	fetched bool   // is what an address gave
	foreign bool   // comes from another machine, or decoded: its text can't be looked at
	coded   bool   // is what inline code has made
	minted  string // of a secret that a program made or opened: the hosts that it is for
}

// leak is what of a text must not leave the machine unseen.
type leak struct {
	secret bool // holds credentials or the environment
	token  bool // holds a variable that is named after credentials
	dump   bool // holds somebody's data as a whole
}

// noHost is what several secrets for several hosts are for.
const noHost = "?"

// mix adds what another text carries.
func (t *taint) mix(o taint) {
	if (t.secret || t.token) && (o.secret || o.token) && t.minted != o.minted {
		t.minted = noHost
	} else {
		t.minted = orElse(t.minted, o.minted)
	}
	t.secret, t.token, t.dump = t.secret || o.secret, t.token || o.token, t.dump || o.dump
	t.fetched, t.foreign, t.coded = t.fetched || o.fetched, t.foreign || o.foreign, t.coded || o.coded
}

// value is every value that a word or variable may have.
type value []frags

type frags []frag

func literalValue(s string) value { return value{{{s: s, kind: quotedFrag}}} }

func unknownValue(s string) value { return value{{{s: s, kind: unknownFrag}}} }

func (f frags) text() string {
	if len(f) == 1 {
		return f[0].s
	}
	var b strings.Builder
	for _, p := range f {
		b.WriteString(p.s)
	}
	return b.String()
}

func (f frags) size() int {
	n := 0
	for _, p := range f {
		n += len(p.s)
	}
	return n
}

func (v value) isUnknown() bool {
	for _, f := range v {
		for _, p := range f {
			if p.kind == unknownFrag {
				return true
			}
		}
	}
	return false
}

// expandWord returns the fields of a word, once for each value that it may have.
func (s *shell) expandWord(w *syntax.Word) [][]field {
	if lit, ok := isSimple(w); ok {
		return [][]field{{{text: lit, bare: lit}}}
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
		all = append(all, flatten(s.expandPlain(b))...)
	}
	return [][]field{all}
}

func (s *shell) expandPlain(w *syntax.Word) [][]field {
	alts := s.joinParts(w.Parts, false)
	out := make([][]field, 0, len(alts))
	for _, a := range alts {
		out = append(out, s.separateFields(a))
	}
	return out
}

// isSimple is the common word: one literal without anything to expand.
func isSimple(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	l, ok := w.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	for i := range len(l.Value) {
		switch l.Value[i] {
		case '\\', '*', '?', '[', '{':
			return "", false
		}
	}
	return l.Value, true
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

// readTexts returns a word's values unsplit, as an assignment takes them. In a
// here-document, quoted is set: backslashes stay unless they escape.
func (s *shell) readTexts(w *syntax.Word, quoted bool) value {
	if w == nil {
		return literalValue("")
	}
	v := s.joinParts(w.Parts, quoted)
	for _, f := range v {
		for i := range f {
			if f[i].kind != unknownFrag {
				f[i].kind = quotedFrag
			}
		}
	}
	return v
}

// joinParts returns the values of adjoining parts: all combinations while they
// are few, the i-th of each beyond that.
func (s *shell) joinParts(list []syntax.WordPart, quoted bool) value {
	out := value{nil}
	for _, p := range list {
		if s.budget.over {
			break
		}
		next := s.readPart(p, quoted)
		if len(next) == 1 {
			for i := range out {
				if i > 0 && !s.budget.TakeBytes(next[0].size()) {
					return unknownValue("$")
				}
				out[i] = append(out[i], next[0]...) // ours alone: combine shares nothing
			}
			continue
		}
		out = s.combineValues(out, next)
	}
	return out
}

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

func (s *shell) readPart(p syntax.WordPart, quoted bool) value {
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
		return append(value(nil), s.readQuoted(p)...)
	case *syntax.ParamExp:
		return s.useValue(s.readParam(p), quoted)
	case *syntax.CmdSubst:
		return s.useValue(substitutedValue(s.listStatements(p.Stmts)), quoted)
	case *syntax.ProcSubst:
		out := s.fork().runStatements(p.Stmts, stream{})
		return value{{{s: "/dev/fd/63", kind: quotedFrag, proc: &out, taint: out.taint}}}
	case *syntax.ExtGlob:
		if p.Op == syntax.GlobExcept {
			return value{{{s: "!(" + p.Pattern.Value + ")", kind: litFrag}}} // nearly any name
		}
		return value{{{s: "*", kind: litFrag}}}
	}
	s.walkInner(p)
	return literalValue("0") // $((…)) is a number
}

// listStatements reads a command whose output becomes the words of another.
func (s *shell) listStatements(list []*syntax.Stmt) stream {
	from := len(s.out.Paths)
	out := s.fork().runStatements(list, stream{})
	s.markOpened(from, len(s.out.Paths), false)
	return out
}

func (s *shell) readQuoted(p *syntax.DblQuoted) value {
	v := s.joinParts(p.Parts, true)
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

// useValue turns a variable's value into a part of a word.
func (s *shell) useValue(v value, quoted bool) value {
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

func substitutedValue(out stream) value {
	if out.known {
		return value{{{s: strings.TrimRight(out.text, "\n"), kind: quotedFrag, taint: out.taint}}}
	}
	if names := out.trees; len(names)+len(out.some) > 0 && len(names)+len(out.some) <= maxAlts {
		return listedValue(out)
	}
	return value{{{s: "$()", kind: unknownFrag, provenance: provenance{fed: true}, taint: out.taint}}}
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
