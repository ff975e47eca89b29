package skills

import (
	"slices"
	"strconv"
	"strings"
)

// undeclared finds keys that no part of the schema names, in every object of
// which it names some. The compiled schema is closed against them already; this
// doesn't depend on a dialect, a keyword or a branch that the validator reads in
// another way than we do. It is asked once the arguments fit.
func (s *Skill) undeclared(args any) []SchemaError {
	f := finder{skill: s}
	f.look(s.notes.root, args, nil)
	slices.SortFunc(f.found, func(a, b SchemaError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return f.found
}

// finder collects the objects that hold keys of their own.
type finder struct {
	skill *Skill
	found []SchemaError
}

func (f *finder) look(at view, v any, place []string) {
	switch v := v.(type) {
	case map[string]any:
		closed := at.closed(len(place) == 0)
		for k, e := range v {
			sub, declared, fits := at.follow(k)
			if closed && !declared && !fits {
				closed = false // an object is told once
				f.found = append(f.found, SchemaError{
					Pointer: f.skill.declaredPointer(place), Keyword: "additionalProperties", Message: "holds what the schema does not declare",
				})
			}
			if nests(e) {
				f.look(sub, e, append(slices.Clip(place), k))
			}
		}
	case []any:
		for i, e := range v {
			if nests(e) {
				f.look(at.item(i), e, append(slices.Clip(place), strconv.Itoa(i)))
			}
		}
	}
}

// nests reports whether a value can hold keys.
func nests(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// closed reports whether objects may hold only what the schema names: it names
// some, or they are the arguments themselves, and says nowhere that more may come.
func (v view) closed(root bool) bool {
	named := root
	for _, n := range v {
		if n.open {
			return false
		}
		named = named || len(n.props) > 0 || len(n.patterns) > 0
	}
	return named
}
