package code

import (
	_ "embed"
	"regexp"
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

// rule is a line of lines.tbl: what a match of the pattern does.
type rule struct {
	action  string
	pattern *regexp.Regexp
}

// readRules returns the rules by language.
var readRules = sync.OnceValue(func() map[string][]rule {
	out := map[string][]rule{}
	for line := range strings.Lines(lineTable) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(parts) < 3 || parts[0] == "#" {
			continue
		}
		for lang := range strings.SplitSeq(parts[0], ",") {
			out[lang] = append(out[lang], rule{parts[1], regexp.MustCompile(strings.TrimSpace(parts[2]))})
		}
	}
	return out
})
