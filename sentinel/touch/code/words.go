package code

import (
	_ "embed"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

//go:embed words.tbl
var wordTable string

//go:embed lines.tbl
var lineTable string

// entry is what one word does. weak is set where it counts only alone or
// behind a module.
type entry struct {
	class, need string
	weak        bool
}

// readWords returns the entries by language and word. The table is read once,
// when the first program is.
var readWords = sync.OnceValue(func() map[string]map[string][]entry {
	out := map[string]map[string][]entry{}
	for line := range strings.Lines(wordTable) {
		head, words, ok := strings.Cut(strings.TrimSpace(line), ": ")
		class, langs, _ := strings.Cut(head, " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for lang := range strings.SplitSeq(langs, ",") {
			if out[lang] == nil {
				out[lang] = map[string][]entry{}
			}
			for w := range strings.FieldsSeq(words) {
				name, need, _ := strings.Cut(w, "+")
				name, weak := strings.CutSuffix(name, "?")
				out[lang][name] = append(out[lang][name], entry{class: class, need: need, weak: weak})
			}
		}
	}
	return out
})

// rule is a line of lines.tbl: what a match of the pattern does. Each match has
// one of the needed texts, in small letters, if there are any.
type rule struct {
	action  string
	pattern *regexp.Regexp
	needed  []string
}

// readRules returns the rules by language.
var readRules = sync.OnceValue(func() map[string][]rule {
	out := map[string][]rule{}
	for line := range strings.Lines(lineTable) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(parts) < 3 || parts[0] == "#" {
			continue
		}
		text := strings.TrimSpace(parts[2])
		r := rule{action: parts[1], pattern: regexp.MustCompile(text)}
		if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
			r.needed = listNeededTexts(tree)
		}
		for lang := range strings.SplitSeq(parts[0], ",") {
			out[lang] = append(out[lang], r)
		}
	}
	return out
})

// mayMatch reports whether a text in small letters has what a match needs.
func (r rule) mayMatch(low string) bool {
	return len(r.needed) == 0 || slices.ContainsFunc(r.needed, func(n string) bool { return strings.Contains(low, n) })
}

// listNeededTexts returns texts, in small letters, of which each match of a pattern
// has one, or none where that can't be said.
func listNeededTexts(tree *syntax.Regexp) (out []string) {
	switch tree.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(tree.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return listNeededTexts(tree.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range tree.Sub {
			needed := listNeededTexts(sub)
			if len(needed) == 0 {
				return nil
			}
			out = append(out, needed...)
		}
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if needed := listNeededTexts(sub); findShortest(needed) > findShortest(out) {
				out = needed
			}
		}
	}
	return out
}

// findShortest returns the length of the shortest text, 0 where there is none.
func findShortest(list []string) int {
	if len(list) == 0 {
		return 0
	}
	return len(slices.MinFunc(list, func(a, b string) int { return len(a) - len(b) }))
}
