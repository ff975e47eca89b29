package terminal

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/runes"
)

// maxMarks is how many combining marks may follow each other: a pile of them covers the lines
// around it.
const maxMarks = 2

// Quoter writes a text that others wrote, piece by piece as it comes. Each row begins with Mark,
// and rows are broken before the terminal would break them: so no row of the text can look like
// one of ours. What does anything else than stand there is escaped.
type Quoter struct {
	Out io.Writer
	// Mark begins each row.
	Mark string
	// Columns is how wide the terminal is. Zero breaks rows at line ends alone.
	Columns int

	row    strings.Builder // what of the piece is not written yet
	column int             // how far the row is
	open   bool            // the row has its mark
	rest   string          // the beginning of a character that a piece was cut in
	marks  int             // combining marks in a row
}

// WriteText writes the next piece.
func (q *Quoter) WriteText(piece string) error {
	text := q.rest + piece
	text, q.rest = cutPartial(text)
	for text != "" {
		n := strings.IndexAny(text, " \n")
		switch {
		case n < 0:
			n = len(text)
			fallthrough
		case n > 0:
			q.addWord(text[:n])
			text = text[n:]
		default:
			q.addSpace(text[0])
			text = text[1:]
		}
	}
	return q.flush()
}

// End ends the row, where one is open.
func (q *Quoter) End() error {
	if q.rest != "" {
		q.addWord(q.rest)
		q.rest = ""
	}
	if q.open {
		q.endRow()
	}
	return q.flush()
}

func (q *Quoter) flush() error {
	_, err := io.WriteString(q.Out, q.row.String())
	q.row.Reset()
	return err
}

// addSpace adds a space or the end of a line.
func (q *Quoter) addSpace(c byte) {
	q.marks = 0
	switch {
	case c == '\n':
		q.openRow()
		q.endRow()
	case q.Columns > 0 && q.column+1 > q.Columns:
		q.endRow() // the space is the break
	default:
		q.openRow()
		q.row.WriteByte(' ')
		q.column++
	}
}

// addWord adds a word, in the next row where it fits there alone.
func (q *Quoter) addWord(word string) {
	shown := make([]string, 0, len(word))
	width := 0
	for word != "" {
		_, n := utf8.DecodeRuneInString(word)
		shown = append(shown, q.escape(word[:n]))
		width += countColumns(shown[len(shown)-1])
		word = word[n:]
	}
	q.openRow()
	indent := countColumns(q.Mark)
	if q.Columns > 0 && q.column > indent && q.column+width > q.Columns && indent+width <= q.Columns {
		q.endRow()
	}
	for _, c := range shown {
		n := countColumns(c)
		if q.Columns > 0 && q.open && q.column > indent && q.column+n > q.Columns {
			q.endRow()
		}
		q.openRow()
		q.row.WriteString(c)
		q.column += n
	}
}

// escape is one character as it is shown.
func (q *Quoter) escape(c string) string {
	r, _ := utf8.DecodeRuneInString(c)
	if unicode.Is(unicode.M, r) {
		q.marks++
	} else {
		q.marks = 0
	}
	if q.marks > maxMarks || runes.IsInvisible(r) {
		return escapeRune(c)
	}
	return Clean(c)
}

func (q *Quoter) openRow() {
	if !q.open {
		q.row.WriteString(q.Mark)
		q.open, q.column = true, countColumns(q.Mark)
	}
}

func (q *Quoter) endRow() {
	q.row.WriteByte('\n')
	q.open, q.column = false, 0
}

// cutPartial takes the beginning of a character off the end of a text.
func cutPartial(text string) (whole, rest string) {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return text[:len(text)-n], tail
			}
			break
		}
	}
	return text, ""
}
