package judge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
)

var (
	// negations are words behind which an address is named to be left out.
	negations = set(`not never except without excluding don't dont doesn't nicht nie niemals ausser ohne pas jamais sauf nunca
		excepto salvo exceto tranne mai niet nooit behalve`)
	// urges take the sense of leaving out from a negation: "don't forget to write to".
	urges = set("forget hesitate fail only just worry miss vergessen vergiss nur seulement oublie oublier olvides solo vergeet")
)

// negatedNear is how many words behind a negation it may still speak of.
const negatedNear = 6

// meant is a folded text without the addresses that it says are to be left
// out: "don't write to x@y.test".
func meant(text string) string {
	if !strings.ContainsAny(text, "@0123456789") && !strings.Contains(text, "://") {
		return text
	}
	var b strings.Builder
	left, from, at := 0, 0, 0
	var fields []string
	for f := range strings.FieldsSeq(text) {
		fields = append(fields, f)
	}
	for i, f := range fields {
		at += strings.Index(text[at:], f)
		w := strings.Trim(strings.ReplaceAll(f, "’", "'"), ".,:;!?()\"<>[]")
		k, _ := addressOf(w)
		switch {
		case negations[w] && !(i+1 < len(fields) && urges[strings.Trim(fields[i+1], ".,:;!?")]):
			left = negatedNear
		case left > 0 && k != noTarget:
			b.WriteString(text[from:at])
			b.WriteString("-")
			from = at + len(f)
		case left > 0:
			left--
		}
		if end := rune(f[len(f)-1]); strings.ContainsRune(".;!?", end) || k == noTarget && strings.ContainsRune(",:", end) {
			left = 0
		}
		at += len(f)
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

// attested reports whether a trusted result has what fits looks for, and had it first:
// see sentinel.Trace.Attests. value is what fits looks for.
func (v *view) attested(value string, fits func(string) bool) bool {
	return v.c.Trace().Attests(value, func(s *sentinel.Said) bool { return fits(s.Fold()) })
}

// unspaced reports whether a letter beside an address is of a script that puts
// no blanks between words: "a@b.test에게" is to a@b.test.
func unspaced(r rune, end byte) bool {
	return end < utf8.RuneSelf && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
