package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// Agree compares what a configuration says of a program's skill with what the
// program says. Rules were written and tested against the former and the latter
// runs, so every difference that can change a decision is a *PathError whose
// path starts at the skill. Name and Run are not compared; Description and
// Timeout may differ, and the program's count; and so may the words of a schema
// that only describe (title, description, default, examples).
func Agree(known, program *Skill) error {
	var errs []error
	k, p := reflect.ValueOf(known.spec), reflect.ValueOf(program.spec)
	for i := range k.NumField() {
		name, _, _ := strings.Cut(k.Type().Field(i).Tag.Get("json"), ",")
		if slices.Contains([]string{"name", "description", "timeout", "run", "parameters"}, name) {
			continue
		}
		if a, b := k.Field(i).Interface(), p.Field(i).Interface(); !reflect.DeepEqual(a, b) {
			errs = append(errs, &PathError{name, fmt.Sprintf("is %v, and the program says %v; write what the program says", a, b)})
		}
	}
	if at, says, same := findDifference(plainSchema(known), plainSchema(program), "parameters"); !same {
		errs = append(errs, &PathError{at, "is not what the program says: " + says})
	}
	return errors.Join(errs...)
}

// plainSchema is a skill's closed schema without the words that only describe.
func plainSchema(s *Skill) any {
	var m map[string]any
	if json.Unmarshal(s.schema.raw, &m) != nil {
		return nil // it was compiled from JSON
	}
	dropWords(m)
	return m
}

func dropWords(m map[string]any) {
	for _, k := range []string{"$schema", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"} {
		delete(m, k)
	}
	for _, k := range []string{"required", "type"} { // their order means nothing
		if list, ok := m[k].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	eachBelow(m, func(_ string, s map[string]any) { dropWords(s) })
}

// findDifference finds the first place where two values are not the same, and says what
// the program has there.
func findDifference(known, program any, at string) (place, says string, same bool) {
	a, ok1 := known.(map[string]any)
	b, ok2 := program.(map[string]any)
	if !ok1 || !ok2 {
		if reflect.DeepEqual(known, program) {
			return "", "", true
		}
		raw, err := json.Marshal(program)
		if err != nil { // it was read from JSON
			return at, "another value", false
		}
		return at, textcut.Head(string(raw), 120), false
	}
	keys := slices.Sorted(maps.Keys(a))
	for k := range maps.Keys(b) {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		x, has := a[k]
		y, had := b[k]
		switch {
		case !had:
			return at + "." + k, "nothing; remove it", false
		case !has:
			raw, _ := json.Marshal(y) // it was read from JSON
			return at, "there is " + k + ": " + textcut.Head(string(raw), 120) + " besides", false
		}
		if place, says, same := findDifference(x, y, at+"."+k); !same {
			return place, says, false
		}
	}
	return "", "", true
}
