package skills_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// parse reads arguments as a call has them.
func parseArgs(t *testing.T, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	require.NoError(t, d.Decode(&m))
	return m
}

// Schemas as programs write them become skills: what asserts nothing is left out, and the rest closes.
func TestCompileTool(t *testing.T) {
	for name, c := range map[string]struct{ schema, fits, unfit string }{
		"none":    {``, `{}`, `{"x":1}`},
		"null":    {`null`, `{}`, `{"x":1}`},
		"no type": {`{"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, `{"b":"x"}`},
		"zod": {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string","format":"url"}},` +
			`"required":["a"],"~standard":{"vendor":"zod"}}`, `{"a":"no url"}`, `{}`},
		"pydantic": {`{"title":"T","type":"object","$defs":{"M":{"type":"object","properties":{"k":{"type":"string"}},` +
			`"discriminator":{"x":1}}},"properties":{"m":{"$ref":"#/$defs/M"}}}`, `{"m":{"k":"v"}}`, `{"m":{"k":1}}`},
		"tuple": {`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"a":["x",1]}`, `{"a":[1,1]}`},
		"nullable": {`{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`, `{"a":null}`, `{"a":1}`},
		"lookahead": {`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"}},"patternProperties":{"(?!y)":{}}}`,
			`{"a":"x"}`, `{"b":"x"}`},
		"open":     {`{"type":"object","additionalProperties":true}`, `{"anything":[1]}`, ``},
		"dialect":  {`{"$schema":"https://example.com/my","type":"object","properties":{"a":{"required":true}}}`, `{"a":1}`, `{"b":1}`},
		"our mark": {`{"type":"object","properties":{"a":{"type":"string","x-secret":true,"x-content":"yes"}}}`, `{"a":"x"}`, `{"b":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := skills.CompileTool(skills.ToolSpec{Name: "Bash", Parameters: json.RawMessage(c.schema), Effect: skills.Irreversible})
			require.NoError(t, err)
			require.Equal(t, "tool.b-uash", s.Name())
			require.Empty(t, s.Validate(parseArgs(t, c.fits)))
			if c.unfit != "" {
				require.NotEmpty(t, s.Validate(parseArgs(t, c.unfit)))
			}
			require.False(t, s.Secretive(), "a program's annotations are none")
			require.True(t, s.Claimed())
			require.False(t, s.Named())
		})
	}
}

// The operator's annotations count, and the description says whose it is.
func TestToolOfOperator(t *testing.T) {
	s, err := skills.CompileTool(skills.ToolSpec{
		Name: "Write", Description: "Writes a file.", Effect: skills.Modify, Named: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"}}}`),
		Marks:      map[string]skills.Annotation{"file_path": skills.Path, "content": skills.Content, "gone": skills.Shell},
	})
	require.NoError(t, err)
	require.True(t, s.Named())
	require.Equal(t, `A tool of the client's program, which calls it "Write" and describes it so: Writes a file.`, s.Spec().Description)
	require.Equal(t, skills.Untrusted, s.Spec().Output)
	marks := map[string]skills.Annotation{}
	s.Walk(parseArgs(t, `{"file_path":"/a","content":"b"}`), func(a skills.Arg) { marks[a.Name] = a.Marks })
	require.Equal(t, map[string]skills.Annotation{"file_path": skills.Path, "content": skills.Content}, marks)
}

// What can't be read as a tool is an error, and no panic.
func TestToolsThatAreNone(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 100) + `{}` + strings.Repeat(`}`, 100)
	for name, c := range map[string]skills.ToolSpec{
		"no name":   {Effect: skills.Read},
		"long name": {Name: strings.Repeat("x", 200), Effect: skills.Read},
		"no effect": {Name: "a"},
		"list":      {Name: "a", Effect: skills.Read, Parameters: json.RawMessage(`[]`)},
		"two":       {Name: "a", Effect: skills.Read, Parameters: json.RawMessage(`{} {}`)},
		"long":      {Name: "a", Effect: skills.Read, Parameters: json.RawMessage(`{"title":"` + strings.Repeat("x", skills.MaxSchema) + `"}`)},
		"deep":      {Name: "a", Effect: skills.Read, Parameters: json.RawMessage(`{"properties":{"a":` + deep + `}}`)},
		"type":      {Name: "a", Effect: skills.Read, Parameters: json.RawMessage(`{"properties":{"a":{"type":"wrong"}}}`)},
		"reference": {Name: "a", Effect: skills.Read, Parameters: json.RawMessage(`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`)},
	} {
		_, err := skills.CompileTool(c)
		require.Error(t, err, name)
	}
	_, err := skills.ParseMark("path")
	require.NoError(t, err)
	_, err = skills.ParseMark("paht")
	require.ErrorIs(t, err, skills.ErrMark)
}

// FuzzCompileTool holds that no schema of a program panics, and that none opens what isn't declared.
func FuzzCompileTool(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	f.Add(`{"properties":{"a":{"anyOf":[{"$ref":"#/definitions/b"}]}},"definitions":{"b":{"items":[{}]}}}`)
	f.Add(`{"dependencies":{"a":["b"],"c":{"properties":{}}},"not":{},"if":{"required":["x"]}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		s, err := skills.CompileTool(skills.ToolSpec{Name: "x", Parameters: json.RawMessage(schema), Effect: skills.Read})
		if err != nil {
			return
		}
		_ = s.Validate(map[string]any{"undeclared-argument": map[string]any{"a": "b"}})
		s.Walk(map[string]any{"a": []any{"b"}}, func(skills.Arg) {})
	})
}
