package skills_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// object is a JSON object of a generated schema or value.
type object = map[string]any

// schemaGen draws schemas in which every object names what it may hold, in the
// words of old and new dialects.
type schemaGen struct {
	t    *rapid.T
	old  bool // tuples, definitions and dependencies as they were once written
	defs object
}

func (g *schemaGen) name() string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(g.t, "name")
}

func (g *schemaGen) reference() object {
	where := "$defs"
	if g.old {
		where = "definitions"
	}
	return object{"$ref": "#/" + where + "/" + rapid.SampledFrom([]string{"p", "q"}).Draw(g.t, "def")}
}

func (g *schemaGen) value(depth int) object {
	kinds := []string{"text", "object", "object", "list", "tuple", "reference", "branches", "contains"}
	if depth <= 0 {
		kinds = kinds[:1]
	}
	switch rapid.SampledFrom(kinds).Draw(g.t, "kind") {
	case "object":
		return g.object(depth)
	case "list":
		return object{"type": "array", "items": g.value(depth - 1)}
	case "tuple":
		first, rest := g.value(depth-1), g.value(depth-1)
		if g.old {
			return object{"items": []any{first}, "additionalItems": rest}
		}
		return object{"prefixItems": []any{first}, "items": rest}
	case "contains":
		return object{"type": "array", "contains": g.value(depth - 1)}
	case "reference":
		return g.reference()
	case "branches":
		list := []any{g.value(depth - 1), g.value(depth - 1)}
		return object{rapid.SampledFrom([]string{"anyOf", "oneOf", "allOf"}).Draw(g.t, "branch"): list}
	}
	return object{"type": "string"}
}

// object always names a property; what else it has is drawn.
func (g *schemaGen) object(depth int) object {
	s := object{"properties": object{g.name(): g.value(depth - 1)}}
	if rapid.Bool().Draw(g.t, "more") {
		s["properties"].(object)[g.name()] = g.value(depth - 1)
	}
	if depth <= 0 {
		return s
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		if rapid.IntRange(0, 5).Draw(g.t, k) == 0 {
			s[k] = []any{g.object(depth - 1), g.object(depth - 1)}
		}
	}
	for _, k := range []string{"if", "then", "else", "not"} {
		if rapid.IntRange(0, 5).Draw(g.t, k) == 0 {
			s[k] = g.object(depth - 1)
		}
	}
	if rapid.IntRange(0, 5).Draw(g.t, "dependent") == 0 {
		k := "dependentSchemas"
		if g.old {
			k = "dependencies"
		}
		s[k] = object{g.name(): g.object(depth - 1)}
	}
	return s
}

// instance draws a value that a schema describes, as far as one can tell
// without a validator.
func (g *schemaGen) instance(s object, depth int) any {
	if ref, ok := s["$ref"].(string); ok {
		if depth < 0 {
			return "x"
		}
		return g.instance(g.defs[ref[len(ref)-1:]].(object), depth-1)
	}
	for _, k := range []string{"prefixItems", "items", "contains"} {
		switch v := s[k].(type) {
		case []any:
			return []any{g.instance(v[0].(object), depth-1)}
		case object:
			return []any{g.instance(v, depth-1)}
		}
	}
	out := object{}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[k].([]any)
		for _, e := range list {
			v := g.instance(e.(object), depth-1)
			m, isObject := v.(object)
			if !isObject && s["properties"] == nil {
				return v
			}
			maps.Copy(out, m)
		}
	}
	props, ok := s["properties"].(object)
	if !ok {
		if len(out) > 0 {
			return out
		}
		return "x"
	}
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if rapid.Bool().Draw(g.t, "has "+k) {
			out[k] = g.instance(props[k].(object), depth-1)
		}
	}
	return out
}

// spoil puts a key that no schema names into one object of a value.
func spoil(t *rapid.T, v any) bool {
	switch v := v.(type) {
	case object:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if rapid.Bool().Draw(t, "into") && spoil(t, v[k]) {
				return true
			}
		}
		v["zz"] = "x"
		return true
	case []any:
		return len(v) > 0 && spoil(t, v[0])
	}
	return false
}

// A key that no part of a schema declares never passes, unless the schema says that more may
// come. Dialect and build of the schema don't matter.
func TestUndeclaredKeysNeverPass(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := &schemaGen{t: t, old: rapid.Bool().Draw(t, "old")}
		g.defs = object{"p": g.object(2), "q": g.object(1)}
		root := g.object(3)
		root["type"] = "object"
		root["$defs"] = g.defs
		if g.old {
			delete(root, "$defs")
			root["definitions"] = g.defs
			root["$schema"] = rapid.SampledFrom([]string{"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#",
				"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"}).Draw(t, "dialect")
		}
		raw, err := json.Marshal(root)
		require.NoError(t, err)
		s, err := compileRaw(string(raw))
		require.NoError(t, err, "%s", raw)
		args := g.instance(root, 6)
		if len(s.Validate(args)) == 0 {
			accepted++
		}
		spoil(t, args)
		spoiled, err := json.Marshal(args)
		require.NoError(t, err)
		if len(s.Validate(args)) > 0 {
			refused++
			return
		}
		t.Fatalf("%s passes\n%s", spoiled, raw)
	})
	require.Positive(t, accepted, "the schemas let through what they describe")
	require.Positive(t, refused)
}

// A condition asks of a value what its author wrote: were it closed, a further
// argument would keep what hangs on it from holding.
func TestConditionsStayAsWritten(t *testing.T) {
	const props = `"properties":{"target":{"type":"object","properties":{"kind":{"type":"string"},"note":{"type":"string"}}},
		"reason":{"type":"string"},
		"list":{"type":"array","items":{"type":"object","properties":{"kind":{"type":"string"},"note":{"type":"string"}}}}}`
	const root = `{"properties":{"target":{"properties":{"kind":{"const":"root"}},"required":["kind"]}},"required":["target"]}`
	for name, schema := range map[string]string{
		"if":  `{"type":"object",` + props + `,"if":` + root + `,"then":{"required":["reason"]}}`,
		"not": `{"type":"object",` + props + `,"not":` + root + `}`,
		"if with a reference": `{"type":"object",` + props + `,"if":{"$ref":"#/$defs/root"},"then":{"required":["reason"]},"$defs":{"root":` +
			root + `}}`,
		"not with references": `{"type":"object",` + props + `,"not":{"$ref":"#/$defs/any"},"$defs":{"any":{"$ref":"#/$defs/root"},"root":` +
			root + `}}`,
		"not in old definitions": `{` + draft7 + `,` + props + `,"not":{"$ref":"#/definitions/root"},"definitions":{"root":` + root + `}}`,
	} {
		s, err := compileRaw(schema)
		require.NoError(t, err, name)
		for args, ok := range map[string]bool{
			`{"target":{"kind":"root"}}`: false, `{"target":{"kind":"root","note":"x"}}`: false, `{"target":{"kind":"user","note":"x"}}`: true,
			`{"target":{"kind":"user","other":"x"}}`: false,
		} {
			require.Equal(t, ok, len(s.Validate(parse(t, args))) == 0, "%s %s", name, args)
		}
	}
	s, err := compileRaw(`{"type":"object","properties":{"list":{"type":"array","items":{"$ref":"#/$defs/e"},
		"contains":{"$ref":"#/$defs/root"},"minContains":0,"maxContains":1}},
		"$defs":{"e":{"type":"object","properties":{"kind":{"type":"string"},"note":{"type":"string"}}},
		"root":{"properties":{"kind":{"const":"root"}}}}}`)
	require.NoError(t, err)
	require.NotEmpty(t, s.Validate(parse(t, `{"list":[{"kind":"root","note":"x"},{"kind":"root"}]}`)))
}

// The report of an undeclared key names its object and not the key: that is the
// model's own word.
func TestUndeclaredReport(t *testing.T) {
	s, err := compileRaw(`{"type":"object","properties":{"l":{"type":"array","contains":{"type":"object","properties":{"a":{}}}}}}`)
	require.NoError(t, err)
	errs := s.Validate(parse(t, `{"l":[{"a":1},{"a":1,"SECRET":1}]}`))
	require.Len(t, errs, 1)
	require.Equal(t, "/l/1", errs[0].Pointer)
	require.Equal(t, "additionalProperties", errs[0].Keyword)
	require.NotContains(t, errs[0].Error(), "SECRET")
}
