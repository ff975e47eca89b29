package touch

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

const (
	maxBraces = 64       // groups in one word, whose readings multiply
	maxAlts   = 64       // values a word may have where several are combined
	maxValue  = 64 << 10 // bytes of a variable
)

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
	home bool    // starts with the home folder, by its variable
	proc *stream // what <( … ) prints
}

// value is every value that a word or variable may have.
type value []frags

type frags []frag

func literal(s string) value { return value{{{s: s, kind: quotedFrag}}} }

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

func (v value) unknown() bool {
	for _, f := range v {
		for _, p := range f {
			if p.kind == unknownFrag {
				return true
			}
		}
	}
	return false
}

// expand returns the fields of a word, once for each value that it may have.
func (s *shell) expand(w *syntax.Word) [][]field {
	if lit, ok := simple(w); ok {
		return [][]field{{{text: lit, bare: lit}}}
	}
	var out [][]field
	if braces(w) {
		if groups(w) > maxBraces {
			s.spent.over = true
			return nil
		}
		var all []field
		for b, err := range expand.BracesSeq(&expand.Config{}, w) {
			if err != nil || !s.charge(64+64*len(b.Parts)) {
				s.spent.over = true
				break
			}
			all = append(all, flatten(s.plainWord(b))...)
		}
		return append(out, all)
	}
	return s.plainWord(w)
}

func (s *shell) plainWord(w *syntax.Word) [][]field {
	alts := s.parts(w.Parts, false)
	out := make([][]field, 0, len(alts))
	for _, a := range alts {
		out = append(out, s.separate(a))
	}
	return out
}

// simple is the common word: one literal without anything to expand.
func simple(w *syntax.Word) (string, bool) {
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

// braces reports whether w has {a,b} or {1..3}; it splits them out once.
func braces(w *syntax.Word) bool {
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

func groups(w *syntax.Word) int {
	n := 0
	for _, p := range w.Parts {
		if _, ok := p.(*syntax.BraceExp); ok {
			n++
		}
	}
	return n
}

// texts returns a word's values unsplit, as an assignment takes them. In a
// here-document, quoted is set: backslashes stay unless they escape.
func (s *shell) texts(w *syntax.Word, quoted bool) value {
	if w == nil {
		return literal("")
	}
	v := s.parts(w.Parts, quoted)
	for _, f := range v {
		for i := range f {
			if f[i].kind != unknownFrag {
				f[i].kind = quotedFrag
			}
		}
	}
	return v
}

func (s *shell) charge(n int) bool {
	s.spent.bytes += n
	if s.spent.bytes > maxBytes {
		s.spent.over = true
	}
	return !s.spent.over
}

// parts returns the values of adjoining parts: all combinations while they are
// few, the i-th of each beyond that.
func (s *shell) parts(list []syntax.WordPart, quoted bool) value {
	out := value{nil}
	for _, p := range list {
		if s.spent.over {
			break
		}
		next := s.part(p, quoted)
		if len(next) == 1 {
			for i := range out {
				out[i] = append(out[i], next[0]...) // ours alone: combine shares nothing
			}
			continue
		}
		out = combine(out, next)
		for _, f := range out {
			if !s.charge(len(f.text()) + len(f)) {
				return value{{{s: "$", kind: unknownFrag}}}
			}
		}
	}
	return out
}

func combine(a, b value) value {
	if len(b) == 0 {
		return a
	}
	var out value
	if len(a)*len(b) <= maxAlts {
		for _, x := range a {
			for _, y := range b {
				out = append(out, slices.Concat(x, y))
			}
		}
		return out
	}
	for i := range max(len(a), len(b)) {
		x, y := a[min(i, len(a)-1)], b[min(i, len(b)-1)]
		out = append(out, slices.Concat(x, y))
	}
	return out
}

func (s *shell) part(p syntax.WordPart, quoted bool) value {
	switch p := p.(type) {
	case *syntax.Lit:
		s.charge(len(p.Value))
		return value{unescape(p.Value, quoted)}
	case *syntax.SglQuoted:
		s.charge(len(p.Value))
		if p.Dollar {
			if t, err := expand.Literal(&expand.Config{}, &syntax.Word{Parts: []syntax.WordPart{p}}); err == nil {
				return literal(t)
			}
		}
		return literal(p.Value)
	case *syntax.DblQuoted:
		return append(value(nil), s.quotedParts(p)...)
	case *syntax.ParamExp:
		return s.use(s.param(p), quoted)
	case *syntax.CmdSubst:
		return s.use(substituted(s.listed(p.Stmts)), quoted)
	case *syntax.ProcSubst:
		out := s.fork().stmts(p.Stmts, stream{})
		return value{{{s: "/dev/fd/63", kind: quotedFrag, proc: &out}}}
	case *syntax.ExtGlob:
		return extglob(p)
	}
	s.inner(p)
	return literal("0") // $((…)) is a number
}

func (s *shell) quotedParts(p *syntax.DblQuoted) value {
	v := s.parts(p.Parts, true)
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

// use turns a variable's value into a part of a word.
func (s *shell) use(v value, quoted bool) value {
	out := make(value, len(v))
	for i, f := range v {
		if !s.charge(64 * len(f)) { // "$@" may have thousands
			return value{{{s: "$", kind: unknownFrag}}}
		}
		out[i] = make(frags, len(f))
		copy(out[i], f)
		for j := range f {
			s.charge(len(f[j].s))
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

func substituted(out stream) value {
	if !out.known {
		return value{{{s: "$()", kind: unknownFrag}}}
	}
	return literal(strings.TrimRight(out.text, "\n"))
}

// unescape reads the backslashes of a literal.
func unescape(t string, quoted bool) frags {
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
