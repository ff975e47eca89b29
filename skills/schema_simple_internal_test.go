package skills

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func decodeArgs(t require.TestingT, raw string) map[string]any {
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	require.NoError(t, d.Decode(&m))
	return m
}

// A schema with a keyword beyond the simple ones is the library's.
func TestSimpleSchemaIsRead(t *testing.T) {
	for parameters, simple := range map[string]bool{
		`{"type":"object"}`: true,
		`{"type":"object","properties":{"a":{"type":["string","null"],"x-target":true,"description":"d"}},"required":["a"]}`: true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}`:                                   true,
		`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}},"additionalProperties":true}`:                true,
		`{"type":"object","properties":{"a":{"type":"string","format":"email"}}}`:                                            false,
		`{"type":"object","properties":{"a":{"type":"string","maxLength":3}}}`:                                               false,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":3}}}`:                                                false,
		`{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`:                                               false,
		`{"type":"object","properties":{"a":{"const":"x"}}}`:                                                                 false,
		`{"type":"object","properties":{"a":{"type":"string","const":"x"}}}`:                                                 false,
		`{"type":"object","properties":{"a":{}}}`:                                                                            false,
		`{"type":"object","properties":{"a":true}}`:                                                                          false,
		`{"type":"object","properties":{"a":{"type":"string"}},"not":{"required":["a"]}}`:                                    false,
		`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`:                                false,
		`{"type":"object","properties":{"a":{"type":"string"}},"minProperties":1}`:                                           false,
		`{"type":"object","patternProperties":{"^a":{"type":"string"}}}`:                                                     false,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`:                    false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`:                          false,
	} {
		s, _, err := compileSchema(json.RawMessage(parameters))
		require.NoError(t, err, parameters)
		require.Equal(t, simple, s.simple != nil, parameters)
	}
}

// What is said to fit does: each of these is refused by the library, and never said yes to.
func TestSimpleSchemaNeverPassesMistakes(t *testing.T) {
	s := mustSkill(t, `{"type":"object","required":["s"],"properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},
		"w":{"type":"string","enum":["x","y"]},"l":{"type":"array","items":{"type":"boolean"}},"z":{"type":"null"},
		"o":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}}}`)
	require.NotNil(t, s.schema.simple)
	for _, raw := range []string{
		`{}`, `{"i":1}`, `{"s":1}`, `{"s":null}`, `{"s":["a"]}`, `{"s":"a","i":1.5}`, `{"s":"a","i":"1"}`, `{"s":"a","n":"1"}`,
		`{"s":"a","w":"z"}`,
		`{"s":"a","w":""}`, `{"s":"a","l":[true,1]}`, `{"s":"a","l":true}`, `{"s":"a","z":false}`, `{"s":"a","o":{}}`, `{"s":"a","o":{"k":1}}`,
		`{"s":"a","o":{"k":"a","m":1}}`, `{"s":"a","m":1}`, `{"s":"a","o":[]}`, `{"s":"a","o":null}`,
	} {
		args := decodeArgs(t, raw)
		require.False(t, s.schema.simple.surelyFits(args), raw)
		require.NotEmpty(t, s.Validate(args), raw)
	}
	for _, raw := range []string{
		`{"s":""}`, `{"s":"a","i":-7,"n":1.5,"w":"y","l":[],"z":null,"o":{"k":"b"}}`, `{"s":"a","n":1e300,"l":[true,false]}`, `{"s":"a","i":0}`,
	} {
		args := decodeArgs(t, raw)
		require.True(t, s.schema.simple.surelyFits(args), raw)
		require.Empty(t, s.Validate(args), raw)
	}
	whole := decodeArgs(t, `{"s":"a","i":1.0}`)
	require.False(t, s.schema.simple.surelyFits(whole), "how a whole number may be written is the library's to say")
	require.Empty(t, s.Validate(whole))
}

func mustSkill(t require.TestingT, parameters string) *Skill {
	s, err := Compile(Spec{Name: "a.b", Effect: Read, Parameters: json.RawMessage(parameters)})
	require.NoError(t, err, parameters)
	return s
}

// drawSchema draws a schema of simple keywords, now and then with another one among them.
func drawSchema(t *rapid.T, depth int) map[string]any {
	types := []string{"string", "number", "integer", "boolean", "null", "array", "object"}
	if depth > 2 {
		types = types[:5]
	}
	m := map[string]any{"type": rapid.SampledFrom(types).Draw(t, "type")}
	if depth == 0 {
		m["type"] = "object"
	}
	if rapid.IntRange(0, 5).Draw(t, "two") == 0 && depth > 0 && m["type"] != "null" {
		m["type"] = []any{m["type"], "null"}
	}
	switch m["type"] {
	case "object":
		props := map[string]any{}
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, "props") {
			props[k] = drawSchema(t, depth+1)
		}
		m["properties"] = props
		m["required"] = rapid.SliceOfNDistinct(rapid.SampledFrom([]any{"a", "b"}), 0, 1, func(v any) string { return fmt.Sprint(v) }).Draw(t,
			"required")
		if rapid.IntRange(0, 3).Draw(t, "open") == 0 {
			m["additionalProperties"] = rapid.Bool().Draw(t, "additional")
		}
	case "array":
		if rapid.Bool().Draw(t, "items") {
			m["items"] = drawSchema(t, depth+1)
		}
	case "string":
		if rapid.IntRange(0, 2).Draw(t, "enum") == 0 {
			m["enum"] = []any{"x", "y"}
		}
		if rapid.IntRange(0, 7).Draw(t, "long") == 0 {
			m["maxLength"] = 1
		}
	}
	return m
}

func drawArg(t *rapid.T, depth int) any {
	n := 9
	if depth > 2 {
		n = 7
	}
	switch rapid.IntRange(0, n).Draw(t, "value") {
	case 0:
		return "x"
	case 1:
		return "long"
	case 2:
		return json.Number("1")
	case 3:
		return json.Number("-1.5")
	case 4:
		return json.Number("1e2")
	case 5:
		return true
	case 6:
		return nil
	case 7:
		return ""
	case 8:
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "n") {
			list = append(list, drawArg(t, depth+1))
		}
		return list
	}
	m := map[string]any{}
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID[string]).Draw(t, "keys") {
		m[k] = drawArg(t, depth+1)
	}
	return m
}

// Whatever the schema and the arguments, what is said to fit is refused by neither the
// library nor by the look for undeclared keys.
func TestSimpleSchemaAgrees(t *testing.T) {
	said := 0
	rapid.Check(t, func(t *rapid.T) {
		var raw bytes.Buffer
		require.NoError(t, json.NewEncoder(&raw).Encode(drawSchema(t, 0)))
		s := mustSkill(t, raw.String())
		args, ok := drawArg(t, 0).(map[string]any)
		if !ok {
			args = map[string]any{"a": "x"}
		}
		if s.schema.simple == nil || !s.schema.simple.surelyFits(args) {
			return
		}
		said++
		require.NoError(t, s.schema.compiled.Validate(args), raw.String())
		require.Empty(t, s.findUndeclared(args), raw.String())
	})
	require.Positive(t, said)
}
