package skills

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// today is the dialect in which every schema is compiled. Older ones don't know
// unevaluatedProperties: a schema closed with it would stay open there.
const today = "https://json-schema.org/draft/2020-12/schema"

// dialects are the ages of the dialects that can be told in today's words.
var dialects = map[string]int{
	"http://json-schema.org/draft-04/schema#": 4, "http://json-schema.org/draft-06/schema#": 6, "http://json-schema.org/draft-07/schema#": 7,
	"https://json-schema.org/draft/2019-09/schema": 2019, today: 2020,
}

// modernizeSchema puts a schema of an older dialect into the words of 2020-12, in
// place. What can't be put so is a mistake at its place.
func modernizeSchema(root map[string]any) error {
	v, said := root["$schema"]
	if !said {
		return nil
	}
	uri, ok := v.(string)
	if !ok {
		return &PathError{"parameters.$schema", "must be the address of a dialect, in quotes"}
	}
	age, known := dialectAge(uri)
	if !known {
		return &PathError{"parameters.$schema", unknownDialect(uri)}
	}
	root["$schema"] = today
	if age >= 2020 {
		return nil
	}
	m := modernizer{age: age}
	m.rewriteSchema(root, "parameters")
	return errors.Join(m.errs...)
}

func dialectAge(uri string) (int, bool) {
	plain := func(s string) string {
		_, rest, _ := strings.Cut(strings.TrimSuffix(s, "#"), "://")
		return rest
	}
	scheme, _, _ := strings.Cut(uri, "://")
	for known, age := range dialects {
		if (scheme == "http" || scheme == "https") && plain(known) == plain(uri) {
			return age, true
		}
	}
	return 0, false
}

func unknownDialect(uri string) string {
	msg := fmt.Sprintf("%q is no dialect that is known here", textcut.Head(uri, 100))
	if near := Nearest(uri, slices.Sorted(maps.Keys(dialects))); near != "" {
		return msg + fmt.Sprintf("; did you mean %q?", near)
	}
	return msg + fmt.Sprintf("; write %q or remove the key", today)
}

type modernizer struct {
	age  int
	errs []error
}

func (m *modernizer) addMistake(at, format string, args ...any) {
	m.errs = append(m.errs, &PathError{at, fmt.Sprintf(format, args...)})
}

// rewriteSchema rewrites one subschema and all in it. What isn't a schema is left for
// lintSchema to tell.
func (m *modernizer) rewriteSchema(v any, at string) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	if _, ok := s["id"]; ok && m.age == 4 {
		m.addMistake(at+".id", "id is not supported; refer to #/definitions/name instead")
		delete(s, "id")
	}
	m.checkReference(s, at)
	m.rewriteTuple(s, at)
	m.splitDependencies(s, at)
	if m.age == 4 {
		m.rewriteExclusive(s, at, "minimum", "exclusiveMinimum")
		m.rewriteExclusive(s, at, "maximum", "exclusiveMaximum")
	}
	for _, k := range slices.Sorted(maps.Keys(s)) {
		m.rewriteInside(s[k], keywords[k], at+"."+k)
	}
}

func (m *modernizer) rewriteInside(v any, holds byte, at string) {
	switch holds {
	case 's':
		m.rewriteSchema(v, at)
	case 'l':
		list, _ := v.([]any)
		for i, e := range list {
			m.rewriteSchema(e, fmt.Sprintf("%s[%d]", at, i))
		}
	case 'm':
		sub, _ := v.(map[string]any)
		for _, n := range slices.Sorted(maps.Keys(sub)) {
			m.rewriteSchema(sub[n], at+"."+n)
		}
	}
}

// besideReference are keywords that say nothing of a value. So they may stand beside a $ref
// where the dialect ignores its neighbours. A type is harmless: it can only refuse more.
var besideReference = []string{
	"$ref", "$schema", "$comment", "$defs", "definitions", "type", "title", "description",
	"default", "examples", "deprecated", "readOnly", "writeOnly",
}

// checkReference refuses what old dialects ignore beside a $ref: its author believes
// that it holds, and today it would, in ways that may also open the schema.
func (m *modernizer) checkReference(s map[string]any, at string) {
	if _, ok := s["$ref"]; !ok || m.age > 7 {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(besideReference, k) && !strings.HasPrefix(k, "x-") {
			m.addMistake(at+"."+k, "does nothing beside $ref in this dialect; write allOf: [{$ref: …}] in place of $ref")
		}
	}
}

// rewriteTuple renames a list under items, and what holds for the rest of it.
func (m *modernizer) rewriteTuple(s map[string]any, at string) {
	list, isTuple := s["items"].([]any)
	rest, hasRest := s["additionalItems"]
	if !isTuple {
		if hasRest {
			m.addMistake(at+".additionalItems", "does nothing where items is no list; remove it")
			delete(s, "additionalItems")
		}
		return
	}
	if _, twice := s["prefixItems"]; twice {
		m.addMistake(at+".prefixItems", "stands beside a list under items, which says the same in this dialect; keep one")
	}
	delete(s, "items")
	delete(s, "additionalItems")
	if len(list) > 0 {
		s["prefixItems"] = list
	}
	if hasRest {
		s["items"] = rest
	}
}

// splitDependencies splits one keyword of old into the two that it became.
func (m *modernizer) splitDependencies(s map[string]any, at string) {
	deps, ok := s["dependencies"].(map[string]any)
	if !ok || m.age > 2019 {
		return
	}
	delete(s, "dependencies")
	needed, schemas := map[string]any{}, map[string]any{}
	for k, v := range deps {
		if _, isList := v.([]any); isList {
			needed[k] = v
		} else {
			schemas[k] = v
		}
	}
	for k, v := range map[string]map[string]any{"dependentRequired": needed, "dependentSchemas": schemas} {
		if _, twice := s[k]; twice {
			m.addMistake(at+"."+k, "stands beside dependencies, which says the same in this dialect; keep one")
			continue
		}
		if len(v) > 0 {
			s[k] = v
		}
	}
}

// rewriteExclusive turns the switch of draft-04 into the number that it became.
func (m *modernizer) rewriteExclusive(s map[string]any, at, bound, exclusive string) {
	on, isSwitch := s[exclusive].(bool)
	if !isSwitch {
		return
	}
	delete(s, exclusive)
	n, ok := s[bound]
	switch {
	case !ok:
		m.addMistake(at+"."+exclusive, "needs %s beside it", bound)
	case on:
		delete(s, bound)
		s[exclusive] = n
	}
}
