// Package advice holds errors that say what an operator can do about them.
//
//	return &advice.Error{Err: fmt.Errorf("%s: no such database", name), Todo: "name another with --db FILE"}
//
// What not to do: don't put a value of a call into either text. Both reach terminals
// and logs.
package advice

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Error is an error with its remedy.
type Error struct {
	Err error
	// Todo is what the operator can do, in one clause; empty where there is nothing.
	Todo string
}

// Error returns the message without the remedy.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Advice returns the remedy.
func (e *Error) Advice() string { return e.Todo }

// CheckReadable tells a file that can't be read from one that is wrong. The error is
// an *Error with todo where the file is missing, hidden or a folder.
func CheckReadable(path, todo string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{fmt.Errorf("%s: no such file", path), todo}
	case err != nil:
		return &Error{fmt.Errorf("%s can't be read: %w", path, CauseOf(err)), todo}
	case info.IsDir():
		return &Error{fmt.Errorf("%s is a folder, not a file", path), todo}
	}
	return nil
}

// CauseOf returns an error without the path that a message repeats.
func CauseOf(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// InvalidConfig returns the *Error of a configuration with mistakes.
func InvalidConfig(path string, err error) error {
	return &Error{fmt.Errorf("the configuration has mistakes\n%w", err), "vedette validate " + path + " checks it again"}
}
