package grammar

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel/intent/fold"
)

// token is a word, a number in figures, or a mark.
type token struct {
	text   string
	kind   kind
	spaced bool // white space stands before it
}

type kind uint8

const (
	word kind = iota
	figures
	mark
	end // of a sentence: . ! ? ; or a line's
)

// lex cuts a text into tokens.
func lex(text string) []token {
	var out []token
	s := fold.Plain(text)
	spaced := true
	for s != "" {
		r, w := utf8.DecodeRuneInString(s)
		switch {
		case r == '\n':
			out = append(out, token{"\n", end, spaced})
			s, spaced = s[w:], true
		case unicode.IsSpace(r):
			s, spaced = s[w:], true
		case isDigit(r):
			n := lengthOfFigures(s)
			out = append(out, token{s[:n], figures, spaced})
			s, spaced = s[n:], false
		case unicode.IsLetter(r) || r == '_':
			n := lengthOfWord(s)
			out = appendWords(out, s[:n], spaced)
			s, spaced = s[n:], false
		default:
			k := mark
			if strings.ContainsRune(".!?;", r) {
				k = end
			}
			out = append(out, token{s[:w], k, spaced})
			s, spaced = s[w:], false
		}
	}
	return out
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// lengthOfFigures is how long a number in figures is: digits with . , or ' between them.
func lengthOfFigures(s string) int {
	n := 0
	for n < len(s) {
		switch {
		case isDigit(rune(s[n])):
			n++
		case strings.ContainsRune(".,'", rune(s[n])) && n+1 < len(s) && isDigit(rune(s[n+1])):
			n++
		default:
			return n
		}
	}
	return n
}

// lengthOfWord is how long a word is: letters, digits, underscores, and hyphens and apostrophes within it.
func lengthOfWord(s string) int {
	n := 0
	for i, r := range s {
		inner := (r == '-' || r == '\'') && i+1 < len(s) && isWordRune(nextRune(s[i+utf8.RuneLen(r):]))
		if !isWordRune(r) && !inner {
			return i
		}
		n = i + utf8.RuneLen(r)
	}
	return n
}

func nextRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}

// appendWords adds a word. One with hyphens is several, unless it is an id: with figures or underscores.
func appendWords(out []token, s string, spaced bool) []token {
	if strings.ContainsFunc(s, func(r rune) bool { return r == '_' || isDigit(r) }) || !strings.Contains(s, "-") {
		return append(out, token{s, word, spaced})
	}
	for i, part := range strings.Split(s, "-") {
		if i > 0 {
			out = append(out, token{"-", mark, false})
		}
		out = append(out, token{part, word, spaced && i == 0})
	}
	return out
}

// is reports whether the token at i is one of the words.
func (t tokens) is(i int, words map[string]bool) bool {
	return i >= 0 && i < len(t) && t[i].kind == word && words[t[i].text]
}

// isMark reports whether the token at i is that mark.
func (t tokens) isMark(i int, s string) bool {
	return i >= 0 && i < len(t) && t[i].kind == mark && t[i].text == s
}

// textAt is the text of the token at i, empty where there is none.
func (t tokens) textAt(i int) string {
	if i < 0 || i >= len(t) {
		return ""
	}
	return t[i].text
}

// tokens is a text that was cut.
type tokens []token
