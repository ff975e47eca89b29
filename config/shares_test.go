package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Money is read digit by digit: nothing is rounded, and what would have to be
// is a mistake.
func TestCost(t *testing.T) {
	for text, want := range map[string]config.Cost{
		"0": 0, "1": 1_000_000, "0.25": 250_000, "12.000001": 12_000_001, "1000000": 1_000_000_000_000, "'${C}'": 1_500_000,
	} {
		c, err := config.Parse("v.yaml", []byte("version: 1\nlimits: {turn: {cost: "+text+"}}"), config.Options{Env: env(map[string]string{"C": "1.5"})})
		require.NoError(t, err, text)
		require.Equal(t, want, c.Limits.Turn.Cost)
	}
	for _, text := range []string{"-1", "1e3", "0.0000001", "1000000.000001", "10000000", "'1'", ".5", "1_000", "[]", "free", "0x1", "+1", "1."} {
		_, err := config.Parse("v.yaml", []byte("version: 1\nlimits: {turn: {cost: "+text+"}}"), config.Options{})
		require.ErrorContains(t, err, "v.yaml:2:23: limits.turn.cost must be an amount", text)
	}
}

// A budget in money is nothing beside a model that has no price.
func TestPrices(t *testing.T) {
	models := "version: 1\nmodels:\n  a: {model: a, base_url: 'http://h', price: {input: 0.25, output: 2.5}}\n  b: {model: b, base_url: 'http://h'}\n"
	c, err := config.Parse("v.yaml", []byte(models+"limits: {turn: {tokens: 5}}"), config.Options{})
	require.NoError(t, err)
	require.Equal(t, config.Price{Input: 250_000, Output: 2_500_000}, c.Models["a"].Price)
	require.Equal(t, 64, c.Models["b"].Concurrency)
	for _, level := range []string{"agent", "turn", "conversation", "user"} {
		_, err := config.Parse("v.yaml", []byte(models+"limits: {"+level+": {cost: 0.5}}"), config.Options{})
		require.EqualError(t, err, "v.yaml:4:3: models.b has no price and limits has a cost; write price: {input: 0.25, output: 2.00}, for a million tokens")
	}
}
