// Package terminal puts what others wrote before people: texts, tables and JSON.
//
//	t := terminal.Table{Colour: terminal.TakesColour(os.Stdout)}
//	t.Add("OUTCOME", "SKILL")
//	t.Add("deny", name)
//	err := t.Write(os.Stdout)
//
// What comes from a ledger, a journal or a case was written by others. Before it
// reaches a terminal, package terminal escapes control characters and those that turn
// the direction of writing.
//
// What not to do: don't write a text to a terminal that went through none of these
// functions.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// TakesColour reports whether w is a terminal that shows colours. The person at the
// terminal switches them off with NO_COLOR or TERM=dumb.
func TakesColour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(f)
}

// Size returns how many columns and rows a terminal has.
func Size(f *os.File) (columns, rows int, err error) { return term.GetSize(int(f.Fd())) }
