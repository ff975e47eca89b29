package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// The editor schemas in the repository are those that the code makes.
func TestSchemaGolden(t *testing.T) {
	golden(t, "vedette.schema.json", config.Schema())
	golden(t, "skill.schema.json", config.SkillSchema())
	require.NotContains(t, string(config.SkillSchema()), "mcp", "what isn't built is offered to none")
}

// The reference in the repository is the one that the code makes. It has every key
// of every way to run.
func TestReference(t *testing.T) {
	golden(t, "../docs/reference.md", config.Reference())
	for _, key := range []string{"`permissions[].when`", "`models.*.api_key`", "`run.http.headers`", "`run.exec.argv`", "`run.template`",
		"`run.builtin.smtp.tls`", "`skills.known`"} {
		require.Contains(t, string(config.Reference()), "| "+key+" |")
	}
}

func compileSchema(t *testing.T, raw []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	require.Equal(t, "http://json-schema.org/draft-07/schema#", doc.(map[string]any)["$schema"])
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("mem:///s", doc))
	s, err := c.Compile("mem:///s")
	require.NoError(t, err)
	return s
}

func instance(t *testing.T, src []byte) any {
	t.Helper()
	var v any
	require.NoError(t, yaml.Unmarshal(src, &v))
	b, err := json.Marshal(v)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	require.NoError(t, err)
	return doc
}

// An editor accepts what Load accepts and refuses the plain mistakes.
func TestSchemaAgreesWithLoad(t *testing.T) {
	conf, skill := compileSchema(t, config.Schema()), compileSchema(t, config.SkillSchema())
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", "good", filepath.FromSlash(name)))
		require.NoError(t, err)
		return b
	}
	require.NoError(t, conf.Validate(instance(t, read("vedette.yaml"))))
	for _, f := range []string{"skills/email.yaml", "skills/tasks.yaml", "skills/notes/notes.yaml"} {
		require.NoError(t, skill.Validate(instance(t, read(f))), f)
	}
	for _, good := range []string{
		"version: 1\nlimits: {agent: {calls: '${N}'}}", "version: 1\nsentinel: {mode: 'off', timeout: '${T:-1s}'}",
		"version: 1\njudge: {threshold: '${T}'}", "version: 1\nroles: {agent: m}\nmodels: {m: {model: m, base_url: u}}",
	} {
		require.NoError(t, conf.Validate(instance(t, []byte(good))), good)
	}
	for _, bad := range []string{
		"limits: {}", "version: 2", "version: 1\nx: 1", "version: 1\nlimits: {agent: {call: 1}}", "version: 1\nlimits: {agent: {calls: 0}}",
		"version: 1\nsentinel: {mode: enforced}", "version: 1\napprovals: {timeout: 30}", "version: 1\njudge: {threshold: 1.5}",
		"version: 1\nroles: {sentinal: m}", "version: 1\nlimits: {turn: {cost: 0}}", "version: 1\nroles: {agent: []}",
		"version: 1\nmodels: {m: {model: m}}", "version: 1\nmodels: {'a b': {model: m, base_url: u}}",
		"version: 1\npermissions: [{skill: '*'}]", "version: 1\npermissions: [{skill: '*', then: defer}]",
		"version: 1\npermissions: [{skill: '*', then: ask, id: '1 2'}]",
	} {
		require.Error(t, conf.Validate(instance(t, []byte(bad))), bad)
	}
	for _, bad := range []string{"name: a.b\nrun: {template: x}", "name: a.b\neffect: read\nrun: {}",
		"name: a.b\neffect: raed\nrun: {template: x}",
		"skills: [{name: a.b, effect: read, run: {go: x}}]", "skills: [{effect: read, run: {template: x}}]"} {
		require.Error(t, skill.Validate(instance(t, []byte(bad))), bad)
	}
}
