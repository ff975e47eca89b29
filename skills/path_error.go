package skills

import (
	"fmt"
	"strings"
)

// PathError is a mistake in a configuration, at a path such as
// "permissions[1].when". The config package turns the path into
// file:line:column.
type PathError struct {
	Path string // where, in the configuration's own terms
	Msg  string // what is wrong and what to do
}

// Error returns "path: message".
func (e *PathError) Error() string { return e.Path + ": " + e.Msg }

// ConfigPath returns the path. Package config finds path errors by this method, so that
// packages need not import one another for it.
func (e *PathError) ConfigPath() string { return e.Path }

// ConfigMessage returns the message without the path.
func (e *PathError) ConfigMessage() string { return e.Msg }

func oneOf[T ~string](path string, v T, allowed ...T) error {
	for _, a := range allowed {
		if v == a {
			return nil
		}
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	return &PathError{path, fmt.Sprintf("%q is not one of %s", string(v), strings.Join(words, ", "))}
}
