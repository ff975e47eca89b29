package bash

import (
	"slices"
	"strings"
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
	provenance
	bare string  // of an unknown one: what is known of it; of an unsure one: what may stand there
	proc *stream // what <( … ) prints
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

// fedValue is what a variable holds that is read from a stream.
func fedValue(in stream) value {
	var v value
	if in.known {
		for line := range strings.Lines(in.text) {
			if len(v) >= maxAlts {
				break
			}
			v = append(v, frags{{s: strings.TrimSpace(line), kind: quotedFrag, taint: in.taint}})
		}
		return v
	}
	for _, f := range in.listEntries() {
		v = append(v, f.toFrags())
	}
	return v
}

// listedValue is what the names that a command prints make of a word.
func listedValue(in stream) value {
	var v value
	for _, t := range in.trees {
		t = strings.TrimSuffix(strings.TrimSuffix(t, "/*"), "/") + "/*"
		v = append(v, frags{{s: t, bare: t, kind: unknownFrag, provenance: provenance{fed: true}}})
	}
	for _, t := range in.some {
		v = append(v, frags{{s: t, bare: t, kind: unknownFrag, provenance: provenance{fed: true}}})
	}
	return v
}

func substitutedValue(out stream) value {
	if out.known || out.whole {
		var v value
		if !out.whole {
			v = value{{{s: strings.TrimRight(out.text, "\n"), kind: quotedFrag, taint: out.taint}}}
		}
		for _, text := range out.others {
			v = append(v, frags{{s: strings.TrimRight(text, "\n"), kind: quotedFrag, taint: out.taint}})
		}
		return v
	}
	if names := out.trees; len(names)+len(out.some) > 0 && len(names)+len(out.some) <= maxAlts {
		return listedValue(out)
	}
	return value{{{s: "$()", kind: unknownFrag, provenance: provenance{fed: true}, taint: out.taint}}}
}

// joinFieldsInOne is one value of several fields.
func joinFieldsInOne(list []field) value {
	all := frags{}
	for i, p := range list {
		if i > 0 {
			all = append(all, frag{s: " ", kind: breakFrag})
		}
		all = append(all, p.toFrags()...)
	}
	return value{all}
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

// markUnsure marks a value in whose place another text may stand.
func markUnsure(v value, other string) value {
	out := make(value, len(v))
	for i, f := range v {
		out[i] = slices.Clone(f)
		for j := range f {
			if p := &out[i][j]; p.kind != unknownFrag {
				p.unsure, p.bare, other = true, other, ""
			}
		}
	}
	return out
}

// equalTexts reports whether two values have the same texts.
func (v value) equalTexts(w value) bool {
	return slices.EqualFunc(v, w, func(x, y frags) bool { return x.text() == y.text() })
}

// clearUnsure takes back what markUnsure says of a variable that may be gone. The branch
// that unset it is most often the one that sets it again.
func clearUnsure(v value) value {
	if !v.isUnsure() {
		return v
	}
	out := make(value, len(v))
	for i, f := range v {
		out[i] = slices.Clone(f)
		if slices.ContainsFunc(f, func(p frag) bool { return p.unsure && p.bare != "" }) {
			continue // another text may stand there
		}
		for j := range f {
			out[i][j].unsure = false
		}
	}
	return out
}

// isUnsure reports whether another text may stand in place of a value.
func (v value) isUnsure() bool {
	return slices.ContainsFunc(v, func(f frags) bool { return slices.ContainsFunc(f, func(p frag) bool { return p.unsure }) })
}

// hasOtherText reports whether a text stands in place of a value, and not nothing.
func (v value) hasOtherText() bool {
	return slices.ContainsFunc(v, func(f frags) bool {
		return slices.ContainsFunc(f, func(p frag) bool { return p.unsure && p.bare != "" })
	})
}

// mayBeEmpty reports whether nothing may stand in place of one of the values.
func (v value) mayBeEmpty() bool {
	return slices.ContainsFunc(v, func(f frags) bool { return f.otherText() == "" })
}

// listNonEmpty returns the values of which some text is known.
func (v value) listNonEmpty() value {
	out := make(value, 0, len(v))
	for _, f := range v {
		if slices.ContainsFunc(f, func(p frag) bool { return p.kind != unknownFrag && p.s != "" || p.kind == unknownFrag && p.bare != "" }) {
			out = append(out, f)
		}
	}
	return out
}

// fieldOfFrags is a value as one field.
func fieldOfFrags(fr frags) field {
	f := field{text: fr.text(), bare: fr.text()}
	for _, p := range fr {
		if p.kind == unknownFrag {
			f.unknown, f.blank = true, len(fr) == 1
		}
		if p.proc != nil {
			f.proc = p.proc
		}
	}
	return f
}
