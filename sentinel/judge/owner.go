package judge

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func (t *text) namesOwner(val value) int {
	at := strings.LastIndexByte(val.fold, '@')
	if t == nil || at <= 0 || !isEmail(val.fold) || val.isRouted() {
		return 0
	}
	return t.matchOwner(splitLocalPart(val.fold[:at]))
}

func (t *text) matchOwner(parts []string) int {
	first, all := false, len(parts) > 0
	for i, p := range parts {
		seen := t.people[p]
		if hasDigit(p) && !seen {
			return 0
		}
		seen = seen && len(p) > 2 && !impersonal[p] && (t.proper[p] || saying[stemWord(p)] == 0 && concepts[stemWord(p)] == 0) &&
			!functionWords[p]
		first = first || i == 0 && seen
		all = all && seen
	}
	switch {
	case all:
		return 2
	case first:
		return 1
	}
	return 0
}

// splitLocalPart splits "mark.black-2134" and "fred9246" into letters and digits.
func splitLocalPart(s string) []string {
	var out []string
	start, kind := 0, byte(0)
	for i := 0; i <= len(s); i++ {
		k := byte(0)
		if i < len(s) {
			switch c := s[i]; {
			case c >= '0' && c <= '9':
				k = 2
			case isAlnum(c):
				k = 1
			}
		}
		if k != kind {
			if kind != 0 {
				out = append(out, s[start:i])
			}
			start, kind = i, k
		}
	}
	return out
}

// readProperNames returns the words with a capital letter where no sentence begins:
// there they are names, also those that are words of the language ("Mark").
func readProperNames(s string) map[string]bool {
	var out map[string]bool
	begins := true
	for f := range strings.FieldsSeq(s) {
		word := strings.TrimFunc(f, func(r rune) bool { return !isWordRune(r) })
		r, n := utf8.DecodeRuneInString(word)
		if !begins && unicode.IsUpper(r) && len(word) > n && strings.ToLower(word[n:]) == word[n:] {
			if out == nil {
				out = map[string]bool{}
			}
			w, _, _ := strings.Cut(strings.ReplaceAll(foldText(word), "’", "'"), "'")
			out[w] = true
		}
		begins = strings.ContainsRune(".!?:\n", rune(f[len(f)-1]))
	}
	return out
}
