package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// A secret is in the file where somebody wrote it there, not where the
// environment gave a text that the file holds elsewhere.
func TestLiteral(t *testing.T) {
	vars := env(map[string]string{"KEY": "local", "URL": "redis://:hush@h:1", "PW": "hush", "HOST": "h:1", "EMPTY": ""})
	for value, want := range map[string]bool{
		`"sk-1"`: true, `sk-1`: true, `"${KEY}"`: false, `"${KEY:-sk-1}"`: false, `"${EMPTY:-sk-1}"`: true,
		`"${NONE:-}"`: false, `""`: false, `"a$${KEY}"`: true,
	} {
		c, err := config.Parse("v.yaml", []byte("version: 1\nmodels: {local: {model: local, base_url: 'http://h', api_key: "+value+"}}"), config.Options{Env: vars})
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
