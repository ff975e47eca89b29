package config

import (
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/runes"
)

// isInvisible reports whether a character has no shape of its own.
func isInvisible(r rune) bool {
	return r > unicode.MaxASCII && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && runes.IsInvisible(r)
}

// belongsToNeighbours reports whether an invisible character belongs to the
// visible ones around it. A joiner does in a word of a script that joins, or in a
// picture made of two. So does the selector of a sign's shape in text or colour.
func belongsToNeighbours(before, r, after rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return isVisibleSign(before) && isVisibleSign(after)
	case '\ufe0e', '\ufe0f':
		return isVisibleSign(before) && before != '\ufe0f'
	}
	return false
}

// isVisibleSign reports whether a character is a visible one beyond those of ASCII. A
// shape's selector is none, and stands before a joiner in pictures.
func isVisibleSign(r rune) bool {
	return r == '\ufe0f' || r > unicode.MaxASCII && r != utf8.RuneError && !isInvisible(r) && !unicode.IsSpace(r)
}
