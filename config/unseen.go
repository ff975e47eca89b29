package config

import (
	"unicode"
	"unicode/utf8"
)

// unseen reports characters that a person doesn't see and a model reads: marks that turn
// the direction of writing, tags, joiners, fillers. They can hide words in a prompt from
// the operator who reviews the prompt. The mistake names the first such character.
func (l *loader) unseen(name string, src []byte) bool {
	found, first, at := 0, rune(0), Position{}
	line, column := 1, 1
	before := rune('\n')
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		i += size
		after, _ := utf8.DecodeRune(src[i:])
		if invisible(r) && !part(before, r, after) {
			if found++; found == 1 {
				first, at = r, Position{name, line, column}
			}
		}
		before = r
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	switch {
	case found == 1:
		l.out.add(at, "the prompt holds %U here, which people do not see and the model reads; remove it", first)
	case found > 1:
		l.out.add(at, "the prompt holds %U here, which people do not see and the model reads, and %d more follow; remove them", first, found-1)
	}
	return found > 0
}

// invisible reports whether a character has no shape of its own.
func invisible(r rune) bool {
	switch {
	case r <= unicode.MaxASCII, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	case r == '\u2800': // a pattern of Braille without a dot
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// part reports whether an invisible character belongs to the visible ones around
// it: a joiner in a word of a script that joins or in a picture made of two, and
// the selector of a sign's shape in text or colour.
func part(before, r, after rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return sign(before) && sign(after)
	case '\ufe0e', '\ufe0f':
		return sign(before) && before != '\ufe0f'
	}
	return false
}

// sign reports whether a character is a visible one beyond those of ASCII. A
// shape's selector is none, and stands before a joiner in pictures.
func sign(r rune) bool {
	return r == '\ufe0f' || r > unicode.MaxASCII && r != utf8.RuneError && !invisible(r) && !unicode.IsSpace(r)
}
