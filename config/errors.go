package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one mistake in a configuration and where it stands.
type Error struct {
	// File, Line and Column are the place. Line is 0 where the mistake is in no
	// file's text. File is empty where it is in no file.
	File   string
	Line   int
	Column int
	// Msg says what is wrong and what to do. It never holds a value that came
	// from the environment.
	Msg string
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// Pos returns the place of the mistake.
func (e *Error) Pos() Position { return Position{e.File, e.Line, e.Column} }

// String returns "file:line:column", and nothing for the zero Position.
func (p Position) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Errors are all mistakes of a configuration, sorted by file, line and column.
// There is at least one.
type Errors []*Error

// Error returns one mistake a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes for errors.As.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// maxErrors bounds what is reported: past it a file is not a configuration
// with mistakes but something else.
const maxErrors = 500

// problems collects mistakes.
type problems struct {
	list   Errors
	hidden scrubber
}

// add keeps a mistake and hides what the environment gave.
func (p *problems) add(at Position, format string, args ...any) {
	p.list = append(p.list, &Error{at.File, at.Line, at.Column, p.hidden.hideValues(fmt.Sprintf(format, args...))})
}

// sortedError returns the sorted mistakes as an error, or nil.
func (p *problems) sortedError() error {
	if len(p.list) == 0 {
		return nil
	}
	sorted := sortErrors(p.list)
	if n := len(sorted) - maxErrors; n > 0 {
		last := sorted[maxErrors-1]
		sorted = append(sorted[:maxErrors], &Error{last.File, last.Line, last.Column, fmt.Sprintf("%d more mistakes follow", n)})
	}
	return sorted
}

// sortErrors sorts list by place and text, and removes repetitions.
func sortErrors(list Errors) Errors {
	slices.SortStableFunc(list, func(a, b *Error) int {
		return cmp.Or(
			strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), strings.Compare(a.Msg, b.Msg),
		)
	})
	return slices.CompactFunc(list, func(a, b *Error) bool { return *a == *b })
}
