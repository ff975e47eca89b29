package terminal

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// outcomeColours are the colours of outcomes, as numbers of a terminal.
var outcomeColours = map[string]string{
	"deny": "31", "failed": "31", "unknown": "31", "ask": "33", "defer": "33", "allow": "32", "ok": "32", "benign": "36", "attack": "35",
	"problem": "31", "warning": "33",
}

// Table aligns rows in columns. Its texts are cleaned. Its zero value is ready.
type Table struct {
	// Colour says whether the words of outcomes are coloured.
	Colour bool
	// Right are the columns whose texts stand to the right, as numbers do.
	Right map[int]bool
	// Least are widths that columns have at least, in characters.
	Least []int

	rows [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		cells[i] = Clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// Write writes the rows, a line each.
func (t *Table) Write(w io.Writer) error {
	widths := slices.Clone(t.Least)
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if code := outcomeColours[c]; t.Colour && code != "" {
				c = "\x1b[" + code + "m" + c + "\x1b[0m"
			}
			if t.Right[i] {
				c, pad = pad+c, ""
			}
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(c + pad)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteSection writes a table below a heading, with an empty line before it. A table
// without rows writes nothing.
func WriteSection(w io.Writer, heading string, t *Table) error {
	if len(t.rows) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, "\n"+heading+"\n"); err != nil {
		return err
	}
	return t.Write(w)
}
