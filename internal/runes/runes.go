// Package runes says which characters people don't see and programs read.
//
// It is for texts that people or models are shown: prompts, reasons, pages, terminals. Don't
// strip these characters from a value that decides something. Some of them end or separate
// words, and a NUL ends a path for many programs: without it two values look like one. The
// readers of paths, hosts, addresses and ids have lists of their own for that reason. The
// flags of a call name the kind of each character, and mail bodies keep joiners.
package runes

import "unicode"

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
