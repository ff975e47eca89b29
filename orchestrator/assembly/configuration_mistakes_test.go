package assembly_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// checked is what Check says of a configuration: its mistakes without the folder.
func checked(t *testing.T, file string, change func(*config.Config)) []string {
	t.Helper()
	cfg, err := config.Load(file, config.Options{})
	require.NoError(t, err)
	if change != nil {
		change(cfg)
	}
	err = assembly.Check(cfg)
	var list config.Errors
	require.ErrorAs(t, err, &list)
	require.Equal(t, list.Error(), err.Error(), "every mistake has its place")
	return strings.Split(strings.ReplaceAll(err.Error(), filepath.Dir(file)+string(filepath.Separator), ""), "\n")
}

// Whatever is wrong with a model or a role is told with its place, by the check
// that decides without models as by the one that runs: in what a person wrote
// and in what the environment gave.
func TestModelMistakes(t *testing.T) {
	t.Setenv("LINE_KEY", "sk-secret-0123\n")
	const model = `vedette.yaml:4:`
	head := "sentinel: {retries: 0}\n"
	for name, tc := range map[string]struct{ models, roles, want string }{
		"no scheme": {`{model: m, base_url: "localhost:8080"}`, "fast",
			model + `42: models.fast.base_url: is not an absolute address; write scheme, host and path`},
		"no host": {`{model: m, base_url: "http://"}`, "fast",
			model + `42: models.fast.base_url: is not an absolute address; write scheme, host and path`},
		"other scheme": {`{model: m, base_url: "ftp://h/v1"}`, "fast",
			model + `42: models.fast.base_url: has another scheme than http or https`},
		"password": {`{model: m, base_url: "http://u:hush@h/v1"}`, "fast",
			model + `42: models.fast.base_url: holds a user or password; use api_key`},
		"query": {`{model: m, base_url: "http://h/v1?k=hush"}`, "fast",
			model + `42: models.fast.base_url: holds a query or a fragment; give the path alone`},
		"fragment": {`{model: m, base_url: "http://h/v1#a"}`, "fast",
			model + `42: models.fast.base_url: holds a query or a fragment; give the path alone`},
		"line break": {`{model: m, base_url: "http://h", api_key: "${LINE_KEY}"}`, "fast",
			model + `63: models.fast.api_key: holds a line break; check how the key was read`},
		"needs thinking": {`{model: m, base_url: "http://h", effort: low}`, "fast",
			model + `62: models.fast.effort: has no meaning without reasoning: true`},
		"twice in chain": {`{model: m, base_url: "http://h"}`, "[fast, fast]",
			`vedette.yaml:5:26: roles.sentinel[1]: "fast" is in this chain already`},
	} {
		t.Run(name, func(t *testing.T) {
			got := checked(t, write(t, head+"models: {fast:      "+tc.models+"}\nroles: {sentinel: "+tc.roles+"}\n"), nil)
			require.Equal(t, []string{tc.want}, got)
			require.NotContains(t, strings.Join(got, " "), "hush")
		})
	}
}

// A path that is refused is told at its line, and once: nothing that follows from it
// is a mistake of its own.
func TestARefusedPathIsToldOnce(t *testing.T) {
	t.Setenv("HOME", "")
	for text, want := range map[string]string{
		"credentials: {a: {file: ./token}}":           "vedette.yaml:4:25: credentials.a.file must have one {user} in the last part of its path",
		"credentials: {a: {file: 't/{user}/x'}}":      "vedette.yaml:4:25: credentials.a.file must have one {user} in the last part of its path",
		"credentials: {a: {file: ./t, env: 'A'}}":     "vedette.yaml:4:15: credentials.a must have exactly one of env, file and program: true",
		"credentials: {a: {file: '~/token/{user}'}}":  "vedette.yaml:4:25: ~ can't be resolved because HOME isn't set; write the path out",
		"ledger: {path: ~/v.db}":                      "vedette.yaml:4:16: ~ can't be resolved because HOME isn't set; write the path out",
		"ledger: {path: ledger.db}\nkeys: {dir: ~/k}": "vedette.yaml:5:13: ~ can't be resolved because HOME isn't set; write the path out",
		"guard: {forbid_paths: [~/x]}":                "vedette.yaml:4:24: ~ can't be resolved because HOME isn't set; write the path out",
	} {
		file := write(t, text+"\n")
		var list config.Errors
		require.ErrorAs(t, assembly.CheckDraft(config.Inspect(file, config.Options{})), &list, text)
		require.Len(t, list, 1, "%s: %s", text, list)
		require.Contains(t, list.Error(), want)
	}
}

// What a file can't say is refused just so, at the nearest place.
func TestModelMistakesOfAProgram(t *testing.T) {
	const models, entry = "vedette.yaml:4:1: models: ", "vedette.yaml:4:10: models.fast"
	with := func(change func(*config.Model)) func(*config.Config) {
		return func(c *config.Config) {
			m := c.Models["fast"]
			change(&m)
			c.Models["fast"] = m
		}
	}
	for name, tc := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"model": {with(func(m *config.Model) { m.Model = " " }),
			"vedette.yaml:4:24: models.fast.model: missing; give the name that the server uses for the model"},
		"address": {with(func(m *config.Model) { m.BaseURL = "" }),
			"vedette.yaml:4:37: models.fast.base_url: missing; give an address such as https://api.openai.com/v1"},
		"timeout": {with(func(m *config.Model) { m.Timeout = -1 }), entry + ".timeout: is negative; leave it out for 60s"},
		"effort": {with(func(m *config.Model) { m.Effort = "huge" }),
			entry + ".effort: is not known; use one of omit, none, minimal, low, medium, high, xhigh, max"},
		"schemaless": {with(func(m *config.Model) { m.Schemaless = "prose" }),
			entry + ".schemaless: is not known; use tool or json_object, or leave it out for json_schema"},
		"no tools": {with(func(m *config.Model) { m.Schemaless, m.Tools = "tool", false }),
			entry + ".schemaless: is tool, and the model takes no tools; use json_object"},
		"context":      {with(func(m *config.Model) { m.Context = -1 }), entry + ".context: is negative; leave it out when it is not known"},
		"max response": {with(func(m *config.Model) { m.MaxResponse = -1 }), entry + ".max_response: is negative; leave it out for 8 MiB"},
		"model's name": {func(c *config.Config) { c.Models["f t"] = c.Models["fast"] },
			models + `the name "f t" is not made of letters, digits, '_' and '-'`},
		"role's name": {func(c *config.Config) { c.Roles["a b"] = []string{"fast"} },
			`vedette.yaml:5:1: roles: the name "a b" is not made of letters, digits, '_' and '-'`},
		"empty chain": {func(c *config.Config) { c.Roles["agent"] = nil },
			"vedette.yaml:5:1: roles.agent: names no model; give at least one of fast"},
		"no model": {func(c *config.Config) { c.Roles["sentinel"][0] = "slow" },
			`vedette.yaml:5:9: roles.sentinel[0]: no model is named "slow"; known: fast`},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, "sentinel: {retries: 0}\nmodels: {fast: {model: m, base_url: \"http://h\"}}\nroles: {sentinel: fast}\n")
			require.Equal(t, []string{tc.want}, checked(t, file, tc.change))
		})
	}
}

// A mistake in a model hides none in a rule: all are told at once.
func TestModelAndRuleMistakes(t *testing.T) {
	got := checked(t, write(t, `sentinel: {retries: 0}
models: {fast: {model: m, base_url: "localhost:1"}}
roles: {sentinel: [fast, fast]}
permissions: [{skill: fs.read, then: ask, when: "args.path.endsWth('x')"}]
`), nil)
	require.Len(t, got, 3)
	require.Contains(t, got[0], "vedette.yaml:4:37: models.fast.base_url: ")
	require.Contains(t, got[1], "vedette.yaml:5:26: roles.sentinel[1]: ")
	require.Contains(t, got[2], "vedette.yaml:6:60: permissions[0].when: ")
}

// A program gets no path over what decides about agents: neither to write it nor, where
// it is secret, to read it. The mistake is told where the path stands.
func TestProgramsGetNothingOfOurs(t *testing.T) {
	const extra = "ledger: {path: state/v.db}\nkeys: {dir: state/keys}\ncredentials: {git: {file: 'tokens/{user}'}}\n"
	for paths, want := range map[string]string{
		"read: [state]":             "read[0]: contains the ",
		"read: [workspace, tokens]": "read[1]: contains the credentials (",
		"write: [state/keys/old]":   "write[0]: lies in the keys (",
		"read: [state/v.db-wal]":    "read[0]: contains the database (",
		"read: [state/v.db]":        "read[0]: contains the database (",
		"read: [state/snapshots]":   "read[0]: contains what programs wrote and isn't committed yet (",
		"write: [.]":                "write[0]: contains the ",
		"write: [vedette.yaml]":     "write[0]: contains the configuration (",
		"write: [skills.yaml]":      "write[0]: contains a file of the configuration (",
	} {
		t.Run(paths, func(t *testing.T) {
			file := write(t, extra)
			dir := filepath.Dir(file)
			for _, folder := range []string{"state/keys/old", "state/snapshots", "tokens"} {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			}
			for _, name := range []string{"state/v.db", "state/v.db-wal"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
			}
			const head = "skills:\n  - name: demo.run\n    effect: modify\n    run:\n      exec:\n        argv: [\"true\"]\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), fmt.Appendf(nil, "%s        %s\n", head, paths), 0o600))
			cfg, err := config.Load(file, config.Options{})
			require.NoError(t, err)
			err = assembly.Check(cfg)
			var place *config.Error
			require.ErrorAs(t, err, &place)
			require.ErrorContains(t, err, "skills.yaml:7:")
			require.ErrorContains(t, err, "run.exec."+want)
			require.ErrorContains(t, err, "; give the program a folder of its own")
		})
	}
}
