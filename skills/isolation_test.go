package skills_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// What a result says it ran under is one of our words, or nothing: it is recorded.
func TestIsolationIsAKnownWord(t *testing.T) {
	for said, kept := range map[string]string{"landlock": "landlock", "full": "full", "full-noproc": "full-noproc",
		"landlock-strict": "landlock-strict",
		"namespaces":      "namespaces", "landlock+namespaces": "landlock+namespaces", "in process": "in process", "CANARY": "", "": ""} {
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

// A list of what a program did on the network is bounded; its numbers stay.
func TestEgressDetailsAreBounded(t *testing.T) {
	for size, kept := range map[int]int{skills.MaxEgress: skills.MaxEgress, skills.MaxEgress + 1: 0} {
		sign, verify := pair(t)
		s := compile(t, skills.Read, ``)
		o := order(s, `{}`)
		w, err := sign.Issue(o.Digest())
		require.NoError(t, err)
		own := &skills.Egress{Refused: 7, Details: make([]byte, size)}
		res, err := skills.NewExecutor(verify, s, func(context.Context, skills.Order) (skills.Result, error) {
			return skills.Result{Egress: own}, nil
		}).Execute(t.Context(), w, o)
		require.NoError(t, err)
		require.Equal(t, int64(7), res.Egress.Refused)
		require.Len(t, res.Egress.Details, kept)
		require.Len(t, own.Details, size, "the skill's own value is left as it was")
	}
}
