package review_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// checkpoint has the review and the judge, which scores and stops nothing;
// every other gate lets all pass.
func checkpoint(t testing.TB, g *review.Gate) *sentinel.Checkpoint {
	t.Helper()
	j, err := judge.New(judge.Options{Threshold: judge.Off, AskBelow: judge.Off})
	require.NoError(t, err)
	gates := []sentinel.Gate{g, j}
	for _, n := range []string{sentinel.GateSchema, sentinel.GateScope, sentinel.GatePermission, sentinel.GateGuard} {
		gates = append(gates, passGate(n))
	}
	p, err := sentinel.New(sentinel.Options{Registry: registry(t), Gates: gates, Env: touch.Env{NoFS: true}})
	require.NoError(t, err)
	return p
}

// reviewed is the review's verdict on a call in a checkpoint, after the judge's.
func reviewed(t testing.TB, g *review.Gate, c sentinel.Call) sentinel.Verdict {
	t.Helper()
	d, err := checkpoint(t, g).Decide(t.Context(), c)
	require.NoError(t, err)
	v, ok := d.Verdict(sentinel.GateReview)
	require.True(t, ok)
	return v
}
