package approval

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

// How many bytes of a text a person is shown. What is cut says so.
const (
	maxShown = 1500
	maxKey   = 60
)

// Layout: a label of ours, then the text, in lines of our own. A terminal that
// wraps a long line would let its author choose what the next one begins with.
const (
	rowWidth = 64
	nextRow  = "\n           | "
)

// maxMarks is how many combining marks may follow each other: a pile of them
// covers the lines around it.
const maxMarks = 2

// sheet is a question as it is written.
type sheet struct {
	b   strings.Builder
	cut int // how many things are not shown whole
}

// writeRow writes a label of ours and a text that is made of quote and plain.
func (s *sheet) writeRow(label, text string) {
	fmt.Fprintf(&s.b, "  %-8s ", label)
	n := 0
	for _, r := range text {
		width := 1
		if r >= 0x1100 {
			width = 2 // from here on terminals have wide characters
		}
		if n+width > rowWidth {
			s.b.WriteString(nextRow)
			n = 0
		}
		s.b.WriteRune(r)
		n += width
	}
	s.b.WriteByte('\n')
}

// quote makes a hostile text visible: in quotes that it can't leave, escaped,
// and cut where it is longer than limit.
func (s *sheet) quote(text string, limit int) string {
	return s.shortenText(text, limit, func(part string) string { return `"` + escapeText(part, true) + `"` })
}

// showPlain is quote for JSON, which has quotes of its own, and for texts of ours with a
// foreign name.
func (s *sheet) showPlain(text string) string {
	return s.shortenText(text, maxShown, func(part string) string { return escapeText(part, false) })
}

// shortenText keeps a text's beginning and end. With what it leaves out go the
// whole's size and the beginning of its SHA-256: so two texts that are cut
// alike are told apart.
func (s *sheet) shortenText(text string, limit int, show func(string) string) string {
	if len(text) <= limit {
		return show(text)
	}
	s.cut++
	head, left, tail := textcut.Ends(text, limit)
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s …[CUT: %d bytes]… %s (%d bytes, sha256 %x…)", show(head), left, show(tail), len(text), sum[:6])
}

// escapeText writes what a terminal would not show as itself in the way of a Go
// string. quoted also escapes quotes and backslashes.
func escapeText(s string, quoted bool) string {
	var b strings.Builder
	marks := 0
	for s != "" {
		r, w := utf8.DecodeRuneInString(s)
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case isHidden(r) || marks > maxMarks:
			q := strconv.QuoteToASCII(s[:w])
			b.WriteString(q[1 : len(q)-1])
		case quoted && (r == '"' || r == '\\'):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		s = s[w:]
	}
	return b.String()
}

// isHidden reports whether a rune does something else than stand there: controls,
// changes of direction, what has no ink, spaces other than the plain one.
func isHidden(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) || runes.IsInvisible(r)
}
