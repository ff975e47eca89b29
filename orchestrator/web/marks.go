package web

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/runes"
	"github.com/vedette-dev/vedette/internal/textcut"
)

const (
	// maxShown is how many bytes of a text a page shows, maxName of a name. What is cut says so.
	maxShown = 16 << 10
	maxName  = 160
	// maxMarks is how many combining marks may follow each other: a pile of them covers other lines.
	maxMarks = 2
)

// piece is a part of a foreign text: as it is, or a mark in place of what no screen shows.
type piece struct {
	Mark bool
	Text string
	// Hidden is what the mark stands for.
	Hidden string
}

// splitMarks makes a foreign text visible. What it returns is escaped by the template.
func splitMarks(s string) []piece {
	if len(s) <= maxShown {
		return appendMarks(nil, s)
	}
	head, left, tail := textcut.Ends(s, maxShown)
	sum := sha256.Sum256([]byte(s))
	out := appendMarks(nil, head)
	out = append(out, piece{Mark: true, Text: fmt.Sprintf("[cut: %d of %d bytes are not shown, sha256 of the whole %x…]", left, len(s),
		sum[:6])})
	return appendMarks(out, tail)
}

// appendMarks appends the pieces of a text that is short enough.
func appendMarks(out []piece, s string) []piece {
	plain, marks := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		if !isHidden(r) && marks <= maxMarks {
			i += n
			continue
		}
		if plain < i {
			out = append(out, piece{Text: s[plain:i]})
		}
		quoted := strconv.QuoteToASCII(s[i : i+n])
		if last := len(out) - 1; last >= 0 && out[last].Mark && len(out[last].Text) < maxName {
			out[last].Text += quoted[1 : len(quoted)-1]
			out[last].Hidden += s[i : i+n]
		} else {
			out = append(out, piece{true, quoted[1 : len(quoted)-1], s[i : i+n]})
		}
		i += n
		plain = i
	}
	if plain < len(s) {
		out = append(out, piece{Text: s[plain:]})
	}
	return out
}

// isHidden reports whether a rune does something else than stand there. Line feeds and tabs stand in
// the box of their text.
func isHidden(r rune) bool {
	return r != '\n' && r != '\t' && (r == utf8.RuneError || !unicode.IsPrint(r) || runes.IsInvisible(r))
}

// markText is splitMarks as one text, for what is no page: events.
func markText(s string) string {
	var b strings.Builder
	for _, p := range appendMarks(nil, s) {
		b.WriteString(p.Text)
	}
	return b.String()
}

// markName is splitMarks of a name: one line, and short.
func markName(s string) []piece {
	return appendMarks(nil, strings.NewReplacer("\n", "\\n", "\t", "\\t").Replace(textcut.Head(s, maxName)))
}
