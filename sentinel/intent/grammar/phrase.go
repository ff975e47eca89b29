package grammar

import (
	"fmt"
	"slices"
	"strings"
)

// maxGap is how many words "*" stands for at most.
const maxGap = 5

// phrase is an operator's phrase for a name.
type phrase struct {
	name  string
	parts []part
	size  int // parts that are words
}

// part is one word of a phrase, its beginning, or a gap.
type part struct {
	text   string
	prefix bool // text is a beginning
	gap    bool
}

// readPhrase reads a phrase; the message says what is wrong with it.
func readPhrase(name, text string) (p phrase, mistake string) {
	p.name = name
	for _, field := range strings.Fields(text) {
		if field == "*" {
			if len(p.parts) == 0 || p.parts[len(p.parts)-1].gap {
				return p, "begins with *, or has two in a row; write a word before each *"
			}
			p.parts = append(p.parts, part{gap: true})
			continue
		}
		stem, prefix := strings.CutSuffix(field, "*")
		for _, t := range lex(stem) {
			p.parts = append(p.parts, part{text: t.text})
			p.size++
		}
		if prefix && len(p.parts) > 0 {
			p.parts[len(p.parts)-1].prefix = true
		}
	}
	switch {
	case p.size == 0:
		return p, "has no word; write the words that people use"
	case p.parts[len(p.parts)-1].gap:
		return p, "ends with a * of its own; write a word behind it, or put it at the end of a word"
	}
	return p, ""
}

// span is where a phrase stands in a text: from its first token to behind its last.
type span struct {
	name     string
	from, to int
	size     int
}

// matchAt returns behind which token the phrase ends that begins at i; 0 where it doesn't stand there.
func (p phrase) matchAt(t tokens, i int) int { return matchParts(p.parts, t, i) }

func matchParts(parts []part, t tokens, i int) int {
	for n, one := range parts {
		if one.gap {
			for skip := 0; skip <= maxGap && i+skip < len(t) && t[i+skip].kind != end; skip++ {
				if to := matchParts(parts[n+1:], t, i+skip); to > 0 {
					return to
				}
			}
			return 0
		}
		if i >= len(t) || t[i].text != one.text && (!one.prefix || !strings.HasPrefix(t[i].text, one.text)) {
			return 0
		}
		i++
	}
	return i
}

// phrases are an operator's phrases by their first word, so that a text is compared with few of them.
type phrases struct {
	byFirst map[string][]phrase
	loose   []phrase // their first word is a beginning
}

// add adds a phrase.
func (p *phrases) add(one phrase) {
	if one.parts[0].prefix {
		p.loose = append(p.loose, one)
		return
	}
	if p.byFirst == nil {
		p.byFirst = map[string][]phrase{}
	}
	first := one.parts[0].text
	p.byFirst[first] = append(p.byFirst[first], one)
}

// find returns where any of the phrases stands. Of two that overlap the longer one is kept, of two as long the first.
func (p phrases) find(t tokens) []span {
	var all []span
	for i := range t {
		for _, list := range [...][]phrase{p.byFirst[t[i].text], p.loose} {
			for _, one := range list {
				if to := one.matchAt(t, i); to > 0 {
					all = append(all, span{one.name, i, to, one.size})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b span) int {
		if a.size != b.size {
			return b.size - a.size
		}
		return a.from - b.from
	})
	var kept []span
	for _, s := range all {
		if !slices.ContainsFunc(kept, func(k span) bool { return s.from < k.to && k.from < s.to }) {
			kept = append(kept, s)
		}
	}
	slices.SortFunc(kept, func(a, b span) int { return a.from - b.from })
	return kept
}

// names lists the names of spans, each once, in the order of the text.
func names(spans []span) (out []string) {
	for _, s := range spans {
		if !slices.Contains(out, s.name) {
			out = append(out, s.name)
		}
	}
	return out
}

// readPhrases reads the phrases of names and reports each mistake.
func readPhrases(errs *pathErrors, path string, byName map[string][]string) (out phrases) {
	seen := map[string]string{}
	for _, name := range sortedKeys(byName) {
		if len(byName[name]) == 0 {
			errs.add(path+"."+name, "has no words; write those that people use for it")
		}
		for i, text := range byName[name] {
			at := fmt.Sprintf("%s.%s[%d]", path, name, i)
			p, mistake := readPhrase(name, text)
			if mistake != "" {
				errs.add(at, "%s", mistake)
				continue
			}
			key := fmt.Sprint(p.parts)
			if other, twice := seen[key]; twice && other != name {
				errs.add(at, "is the phrase of %s already, so a text with it could mean either", other)
			}
			seen[key] = name
			out.add(p)
		}
	}
	return out
}
