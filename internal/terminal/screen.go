package terminal

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// FitScreen cuts lines to a screen of so many columns and rows. No line goes on in the
// next row and pushes the first ones out. Where lines are left out, the last line says
// how many, with a hint of where they are.
func FitScreen(lines []string, cols, rows int, hint string) []string {
	if rows > 2 && len(lines) > rows-1 {
		hidden := len(lines) - (rows - 2)
		lines = append(lines[:rows-2:rows-2], fmt.Sprintf("… and %d more lines; %s", hidden, hint))
	}
	if cols < 2 {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = cutLine(l, cols)
	}
	return out
}

// FitLine shortens a line to so many columns, the last of them a mark where it is longer. Fewer
// than two columns are no screen: the line stays.
func FitLine(line string, columns int) string {
	if columns < 2 {
		return line
	}
	return cutLine(line, columns)
}

// colourSequences set a colour: they take no room.
var colourSequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// cutLine shortens a line to so many columns, the last of them a mark where it is
// longer. Colours stay.
func cutLine(line string, cols int) string {
	if countColumns(colourSequences.ReplaceAllString(line, "")) <= cols {
		return line
	}
	var b strings.Builder
	left, ended := cols-1, false
	for len(line) > 0 {
		if at := colourSequences.FindStringIndex(line); at != nil && at[0] == 0 {
			b.WriteString(line[:at[1]])
			line = line[at[1]:]
			continue
		}
		_, n := utf8.DecodeRuneInString(line)
		if left -= countColumns(line[:n]); left < 0 && !ended {
			ended = true
			b.WriteString("…")
		}
		if !ended {
			b.WriteString(line[:n])
		}
		line = line[n:]
	}
	return b.String()
}

// countColumns counts how many columns a text takes on a terminal.
func countColumns(s string) (n int) {
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me): // stands above or around another
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
