package assembly_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Canaries are asked from the start on, of each model, and the mark is there for
// whoever looks; every: 0s asks nobody; a Decider never does; what nobody
// supervises ends with Close.
func TestCanaries(t *testing.T) {
	j := newJudges(t)
	on := strings.Replace(j.config("approve, reject", "budget: {day: {calls: 1}}", "", "approve", "reject"), "canaries: {every: 0s}, ", "", 1)
	p := build(t, write(t, on), assembly.Options{})
	require.Eventually(t, func() bool { return len(p.CanaryFailed()) == 2 }, 4*time.Minute, time.Millisecond)
	require.Equal(t, []string{"approve", "reject"}, p.CanaryFailed())
	require.Equal(t, []int{6, 6}, []int{j.count("approve"), j.count("reject")})
	v := reviewed(t, p.Checkpoint, "fs.read", `{"path":"a.txt"}`)
	require.Equal(t, "failed", v.Meta["canary"])
	require.NotEqual(t, string(review.Budget), v.Meta["failure"], "the day's one call was left")
	require.NotEmpty(t, services(p, "review"))

	j = newJudges(t)
	p = build(t, write(t, j.config("approve", "mode: enforce", "", "approve")), assembly.Options{})
	require.Empty(t, services(p, "review"))
	d, err := assembly.NewDecider(load(t,
		write(t, strings.Replace(j.config("approve", "mode: enforce", "", "approve"), "canaries: {every: 0s}, ", "", 1))),
		assembly.DeciderOptions{})
	require.NoError(t, err)
	d.Close()
	require.NoError(t, p.Close())
	require.Zero(t, j.count("approve"))
}

func services(p *assembly.Parts, group string) []assembly.Service {
	return slices.DeleteFunc(p.Services(), func(s assembly.Service) bool { return s.Group != group })
}
