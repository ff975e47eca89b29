package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colourful reports whether w takes colour: w is a terminal that shows colours, and the
// person at it didn't switch them off.
func colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}

// clean makes a text safe to show: what would not be seen as a character, such
// as controls and marks that turn the direction of writing, is escaped.
func clean(s string) string {
	safe := true
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			safe = false
			break
		}
	}
	if safe {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		i += n
	}
	return b.String()
}

// cleanJSON does the same for JSON, where it changes no value: such characters
// can only stand in strings, and JSON has an escape for each.
func cleanJSON(b []byte) []byte {
	var out []byte
	done := 0 // what stands before is in out
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if b[i] != 0x7f && r < utf8.RuneSelf || r != utf8.RuneError && strconv.IsPrint(r) {
			i += n
			continue
		}
		out = append(out, b[done:i]...)
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
		done = i
	}
	if out == nil {
		return b
	}
	return append(out, b[done:]...)
}

// writeLine writes one line of JSON.
func writeLine(w io.Writer, b []byte) error {
	_, err := w.Write(append(cleanJSON(b), '\n'))
	return err
}

// writeJSON writes v, one line where lines is set and indented otherwise.
func writeJSON(w io.Writer, v any, lines bool) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !lines {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return err
	}
	return writeLine(w, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// The colours of outcomes.
var colours = map[string]string{
	"deny": "31", "failed": "31", "unknown": "31", "ask": "33", "defer": "33", "allow": "32", "ok": "32", "benign": "36", "attack": "35",
	"problem": "31", "warning": "33",
}

// table aligns rows in columns. Its texts are cleaned and, with colour, outcomes
// coloured; numbers stand to the right.
type table struct {
	rows   [][]string
	right  map[int]bool
	colour bool
	least  []int // widths that columns have at least
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(w io.Writer) error {
	widths := slices.Clone(t.least)
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
			if code := colours[c]; t.colour && code != "" {
				c = "\x1b[" + code + "m" + c + "\x1b[0m"
			}
			if t.right[i] {
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
