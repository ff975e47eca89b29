package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Where limits are counted is memory unless it is said; a memory that is named
// may keep a server's keys beside it, for whoever switches.
func TestLimitStoreDefaults(t *testing.T) {
	store := func(text string) config.LimitStore {
		c, err := config.Parse("v.yaml", []byte("version: 1\n"+text), config.Options{Env: env(map[string]string{"D": "memory"})})
		require.NoError(t, err)
		return c.Limits.Store
	}
	require.Equal(t, config.Default().Limits.Store, store(""))
	require.Equal(t, config.LimitsInMemory, store("").Driver)
	require.Equal(t, config.Fallback{Read: config.Allow, Create: config.Allow, Modify: config.Deny, Irreversible: config.Deny,
		CostsMoney: config.Deny, Outward: config.Deny}, store("limits: {store: {driver: redis, url: 'redis://h'}}").WhenAway)
	require.Equal(t, config.LimitsInMemory, store("limits: {store: {driver: '${D}', url: 'redis://h'}}").Driver)
}

// The digest of the policy knows what happens when the server is away, and not
// the server's address, which holds a password.
func TestLimitStoreInDigest(t *testing.T) {
	digest := func(store string) string {
		c, err := config.Parse("v.yaml", []byte("version: 1\nlimits: {store: {driver: redis, "+store+"}}"), config.Options{})
		require.NoError(t, err)
		return c.Digest()
	}
	a := digest("url: 'redis://:one@h'")
	require.Equal(t, a, digest("url: 'redis://:two@h'"))
	require.NotEqual(t, a, digest("url: 'redis://:one@h', when_away: {modify: allow}"))
	require.NotEqual(t, a, digest("url: 'redis://:one@h', prefix: other"))
}
