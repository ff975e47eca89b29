// Package textcut shortens texts between two characters, and says that it did.
//
// It counts bytes, which is what records, prompts and pages are bounded in. A text that
// decides something is never cut: a cut that hides the end of a command is an attack.
package textcut

import (
	"strings"
	"unicode/utf8"
)

// Ellipsis stands where Head has cut.
const Ellipsis = "…"

// Head returns a text of at most n bytes whole, and of a longer one the valid UTF-8 among its
// first n bytes with an Ellipsis behind it. What Head returns doesn't hold a cut text in memory.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + Ellipsis
}

// Ends returns the beginning and the end of a text that is longer than n bytes: about two
// thirds and one third of n, cut between characters. left is how many bytes lie between.
// A text of at most n bytes is all beginning.
func Ends(s string, n int) (head string, left int, tail string) {
	if len(s) <= n {
		return s, 0, ""
	}
	to, from := n*2/3, len(s)-n/3
	for to > 0 && !utf8.RuneStart(s[to]) {
		to--
	}
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[:to], from - to, s[from:]
}
