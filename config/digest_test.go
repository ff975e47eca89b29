package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vedette-dev/vedette/config"
)

// The digest is of what decides: it follows each change of policy, and neither
// secrets nor the order of keys.
func TestDigest(t *testing.T) {
	digest := func(src string, vars map[string]string) string {
		c, err := config.Parse("x.yaml", []byte(src), config.Options{Env: env(vars), Dir: "/nowhere"})
		require.NoError(t, err)
		return c.Digest()
	}
	base := `version: 1
models: {m: {model: m, base_url: "https://h/v1", api_key: "${K:-}"}}
judge: {threshold: 0.3}
permissions: [{skill: "*", then: ask}]
`
	want := digest(base, nil)
	require.Equal(t, want, digest(base, map[string]string{"K": "secret"}))
	require.Equal(t, want,
		digest("permissions: [{then: ask, skill: \"*\"}]\n# c\nmodels: {m: {base_url: \"https://h/v1\", model: m}}\nversion: 1\n", nil))
	require.Equal(t, want, digest(base+"tests: [{name: x, call: {skill: a.b}, expect: ask}]", nil), "tests decide nothing")
	seen := map[string]string{want: "base"}
	for _, change := range []string{"guard: {roots: [w]}", "judge: {threshold: 0.31}", "permissions_default: deny", "sentinel: {mode: shadow}",
		"limits: {agent: {calls: 4}}", "permissions: [{skill: '*', then: ask, users: [a]}]", "ledger: {values: full}", "roles: {agent: m}",
		"permissions: [{skill: '*', then: modify, modify: [{remove: a}]}]",
		"permissions: [{skill: '*', then: modify, modify: [{set: a, to: 1}]}]",
		"permissions: [{skill: '*', then: modify, modify: [{set: a, to: 2}]}]"} {
		src := base + change
		k, _, _ := strings.Cut(change, ":")
		if before, at, there := strings.Cut(base, k+": "); there { // the line is changed where there is one
			_, after, _ := strings.Cut(at, "\n")
			src = before + change + "\n" + after
		}
		d := digest(src, nil)
		require.NotContains(t, seen, d, change)
		seen[d] = change
	}
}
