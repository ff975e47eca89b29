package bash

import "strings"

// field is one argument of a command.
type field struct {
	text    string  // unknown parts as stand-ins
	bare    string  // unknown parts as empty: what unset variables give
	unknown bool    // some part is
	blank   bool    // all of it is unknown
	glob    bool    // has a pattern that the shell expands
	tree    bool    // stands for everything below text
	home    bool    // starts with the home folder, by its variable
	fed     bool    // comes from a pipe, a loop or a search
	secret  bool    // holds credentials or the environment
	token   bool    // has a variable that is named after credentials
	proc    *stream // of <( … )
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
	return frags{{s: f.text, bare: f.bare, kind: kind, proc: f.proc, home: f.home, fed: f.fed, tree: f.tree, secret: f.secret, token: f.token}}
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

func flatten(alts [][]field) []field {
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
	bare := make([]string, len(words))
	for i, w := range words {
		bare[i] = w.bare
		out.unknown, out.fed = out.unknown || w.unknown, out.fed || w.fed
	}
	out.bare = strings.Join(bare, " ")
	return out
}

// separateFields splits with the separators that IFS holds now.
func (s *shell) separateFields(list frags) []field {
	v, ok := s.def.vars["IFS"]
	if !ok || len(v) == 0 || v.isUnknown() || strings.Trim(v[0].text(), " \t\n") == "" {
		return splitFields(list)
	}
	ifs := v[0].text()
	mapped := make(frags, len(list))
	for i, p := range list {
		if p.kind == splitFrag {
			p.s = strings.Map(func(r rune) rune {
				if strings.ContainsRune(ifs, r) {
					return ' '
				}
				return r
			}, p.s)
		}
		mapped[i] = p
	}
	return splitFields(mapped)
}

// splitFields makes fields of a word's pieces, as the shell splits values at
// blanks.
func splitFields(list frags) []field {
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
		for i, word := range strings.FieldsFunc(p.s, isBlank) {
			if i > 0 || isBlank(rune(p.s[0])) {
				out = cur.end(out)
			}
			cur.add(frag{s: word, kind: litFrag, home: p.home && i == 0, fed: p.fed, secret: p.secret, token: p.token})
		}
		if p.s != "" && isBlank(rune(p.s[len(p.s)-1])) {
			out = cur.end(out)
		}
	}
	return cur.end(out)
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

// builder makes one field of its pieces.
type builder struct {
	text, bare strings.Builder
	f          field
	any, known bool
}

func (b *builder) add(p frag) {
	b.f.home = b.f.home || p.home && !b.any
	b.f.fed, b.f.secret, b.f.token = b.f.fed || p.fed, b.f.secret || p.secret, b.f.token || p.token
	b.f.tree = b.f.tree || p.tree
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

func (b *builder) end(out []field) []field {
	if b.any {
		b.f.text, b.f.bare = b.text.String(), b.bare.String()
		b.f.blank = b.f.unknown && !b.known
		out = append(out, b.f)
	}
	*b = builder{}
	return out
}
