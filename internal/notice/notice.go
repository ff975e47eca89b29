// Package notice checks the texts that stand in place of blocked calls: of the configuration, and of who fills them.
package notice

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// ErrTemplate says that a text is no template.
var ErrTemplate = errors.New("the rejection text is not a template")

// Max is the greatest length of a template in bytes.
const Max = 4096

// fields are what a template may hold.
var fields = []string{"tool", "gate", "reason", "decision_id"}

// Check refuses a text that is no template. Its fields are {tool}, {gate}, {reason} and {decision_id}; any other field is
// an error, and so is a brace that opens none. The error wraps ErrTemplate.
func Check(text string) error {
	if len(text) > Max || !utf8.ValidString(text) || strings.TrimSpace(text) == "" {
		return fmt.Errorf("%w: it is empty, not UTF-8 or longer than %d bytes", ErrTemplate, Max)
	}
	for rest := text; ; {
		_, after, open := strings.Cut(rest, "{")
		if !open {
			return nil
		}
		field, next, closed := strings.Cut(after, "}")
		if !closed {
			return fmt.Errorf("%w: a brace opens no field", ErrTemplate)
		}
		if !slices.Contains(fields, field) {
			return fmt.Errorf("%w: unknown field {%s}; use {tool}, {gate}, {reason} or {decision_id}", ErrTemplate, textcut.Head(field, 40))
		}
		rest = next
	}
}
