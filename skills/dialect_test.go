package skills_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

func compileRaw(raw string) (*skills.Skill, error) {
	return skills.Compile(skills.Spec{Name: "test.do", Effect: skills.Modify, Parameters: json.RawMessage(raw)})
}

const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#","type":"object"`

// A schema of an older dialect is as closed as one of 2020-12.
func TestOlderDialectsStayClosed(t *testing.T) {
	for _, dialect := range []string{
		"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-04/schema", "https://json-schema.org/draft-06/schema#",
		"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
		"https://json-schema.org/draft/2020-12/schema#",
	} {
		s, err := compileRaw(`{"$schema":"` + dialect +
			`","type":"object","properties":{"to":{"type":"string"},"who":{"$ref":"#/definitions/who"}},
			"allOf":[{"properties":{"cc":{"type":"string"}}}],"definitions":{"who":{"type":"object",
			"properties":{"at":{"type":"object","properties":{"x":{}}}}}}}`)
		require.NoError(t, err, dialect)
		for args, ok := range map[string]bool{
			`{"to":"a","cc":"b"}`: true, `{"to":"a","bcc":"b"}`: false, `{"who":{"at":{"x":1}}}`: true,
			`{"who":{"at":{"y":1}}}`: false, `{"who":{"y":1}}`: false,
		} {
			require.Equal(t, ok, len(s.Validate(parse(t, args))) == 0, "%s %s", dialect, args)
		}
	}
}

// What older dialects write in another way means the same afterwards.
func TestOlderDialectsAreTranslated(t *testing.T) {
	const draft4 = `"$schema":"http://json-schema.org/draft-04/schema#","type":"object"`
	tests := []struct {
		name, schema string
		args         map[string]bool
	}{
		{"tuples", `{` + draft7 +
			`,"properties":{"l":{"type":"array","items":[{"type":"string"},{"type":"object","properties":{"a":{}}}],"additionalItems":false}}}`,
			map[string]bool{
				`{"l":["x",{"a":1}]}`: true, `{"l":[1]}`: false, `{"l":["x",{"b":1}]}`: false, `{"l":["x",{},1]}`: false}},
		{"the rest of a tuple", `{` + draft7 + `,"properties":{"l":{"items":[{"type":"string"}],"additionalItems":{"type":"integer"}}}}`,
			map[string]bool{
				`{"l":["x",1,2]}`: true, `{"l":["x","y"]}`: false}},
		{"an empty tuple", `{` + draft7 + `,"properties":{"l":{"items":[],"additionalItems":{"type":"integer"}}}}`, map[string]bool{
			`{"l":[1]}`: true, `{"l":["y"]}`: false}},
		{"dependencies", `{` + draft7 + `,"properties":{"a":{},"b":{},"c":{"type":"string"}},"dependencies":{"a":["b"],"b":{"required":["c"]}}}`,
			map[string]bool{
				`{"c":"x"}`: true, `{"a":1}`: false, `{"a":1,"b":1}`: false, `{"a":1,"b":1,"c":"x"}`: true}},
		{"exclusive bounds", `{` + draft4 + `,"properties":{"n":{"minimum":1,"exclusiveMinimum":true,"maximum":5,"exclusiveMaximum":false}}}`,
			map[string]bool{
				`{"n":1}`: false, `{"n":2}`: true, `{"n":5}`: true, `{"n":6}`: false}},
		{"words beside a reference",
			`{` + draft7 + `,"properties":{"a":{"$ref":"#/definitions/a","description":"d","x-target":true}},"definitions":{"a":{"type":"string"}}}`,
			map[string]bool{
				`{"a":"x"}`: true, `{"a":1}`: false}},
		{"data is left alone", `{` + draft7 + `,"properties":{"a":{"enum":[{"dependencies":1,"items":[1]}],"default":{"$ref":1,"items":[]}}}}`,
			map[string]bool{
				`{"a":{"dependencies":1,"items":[1]}}`: true, `{"a":{}}`: false}},
		{"arguments called like keywords",
			`{` + draft4 + `,"properties":{"items":{"type":"string"},"id":{"type":"string"},"$schema":{"type":"string"},"dependencies":{}}}`,
			map[string]bool{
				`{"items":"x","id":"y","$schema":"z","dependencies":[]}`: true, `{"items":1}`: false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := compileRaw(tt.schema)
			require.NoError(t, err)
			for args, ok := range tt.args {
				require.Equal(t, ok, len(s.Validate(parse(t, args))) == 0, args)
			}
		})
	}
	s, err := compileRaw(tests[6-1].schema)
	require.NoError(t, err)
	_, declared := s.ArgMarks("a")
	require.True(t, declared)
	require.Contains(t, string(s.Parameters()), "https://json-schema.org/draft/2020-12/schema", "models are told the dialect that holds")
}

// What can't be told in 2020-12 is refused at its place.
func TestDialectsThatAreRefused(t *testing.T) {
	tests := []struct{ name, schema, path, msg string }{
		{"another dialect", `{"$schema":"https://example.com/mine","type":"object"}`, "parameters.$schema",
			`"https://example.com/mine" is no dialect that is known here; write "https://json-schema.org/draft/2020-12/schema" or remove the key`},
		{"a misspelt one", `{"$schema":"http://json-schema.org/draft-7/schema#","type":"object"}`, "parameters.$schema",
			`"http://json-schema.org/draft-7/schema#" is no dialect that is known here; did you mean "http://json-schema.org/draft-07/schema#"?`},
		{"draft 3", `{"$schema":"http://json-schema.org/draft-03/schema#","type":"object"}`, "parameters.$schema",
			`"http://json-schema.org/draft-03/schema#" is no dialect that is known here; did you mean "http://json-schema.org/draft-04/schema#"?`},
		{"no text", `{"$schema":7,"type":"object"}`, "parameters.$schema", `must be the address of a dialect, in quotes`},
		{"a dialect inside", `{"type":"object","properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`,
			"parameters.properties.a.$schema",
			`stands inside the schema; one dialect holds for the whole of it, so write it at the top`},
		{"a dialect inside definitions", `{"type":"object","$defs":{"a":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}}`,
			"parameters.$defs.a.$schema",
			`stands inside the schema; one dialect holds for the whole of it, so write it at the top`},
		{"bounds beside a reference", `{` + draft7 + `,"properties":{"a":{"$ref":"#/definitions/a","maxLength":3}},"definitions":{"a":{}}}`,
			"parameters.properties.a.maxLength",
			`does nothing beside $ref in this dialect; write allOf: [{$ref: …}] in place of $ref`},
		{"an open end beside a reference",
			`{` + draft7 + `,"properties":{"a":{"$ref":"#/definitions/a","additionalProperties":true}},"definitions":{"a":{}}}`,
			"parameters.properties.a.additionalProperties",
			`does nothing beside $ref in this dialect; write allOf: [{$ref: …}] in place of $ref`},
		{"an identity", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"id":"x"}}}`,
			"parameters.properties.a.id",
			`id is not supported; refer to #/definitions/name instead`},
		{"a bound without a number",
			`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"exclusiveMinimum":true}}}`,
			"parameters.properties.n.exclusiveMinimum",
			`needs minimum beside it`},
		{"a rest without a tuple", `{` + draft7 + `,"properties":{"l":{"items":{"type":"string"},"additionalItems":false}}}`,
			"parameters.properties.l.additionalItems",
			`does nothing where items is no list; remove it`},
		{"two tuples", `{` + draft7 + `,"properties":{"l":{"items":[{}],"prefixItems":[{}]}}}`, "parameters.properties.l.prefixItems",
			`stands beside a list under items, which says the same in this dialect; keep one`},
		{"dependencies said twice", `{` + draft7 + `,"properties":{"a":{}},"dependencies":{"a":["a"]},"dependentRequired":{"a":["a"]}}`,
			"parameters.dependentRequired",
			`stands beside dependencies, which says the same in this dialect; keep one`},
		{"a reference into a tuple", `{` + draft7 + `,"properties":{"l":{"items":[{"type":"string"}]},"m":{"$ref":"#/properties/l/items/0"}}}`,
			"parameters.properties.m",
			`has a $ref that leads nowhere; say #/$defs/name`},
		{"a reference into data",
			`{"type":"object","properties":{"m":{"$ref":"#/$defs/z/enum/0"}},"$defs":{"z":{"enum":[{"type":"string","maxLenght":3}]}}}`,
			"parameters.properties.m",
			`has a $ref that leads nowhere; say #/$defs/name`},
		{"a reference into a default", `{"type":"object","properties":{"m":{"$ref":"#/properties/n/default"},"n":{"default":{"type":"string"}}}}`,
			"parameters.properties.m",
			`has a $ref that leads nowhere; say #/$defs/name`},
		{"a reference into words of another tool",
			`{` + draft7 + `,"x-shared":{"z":{"dependencies":{"a":["b"]}}},"properties":{"m":{"$ref":"#/x-shared/z"}}}`, "parameters.properties.m",
			`has a $ref that leads nowhere; say #/$defs/name`},
		{"a reference to a list of schemas", `{"type":"object","properties":{"m":{"$ref":"#/$defs"}},"$defs":{"type":{"type":"string"}}}`,
			"parameters.properties.m",
			`has a $ref that leads nowhere; say #/$defs/name`},
		{"tuples of today", `{"type":"object","properties":{"l":{"items":[{}]}}}`, "parameters.properties.l.items",
			`must be a schema: an object, true or false`},
		{"a vocabulary", `{"type":"object","$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true}}`, "parameters.$vocabulary",
			`$vocabulary is not supported; refer to #/$defs/name instead`},
		{"a recursive reference",
			`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"$recursiveRef":"#"}}}`,
			"parameters.properties.a.$recursiveRef",
			`$recursiveRef is not supported; refer to #/$defs/name instead`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := compileRaw(tt.schema)
			var pe *skills.PathError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, tt.path+": "+tt.msg, pe.Error())
		})
	}
}

// A keyword of another dialect is refused with the word that says the same here.
func TestForeignKeywords(t *testing.T) {
	for property, want := range map[string]string{
		`{"type":"string","nullable":true}`: `parameters.properties.a.nullable: unknown schema keyword "nullable", a word of OpenAPI; write ` +
			`type: [string, "null"]`,
		`{"type":"integer","divisibleBy":2}`: `parameters.properties.a.divisibleBy: unknown schema keyword "divisibleBy", a word of ` +
			`draft-03; did you mean "multipleOf"?`,
		`{"extends":{"type":"string"}}`: `parameters.properties.a.extends: unknown schema keyword "extends", a word of draft-03; did ` +
			`you mean "allOf"`,
		`{"disallow":"string"}`:      `unknown schema keyword "disallow", a word of draft-03; did you mean "not"?`,
		`{"type":"string","id":"x"}`: `unknown schema keyword "id", a word of draft-04; refer to #/$defs/name`,
		`{"type":"string","required":true}`: "parameters.properties.a.required: is true or false in draft-03 alone; name the argument in " +
			"the list required",
		`{"type":"string","required":false}`:  "parameters.properties.a.required: is true or false in draft-03 alone",
		`{"type":"string","nulable":"x"}`:     `unknown schema keyword "nulable"`,
		`{"type":"string","additionalIt":{}}`: `unknown schema keyword "additionalIt"`,
	} {
		_, err := compileRaw(`{"type":"object","properties":{"a":` + property + `}}`)
		require.ErrorContains(t, err, want, property)
	}
}
