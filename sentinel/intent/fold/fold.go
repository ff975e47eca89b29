// Package fold writes texts as people see them: without invisible characters, with composed and
// wide forms undone, in small letters.
//
//	fold.Plain("Über  Lieferketten")   // "uber  lieferketten": what parsers compare
//	fold.Skeleton("dr\u043ep table")   // "drop table": what the detector reads
//
// Both are for comparing with words that a program knows. What not to do: don't show a folded text to
// a person, don't keep it in place of the text, and don't take two folded texts for the same words
// where a person decides by them.
//
// The package isn't stable: docs/api.md lists those that are.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/vedette-dev/vedette/internal/runes"
)

// Plain returns s in compatibility form (NFKC) and small letters. Invisible characters and the marks on
// letters are gone, and typographic quotes and dashes are plain ones. Letters of other scripts stay.
// What isn't valid UTF-8 becomes U+FFFD.
func Plain(s string) string {
	if isASCII(s) {
		return strings.ToLower(dropControls(s))
	}
	return foldRunes(s)
}

// Skeleton is Plain with letters of other scripts that look like Latin ones as these. It is for finding
// words that were written to be overlooked; a text in another script becomes no text of it.
func Skeleton(s string) string { return SkeletonOf(Plain(s)) }

// SkeletonOf is Skeleton of a text that is plain already.
func SkeletonOf(plain string) string {
	if isASCII(plain) {
		return plain
	}
	var b strings.Builder
	b.Grow(len(plain))
	for _, r := range plain {
		if like, ok := lookalikes[r]; ok && r >= utf8.RuneSelf {
			b.WriteString(like)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Visible returns s in compatibility form without invisible characters, its letters as they were: what encodings
// are looked for in.
func Visible(s string) string {
	if isASCII(s) {
		return dropControls(s)
	}
	return norm.NFKC.String(dropControls(strings.ToValidUTF8(s, "\uFFFD")))
}

// dropControls leaves out the invisible characters.
func dropControls(s string) string {
	if !holdsInvisible(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if runes.IsInvisible(r) {
			return -1
		}
		return r
	}, s)
}

// holdsInvisible reports whether a text may have invisible characters: all but ASCII may.
func holdsInvisible(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' && c != '\n' && c != '\r' || c >= 0x7f {
			return true
		}
	}
	return false
}

// foldRunes folds a text that isn't ASCII.
func foldRunes(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		switch {
		case r < utf8.RuneSelf:
			if !runes.IsInvisible(r) {
				b.WriteByte(lower(byte(r)))
			}
		case isCommonLetter(r):
			b.WriteRune(unicode.ToLower(r))
		case runes.IsInvisible(r), unicode.Is(unicode.Mn, r):
		default:
			r = unicode.ToLower(r)
			if plain, ok := spellings[r]; ok {
				b.WriteString(plain)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return norm.NFC.String(b.String()) // Hangul and others whose parts are letters
}

// isCommonLetter reports whether a character is a letter of the Cyrillic, Greek or Han blocks that folds to itself. Most
// texts that aren't Latin are made of those, and the tables of Unicode take long.
func isCommonLetter(r rune) bool {
	return r >= 0x400 && r <= 0x481 || r >= 0x3B1 && r <= 0x3C9 || r >= 0x4E00 && r <= 0x9FFF
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// spellings are letters of Latin without a decomposition, and the marks of typography.
var spellings = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ħ': "h", 'ŋ': "n",
	'‘': "'", '’': "'", '‚': "'", '‛': "'", '′': "'", 'ʼ': "'", '“': `"`, '”': `"`, '„': `"`, '‟': `"`, '″': `"`, '«': `"`, '»': `"`,
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '−': "-", '⁄': "/", '∕': "/", '﹨': `\`, '‹': "<", '›': ">",
	'\u00a0': " ", '\u2002': " ", '\u2003': " ", '\u2009': " ", '\u202f': " ", '\u3000': " ",
}

// lookalikes are small letters of other scripts that are drawn like Latin ones.
var lookalikes = map[rune]string{
	// Cyrillic
	'а': "a", 'в': "b", 'с': "c", 'ԁ': "d", 'е': "e", 'һ': "h", 'і': "i", 'ј': "j", 'к': "k", 'ӏ': "l", 'м': "m", 'о': "o",
	'р': "p", 'ԛ': "q", 'г': "r", 'ѕ': "s", 'т': "t", 'у': "y", 'х': "x", 'ѵ': "v", 'ԝ': "w", 'п': "n", 'ь': "b", 'ѡ': "w",
	// Greek
	'α': "a", 'β': "b", 'ε': "e", 'η': "n", 'ι': "i", 'κ': "k", 'μ': "u", 'ν': "v", 'ο': "o", 'ρ': "p", 'τ': "t", 'υ': "u",
	'χ': "x", 'ω': "w", 'ϲ': "c", 'ϳ': "j", 'ζ': "z", 'γ': "y",
	// Armenian, Cherokee, Latin capitals of small size
	'օ': "o", 'ո': "n", 'ս': "u", 'հ': "h", 'ց': "g", 'ᴀ': "a", 'ʙ': "b", 'ᴄ': "c", 'ᴅ': "d", 'ᴇ': "e", 'ɢ': "g", 'ʜ': "h", 'ɪ': "i",
	'ᴊ': "j", 'ᴋ': "k", 'ʟ': "l", 'ᴍ': "m", 'ɴ': "n", 'ᴏ': "o", 'ᴘ': "p", 'ʀ': "r", 'ꜱ': "s", 'ᴛ': "t", 'ᴜ': "u", 'ᴠ': "v", 'ᴡ': "w",
	'ʏ': "y", 'ᴢ': "z", 'ɑ': "a", 'ɡ': "g", 'ⅼ': "l", 'ⅰ': "i",
}

// Scripts returns which of the scripts that the lookalikes are of a word mixes with Latin letters: empty for a word
// of one script.
func Scripts(word string) []string {
	var latin bool
	found := map[string]bool{}
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			latin = latin || unicode.IsLetter(r)
		case r >= 0x400 && r <= 0x481:
			found["Cyrillic"] = true
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.Is(unicode.Cyrillic, r):
			found["Cyrillic"] = true
		case unicode.Is(unicode.Greek, r):
			found["Greek"] = true
		case unicode.Is(unicode.Armenian, r):
			found["Armenian"] = true
		case unicode.Is(unicode.Cherokee, r):
			found["Cherokee"] = true
		}
	}
	if len(found) == 0 || !latin && len(found) == 1 {
		return nil
	}
	var out []string
	for _, name := range [...]string{"Armenian", "Cherokee", "Cyrillic", "Greek"} {
		if found[name] {
			out = append(out, name)
		}
	}
	return out
}
