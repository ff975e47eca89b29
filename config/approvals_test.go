package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// How many calls may wait for people has defaults, is part of the policy, and is
// a number above zero.
func TestPending(t *testing.T) {
	parse := func(text string) (*config.Config, error) {
		return config.Parse("v.yaml", []byte("version: 1\n"+text), config.Options{})
	}
	plain, err := parse("")
	require.NoError(t, err)
	require.Equal(t, config.Pending{User: 20, Conversation: 5, Process: 10_000}, plain.Approvals.Pending)
	other, err := parse("approvals: {pending: {user: 7}}")
	require.NoError(t, err)
	require.Equal(t, config.Pending{User: 7, Conversation: 5, Process: 10_000}, other.Approvals.Pending)
	require.NotEqual(t, plain.Digest(), other.Digest())
	for _, bad := range []string{"{user: 0}", "{conversation: -1}", "{process: many}", "7"} {
		_, err := parse("approvals: {pending: " + bad + "}")
		require.ErrorContains(t, err, "approvals.pending", bad)
	}
	_, err = parse("approvals: {pending: {users: 3}}")
	require.ErrorContains(t, err, `unknown key "users"; did you mean "user"?`)
}
