package touch

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plainWords returns the fields of words that have nothing to expand, nil where
// one has: most commands.
func (s *shell) plainWords(list []*syntax.Word) []field {
	for _, w := range list {
		if _, ok := simple(w); !ok {
			return nil
		}
	}
	argv := s.c.fields(len(list))
	for _, w := range list {
		lit := w.Parts[0].(*syntax.Lit).Value
		argv = append(argv, field{text: lit, bare: lit})
	}
	return argv
}

// plainName reports whether text is a name as most programs have: small letters
// and digits.
func plainName(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && !digit(c) {
			return false
		}
	}
	return text != ""
}

// said is what echo prints of words that begin with no option, in one piece.
func said(words []field) string {
	n := len(words) + 1
	for _, w := range words {
		n += len(w.text)
	}
	var b strings.Builder
	b.Grow(n)
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	b.WriteByte('\n')
	return b.String()
}
