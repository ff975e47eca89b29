// Package runes says which characters people don't see and programs read.
//
// One table serves prompts, rules, host names, ids and pages. What one reader strips and
// another keeps is a way past a gate. Two places keep a list of their own, with the reason
// beside it: the flags of a call, which name the kind of each character, and mail bodies,
// where joiners belong to the text.
package runes

import (
	"strings"
	"unicode"
)

// IsInvisible reports whether a character has no shape of its own: format and control characters
// (tab, line feed and carriage return aside), line and paragraph separators, variation
// selectors, fillers, and the Braille pattern without a dot. The classes are Unicode's,
// of the version that package unicode has.
func IsInvisible(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return false
	case r <= unicode.MaxASCII:
		return r < ' ' || r == unicode.MaxASCII
	case r == '\u2800': // a pattern of Braille without a dot
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// StripInvisible returns the text without its invisible characters. A text without any is
// returned as it is.
func StripInvisible(s string) string {
	if strings.IndexFunc(s, IsInvisible) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if IsInvisible(r) {
			return -1
		}
		return r
	}, s)
}
