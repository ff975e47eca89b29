package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/vedette-dev/vedette/config"
)

// A secret is in the file where its author wrote it. A text of the environment
// that the file holds elsewhere is none.
func TestLiteral(t *testing.T) {
	vars := env(map[string]string{"KEY": "local", "URL": "redis://:hush@h:1", "PW": "hush", "HOST": "h:1", "EMPTY": ""})
	for value, want := range map[string]bool{
		`"sk-1"`: true, `sk-1`: true, `"${KEY}"`: false, `"${KEY:-sk-1}"`: false, `"${EMPTY:-sk-1}"`: true,
		`"${NONE:-}"`: false, `""`: false, `"a$${KEY}"`: true,
	} {
		c, err := config.Parse("v.yaml", []byte("version: 1\nmodels: {local: {model: local, base_url: 'http://h', api_key: "+value+"}}"),
			config.Options{Env: vars})
		require.NoError(t, err, value)
		require.Equal(t, want, c.Literal("models.local.api_key"), value)
	}
	for value, want := range map[string]bool{
		`"redis://:hush@h:1"`: true, `"redis://h:1"`: false, `"${URL}"`: false, `"redis://:${PW}@h:1"`: false,
		`"redis://ann:${PW}@${HOST}"`: false, `"redis://:hush@${HOST}"`: true, `"redis://ann:hu${PW}@h:1"`: true,
		`"${NONE:-redis://:hush@h:1}"`: true, `"redis://ann@h:1"`: false, `"redis://:${NONE:-hush}@h:1"`: true,
	} {
		c, err := config.Parse("v.yaml", []byte("version: 1\nlimits: {store: {driver: redis, url: "+value+"}}"), config.Options{Env: vars})
		require.NoError(t, err, value)
		require.Equal(t, want, c.Literal("limits.store.url"), value)
	}
	c, err := config.Parse("v.yaml", []byte("version: 1"), config.Options{})
	require.NoError(t, err)
	require.False(t, c.Literal("models.local.api_key"))
	require.False(t, config.Default().Literal("limits.store.url"))
}

// A secret is in nothing that prints a configuration, and in no mistake.
func TestSecretsAreNotPrinted(t *testing.T) {
	vars := map[string]string{"KEY": canary, "URL": "https://h/v1"}
	src := `version: 1
models: {m: {model: m, base_url: "${URL}", api_key: "${KEY}"}}
limits: {store: {driver: redis, url: "redis://:${KEY}@h"}}
`
	c, err := config.Parse("x.yaml", []byte(src), config.Options{Env: env(vars)})
	require.NoError(t, err)
	m := c.Models["m"]
	require.Equal(t, canary, m.APIKey.Reveal())
	var out bytes.Buffer
	for _, v := range []any{c, *c, m, &m, m.APIKey, c.Models, []any{m}, c.Limits, &c.Limits.Store, struct{ m config.Model }{m},
		struct{ s config.Secret }{m.APIKey}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb, v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
	}
	withPassword := config.Model{BaseURL: "https://user:canary@h/v1?k=canary"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		fmt.Fprintf(&out, verb, withPassword)
	}
	// LogValue and String are there: something is printed.
	require.Contains(t, out.String(), "[redacted]")
	for _, part := range []string{"canary", fmt.Sprintf("%x", "canary"), "zq"} {
		require.NotContains(t, out.String(), part)
	}
}

// No mistake echoes what the environment gave, not even another package's.
func TestMistakesHideTheEnvironment(t *testing.T) {
	for _, value := range []string{"canary-value", "cnry", "canary\"quoted\\"} {
		_, dir, err := load(t, map[string]string{"vedette.yaml": `version: "${V}"
models: {m: {model: m, base_url: u, timeout: "${V}", reasoning: "${V}"}}
roles: {agent: "${V}"}
sentinel: {mode: "${V}"}
judge: {threshold: "${V}"}
limits: {agent: {calls: "${V}"}, turn: "${V}"}
permissions: [{skill: "${V}", then: ask}, {id: "${V} ", skill: "x.${W}", then: "${V}"}]
guard: {roots: "${V}", forbid_paths: ["${V}["]}
server: {listen: "${V}"}
skills: {include: ["${V}/*.yaml", s.yaml]}
`, "s.yaml": `name: "${V}"
effect: "${V}"
timeout: "${V}"
parameters: {type: object, properties: {x: {type: "${V}", format: "${V}"}}}
run: "${V}"
`}, config.Options{Env: env(map[string]string{"V": value, "W": value})})
		got := strings.Join(mistakes(t, dir, err), "\n")
		require.GreaterOrEqual(t, strings.Count(got, "\n"), 15)
		quoted := fmt.Sprintf("%q", value)
		require.NotContains(t, got, value)
		require.NotContains(t, got, quoted[1:len(quoted)-1])
	}
	c, err := config.Parse("x.yaml", []byte("version: 1\npermissions: [{skill: '*', then: ask, when: \"${V}\"}]"),
		config.Options{Env: env(map[string]string{"V": "canary-cel"})})
	require.NoError(t, err)
	err = c.Locate(foreign{"permissions[0].when", `undeclared reference to "canary-cel" in canary-cel`})
	require.EqualError(t, err, `x.yaml:2:45: permissions[0].when: undeclared reference to [redacted] in [redacted]`)
}
