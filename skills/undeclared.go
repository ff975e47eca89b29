package skills

import (
	"slices"
	"strconv"
)

// undeclaredFinder collects the objects that hold keys of their own.
type undeclaredFinder struct {
	skill *Skill
	found []SchemaError
}

func (f *undeclaredFinder) lookInto(at view, v any, place []string) {
	switch v := v.(type) {
	case map[string]any:
		closed := at.isClosed(len(place) == 0)
		for k, e := range v {
			sub, declared, fits := at.followName(k)
			if closed && !declared && !fits {
				closed = false // an object is told once
				f.found = append(f.found, SchemaError{
					Pointer: f.skill.declaredPointer(place), Keyword: "additionalProperties", Message: "holds what the schema does not declare",
				})
			}
			if holdsKeys(e) {
				f.lookInto(sub, e, append(slices.Clip(place), k))
			}
		}
	case []any:
		for i, e := range v {
			if holdsKeys(e) {
				f.lookInto(at.itemAt(i), e, append(slices.Clip(place), strconv.Itoa(i)))
			}
		}
	}
}

// holdsKeys reports whether a value can hold keys.
func holdsKeys(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
