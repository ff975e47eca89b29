package touch

import "strings"

// field is one argument of a command.
type field struct {
	text    string  // unknown parts as stand-ins
	bare    string  // unknown parts as empty: what unset variables give
	unknown bool    // some part is
	blank   bool    // all of it is unknown
	glob    bool    // has a pattern that the shell expands
	tree    bool    // stands for everything below text
	sent    bool    // goes to another machine
	home    bool    // starts with the home folder, by its variable
	proc    *stream // of <( … )
}

func literals(list []string) []field {
	out := make([]field, len(list))
	for i, s := range list {
		out[i] = field{text: s, bare: s}
	}
	return out
}

func (f field) frags() frags {
	kind := quotedFrag
	if f.unknown {
		kind = unknownFrag
	}
	return frags{{s: f.text, bare: f.bare, kind: kind, proc: f.proc, home: f.home}}
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

// separate is split with the separators that IFS holds now.
func (s *shell) separate(list frags) []field {
	v, ok := s.def.vars["IFS"]
	if !ok || len(v) == 0 || v.unknown() || strings.Trim(v[0].text(), " \t\n") == "" {
		return split(list)
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
	return split(mapped)
}

// split makes fields of a word's pieces, as the shell splits values at blanks.
func split(list frags) []field {
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
		for i, word := range strings.FieldsFunc(p.s, blank) {
			if i > 0 || blank(rune(p.s[0])) {
				out = cur.end(out)
			}
			cur.add(frag{s: word, kind: litFrag, home: p.home && i == 0})
		}
		if p.s != "" && blank(rune(p.s[len(p.s)-1])) {
			out = cur.end(out)
		}
	}
	return cur.end(out)
}

func blank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

type builder struct {
	text, bare strings.Builder
	f          field
	any, known bool
}

func (b *builder) add(p frag) {
	b.f.home = b.f.home || p.home && !b.any
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
