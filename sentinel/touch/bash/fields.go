package bash

import (
	"slices"
	"strings"
)

// field is one argument of a command.
type field struct {
	text    string // unknown parts as stand-ins
	bare    string // unknown parts as empty: what unset variables give
	other   string // of an unsure one: bare with what may stand in place of its unsure parts
	unknown bool   // some part is
	blank   bool   // all of it is unknown
	glob    bool   // has a pattern that the shell expands
	provenance
	proc *stream // of <( … )
	taint
}

// provenance says where a text comes from, and what it stands for.
type provenance struct {
	tree bool // stands for everything below it
	home bool // starts with the home folder, by its variable
	fed  bool // comes from a pipe, a loop or a search
	// unsure says that another text may stand there: a variable was unset, or an empty one
	// counts as set.
	unsure bool
}

func literalField(text string) field { return field{text: text, bare: text} }

func literalFields(list []string) []field {
	out := make([]field, len(list))
	for i, s := range list {
		out[i] = literalField(s)
	}
	return out
}

func (f field) toFrags() frags {
	kind := quotedFrag
	if f.unknown {
		kind = unknownFrag
	}
	bare := f.bare
	if f.unsure && !f.unknown {
		bare = f.other
	}
	return frags{{s: f.text, bare: bare, kind: kind, proc: f.proc, provenance: f.provenance, taint: f.taint}}
}

// withText is a piece of a field, or what is made of it.
func (f field) withText(t string) field {
	f.text, f.bare, f.glob, f.tree = t, t, false, false
	return f
}

// slice returns the piece of a field from one byte to another, 0 for its end.
func (f field) slice(from, to int) field {
	if from <= 0 && to <= 0 || from > len(f.text) {
		return f
	}
	if to <= 0 || to > len(f.text) || to < from {
		to = len(f.text)
	}
	bare := f.bare
	if f.text == f.bare {
		bare = f.text[from:to]
	} else if from <= len(bare) && f.text[:from] == bare[:from] {
		bare = bare[from:]
		if to < len(f.text) {
			bare = strings.TrimSuffix(bare, f.text[to:])
		}
	}
	f.text, f.bare = f.text[from:to], bare
	f.glob = f.glob && strings.ContainsAny(f.text, "*?[")
	f.blank = f.unknown && strings.Trim(bare, `"'`) == ""
	return f
}

func flattenFields(alts [][]field) []field {
	if len(alts) == 1 {
		return alts[0]
	}
	var out []field
	for _, a := range alts {
		out = append(out, a...)
	}
	return out
}

// joinTexts joins words as eval does.
func joinTexts(words []field) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// joinFields makes one word of several.
func joinFields(words []field) field {
	if len(words) == 1 {
		return words[0]
	}
	out := literalField(joinTexts(words))
	bare, other := make([]string, len(words)), make([]string, len(words))
	for i, w := range words {
		bare[i], other[i] = w.bare, w.bare
		if w.unsure {
			other[i] = w.other
		}
		out.unknown, out.fed, out.unsure = out.unknown || w.unknown, out.fed || w.fed, out.unsure || w.unsure
	}
	out.bare = strings.Join(bare, " ")
	if out.unsure {
		out.other = strings.Join(other, " ")
	}
	return out
}

// splitFields makes fields of a word's pieces, as the shell splits values at
// blanks.
func splitFields(list frags) []field {
	if len(list) == 1 && list[0].kind != splitFrag && list[0].kind != breakFrag {
		return []field{fieldOfFrag(&list[0])} // most
	}
	var out []field
	var cur builder
	for _, p := range list {
		if p.kind == breakFrag {
			out = cur.end(out)
			continue
		}
		if p.kind != splitFrag {
			cur.add(p)
			continue
		}
		other := p.bare
		for i, word := range strings.FieldsFunc(p.s, isBlank) {
			if i > 0 || isBlank(rune(p.s[0])) {
				out = cur.end(out)
			}
			from := provenance{home: p.home && i == 0, fed: p.fed, unsure: p.unsure}
			cur.add(frag{s: word, kind: litFrag, bare: other, provenance: from, taint: p.taint})
			other = ""
		}
		if p.s != "" && isBlank(rune(p.s[len(p.s)-1])) {
			out = cur.end(out)
		}
	}
	return cur.end(out)
}

// fieldOfFrag is what a builder makes of one piece.
func fieldOfFrag(p *frag) field {
	f := field{text: p.s, bare: p.s, provenance: p.provenance, proc: p.proc, taint: p.taint}
	if p.unsure {
		f.other = p.bare
	}
	if p.kind == unknownFrag {
		f.unknown, f.bare, f.blank = true, p.bare, p.bare == ""
	}
	f.glob = p.kind == litFrag && strings.ContainsAny(p.s, "*?[")
	return f
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

// builder makes one field of its pieces.
type builder struct {
	text, bare, other strings.Builder
	f                 field
	any, known        bool
}

func (b *builder) add(p frag) {
	b.f.home = b.f.home || p.home && !b.any
	b.f.mix(p.taint)
	b.f.fed, b.f.tree = b.f.fed || p.fed, b.f.tree || p.tree
	b.addOther(p)
	b.any = true
	b.text.WriteString(p.s)
	if p.proc != nil {
		b.f.proc = p.proc
	}
	if p.kind == unknownFrag {
		b.f.unknown = true
		b.known = b.known || p.bare != ""
		b.bare.WriteString(p.bare)
		return
	}
	b.known = b.known || p.s != ""
	b.bare.WriteString(p.s)
	b.f.glob = b.f.glob || p.kind == litFrag && strings.ContainsAny(p.s, "*?[")
}

// addOther keeps what the field is where another text stands in place of its unsure parts.
func (b *builder) addOther(p frag) {
	if p.unsure && !b.f.unsure {
		b.f.unsure = true
		b.other.WriteString(b.bare.String())
	}
	switch {
	case !b.f.unsure:
	case p.unsure || p.kind == unknownFrag:
		b.other.WriteString(p.bare)
	default:
		b.other.WriteString(p.s)
	}
}

func (b *builder) end(out []field) []field {
	if b.any {
		b.f.text, b.f.bare, b.f.other = b.text.String(), b.bare.String(), b.other.String()
		b.f.blank = b.f.unknown && !b.known
		out = append(out, b.f)
	}
	*b = builder{}
	return out
}

func toSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// listOperands returns the arguments that are no options; values are the short
// options that take the next word.
func listOperands(args []field, values string) []field {
	if !slices.ContainsFunc(args, func(f field) bool { return len(f.text) > 1 && f.text[0] == '-' }) {
		return slices.Clip(args) // no options: the common case, asked several times of each command
	}
	var out []field
	for i := 0; i < len(args); i++ {
		a := args[i].text
		switch {
		case a == "--":
			return append(out, args[i+1:]...)
		case len(a) > 1 && a[0] == '-':
			if a[1] != '-' && strings.IndexByte(values, a[len(a)-1]) >= 0 {
				i++
			}
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// asksHelp reports whether a program only says how it is used. Behind an
// operand or "--" the word may be a file's name.
func asksHelp(args []field) bool {
	for _, a := range args {
		switch {
		case a.text == "--help" || a.text == "--version":
			return true
		case a.text == "--" || a.text == "" || a.text[0] != '-' || a.unknown:
			return false
		}
	}
	return false
}

func hasWord(args []field, word string) bool {
	return slices.ContainsFunc(args, func(f field) bool { return f.text == word })
}

// hasFlag reports whether a short option, alone or in a cluster, or a long one,
// whole or abbreviated, is given.
func hasFlag(args []field, short string, long ...string) bool {
	for _, a := range args {
		t := a.text
		if t == "--" {
			return false
		}
		if name, ok := strings.CutPrefix(t, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			if name != "" && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) }) {
				return true
			}
			continue
		}
		if len(t) > 1 && t[0] == '-' && strings.ContainsAny(t[1:], short) {
			return true
		}
	}
	return false
}

func cutAny(s, chars string) (before, after string, found bool) {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isFileURL(s string) bool {
	return len(s) >= len("file:") && strings.EqualFold(s[:len("file:")], "file:")
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
