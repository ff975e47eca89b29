package cases

import "fmt"

// The codes of an Error.
const (
	CodeTooLong   = "case.too_long"
	CodeSyntax    = "case.syntax"
	CodeUTF8      = "case.utf8"
	CodeDuplicate = "case.duplicate_key"
	CodeUnknown   = "case.unknown_key"
	CodeMissing   = "case.missing"
	CodeType      = "case.type"
	CodeValue     = "case.value"
	CodeInternal  = "case.internal"
)

// Error says why a line is no case. Message tells what to do about it and holds
// no value of the line; it may quote the start of a key.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Faults counts lines and keeps the first that is no case. Its zero value is ready.
type Faults struct {
	lines, bad int
	first      string
}

// Add counts line n of a file; e is nil where the line was a case. The name of the file
// may be empty.
func (f *Faults) Add(file string, n int, e *Error) {
	f.lines++
	if e == nil {
		return
	}
	if f.bad++; f.bad == 1 {
		if file != "" {
			file += ", "
		}
		f.first = fmt.Sprintf("%sline %d: %s", file, n, e.Message)
	}
}

// Err is nil where every line was a case.
func (f *Faults) Err() error {
	if f.bad == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d lines could not be read; the first is %s", f.bad, f.lines, f.first)
}
