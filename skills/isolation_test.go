package skills_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// What a result says it ran under is one of our words, or nothing: it is recorded.
func TestIsolationIsAKnownWord(t *testing.T) {
	for said, kept := range map[string]string{"landlock": "landlock", "full": "full", "full-noproc": "full-noproc", "landlock-strict": "landlock-strict",
		"namespaces": "namespaces", "landlock+namespaces": "landlock+namespaces", "in process": "in process", "CANARY": "", "": ""} {
		sign, verify := pair(t)
		s := compile(t, skills.Read, ``)
		o := order(s, `{}`)
		w, err := sign.Issue(o.Digest())
		require.NoError(t, err)
		res, err := skills.NewExecutor(verify, s, func(context.Context, skills.Order) (skills.Result, error) {
			return skills.Result{Isolation: said}, nil
		}).Execute(t.Context(), w, o)
		require.NoError(t, err)
		require.Equal(t, kept, res.Isolation, said)
	}
}
