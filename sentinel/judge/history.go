package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// findAfterRefusal looks for an earlier try of the same skill that was refused: one
// that a Desk keeps, or one that a recorded history has as a result.
func findAfterRefusal(v *view) finding {
	return finding{found: v.c.Trace().RefusedBefore(v.c.Name()) || v.anyStep(func(s sentinel.Step) bool {
		return s.Skill == v.c.Name() && (strings.HasPrefix(s.Result, "refused by ") ||
			strings.HasPrefix(s.Result, `{"kind":"denied"`) || strings.HasPrefix(s.Result, `{"kind":"refused"`))
	})}
}
