package skills

import (
	"maps"
	"slices"
	"strings"
)

// branches are keywords whose subschemas speak of the same value: where an
// object has one, only unevaluatedProperties can see all that is declared.
var branches = []string{"allOf", "anyOf", "oneOf", "$ref", "if", "then", "else", "dependentSchemas"}

// conditions are keywords whose subschemas ask and don't demand. Closing one
// makes it fit fewer values, and so what hangs on it hold for fewer.
var conditions = []string{"if", "not", "contains"}

// asWritten is where conditions find what they refer to, before it was closed.
const asWritten = "as written"

// closeObjects refuses arguments that the schema doesn't name. That holds at the root and in
// every object that names some, unless the schema says otherwise.
func closeObjects(root map[string]any) {
	keepForConditions(root)
	closeValue(root, true)
}

// keepForConditions gives the references in conditions a copy of the schema
// that stays open.
func keepForConditions(root map[string]any) {
	found := false
	eachCondition(root, func(m map[string]any) {
		eachReference(m, func(s map[string]any, ref string) { found = true })
	})
	if !found {
		return
	}
	prefix := "#/$defs/" + strings.ReplaceAll(asWritten, " ", "%20")
	retarget := func(s map[string]any, ref string) {
		if !strings.HasPrefix(ref, prefix) {
			s["$ref"] = prefix + strings.TrimPrefix(ref, "#")
		}
	}
	kept, _ := copyValue(root).(map[string]any)
	delete(kept, "$schema")
	eachReference(kept, retarget)
	eachCondition(root, func(m map[string]any) { eachReference(m, retarget) })
	defs, ok := root["$defs"].(map[string]any)
	if !ok {
		defs = map[string]any{}
		root["$defs"] = defs
	}
	defs[asWritten] = kept
}

// eachCondition calls fn for the subschemas of m that are conditions.
func eachCondition(m map[string]any, fn func(map[string]any)) {
	for _, k := range conditions {
		if s, ok := m[k].(map[string]any); ok {
			fn(s)
		}
	}
	eachBelow(m, func(_ string, s map[string]any) { eachCondition(s, fn) })
}

func eachReference(m map[string]any, fn func(s map[string]any, ref string)) {
	if ref, ok := m["$ref"].(string); ok {
		fn(m, ref)
	}
	eachBelow(m, func(_ string, s map[string]any) { eachReference(s, fn) })
}

// eachBelow calls fn for every subschema that stands directly in m, with the
// keyword that it stands under.
func eachBelow(m map[string]any, fn func(keyword string, s map[string]any)) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch v := m[k].(type) {
		case map[string]any:
			switch keywords[k] {
			case 's':
				fn(k, v)
			case 'm':
				for _, n := range slices.Sorted(maps.Keys(v)) {
					if s, ok := v[n].(map[string]any); ok && !(k == "$defs" && n == asWritten) {
						fn(k, s)
					}
				}
			}
		case []any:
			for _, e := range v {
				if s, ok := e.(map[string]any); ok && keywords[k] == 'l' {
					fn(k, s)
				}
			}
		}
	}
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = copyValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copyValue(e)
		}
		return out
	}
	return v
}

// closeValue closes a schema that describes a whole value. Branches of it are
// left open: each sees only its own part.
func closeValue(m map[string]any, root bool) {
	closeInside(m)
	for _, k := range []string{"additionalProperties", "unevaluatedProperties"} {
		if _, ok := m[k]; ok {
			return
		}
	}
	branched := slices.ContainsFunc(branches, func(k string) bool { _, ok := m[k]; return ok })
	_, named := m["properties"]
	switch {
	case branched && (root || named || refersElsewhere(m)):
		m["unevaluatedProperties"] = false
	case root || named:
		m["additionalProperties"] = false
	}
}

// refersElsewhere reports whether a schema takes its shape from a reference or a branch.
// Closing one that turns out to describe no object changes nothing.
func refersElsewhere(m map[string]any) bool {
	if _, ok := m["$ref"]; ok {
		return true
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[k].([]any)
		for _, v := range list {
			s, ok := v.(map[string]any)
			if ok && (s["properties"] != nil || refersElsewhere(s)) {
				return true
			}
		}
	}
	return false
}

// closeInside closes the values that a schema describes: its properties and
// elements, those of its branches and definitions too. Conditions stay as they
// are written.
func closeInside(m map[string]any) {
	eachBelow(m, func(keyword string, s map[string]any) {
		switch keyword {
		case "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "items", "prefixItems", "unevaluatedItems":
			closeValue(s, false)
		case "allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "$defs", "definitions":
			closeInside(s)
		}
	})
}
