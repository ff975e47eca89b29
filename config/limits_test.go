package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Money is read digit by digit: nothing is rounded, and what would have to be
// is a mistake.
func TestCost(t *testing.T) {
	for text, want := range map[string]config.Cost{
		"0.000001": 1, "1": 1_000_000, "0.25": 250_000, "12.000001": 12_000_001, "1000000": 1_000_000_000_000, "'${C}'": 1_500_000,
	} {
		c, err := config.Parse("v.yaml", []byte("version: 1\nlimits: {turn: {cost: "+text+"}}"),
			config.Options{Env: env(map[string]string{"C": "1.5"})})
		require.NoError(t, err, text)
		require.Equal(t, want, c.Limits.Turn.Cost)
	}
	for _, text := range []string{"-1", "1e3", "0.0000001", "1000000.000001", "10000000", "'1'", ".5", "1_000", "[]", "free", "0x1",
		"+1", "1."} {
		_, err := config.Parse("v.yaml", []byte("version: 1\nlimits: {turn: {cost: "+text+"}}"), config.Options{})
		require.ErrorContains(t, err, "v.yaml:2:23: limits.turn.cost must be an amount", text)
	}
}

// An amount that bounds is more than nothing, wherever it comes from. Its author
// means by a zero that nothing may be spent, and a zero is no bound.
func TestCostOfNothing(t *testing.T) {
	opts := config.Options{Env: env(map[string]string{"ZERO": "0.00"})}
	for _, at := range []string{"limits: {agent:", "limits: {turn:", "limits: {conversation:", "limits: {user:",
		"sentinel: {budget: {conversation:", "sentinel: {budget: {user:", "sentinel: {budget: {day:"} {
		for zero, shown := range map[string]string{"0": `, not "0"`, "0.0": `, not "0.0"`, "'${ZERO}'": ", not what the environment gives",
			"'${NO_ZERO:-0}'": `must be an amount`} {
			text := at + " {cost: " + zero + "}" + strings.Repeat("}", strings.Count(at, "{"))
			_, err := config.Parse("v.yaml", []byte("version: 1\n"+text), opts)
			path := strings.NewReplacer(": {", ".", ":", "").Replace(at) + ".cost"
			if strings.HasPrefix(shown, "must") {
				require.ErrorContains(t, err, path+" "+shown, text)
				continue
			}
			require.EqualError(t, err, fmt.Sprintf("v.yaml:2:%d: %s must be more than 0%s; leave it out for no bound", len(at)+9, path, shown), text)
		}
	}
	c, err := config.Parse("v.yaml",
		[]byte("version: 1\nmodels: {a: {model: a, base_url: 'http://h', price: {input: 0, output: 0}}}\nlimits: {turn: {cost: 1}}"),
		config.Options{})
	require.NoError(t, err)
	require.Zero(t, c.Models["a"].Price)
}

// A budget in money is nothing beside a model that has no price.
func TestPrices(t *testing.T) {
	models := "version: 1\nmodels:\n  a: {model: a, base_url: 'http://h', price: {input: 0.25, output: 2.5}}\n  b: {model: b, base_url: " +
		"'http://h'}\n"
	c, err := config.Parse("v.yaml", []byte(models+"limits: {turn: {tokens: 5}}"), config.Options{})
	require.NoError(t, err)
	require.Equal(t, config.Price{Input: 250_000, Output: 2_500_000}, c.Models["a"].Price)
	require.Equal(t, 64, c.Models["b"].Concurrency)
	for _, level := range []string{"agent", "turn", "conversation", "user"} {
		_, err := config.Parse("v.yaml", []byte(models+"limits: {"+level+": {cost: 0.5}}"), config.Options{})
		require.EqualError(t, err,
			"v.yaml:4:3: models.b has no price and limits has a cost; write price: {input: 0.25, output: 2.00}, for a million tokens")
	}
}

// Limits are counted in memory unless the file names another driver. A file that
// names memory may keep the keys of a server beside it, for an operator who
// switches.
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

// The digest of the policy holds what happens when the server is away. It doesn't
// hold the server's address, which holds a password.
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
