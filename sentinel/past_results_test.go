package sentinel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Results of earlier turns are kept within bounds: sensitive ones before others, new ones
// before old ones. What is lost is told, and of what isn't sensitive the secrets stay.
func TestPastResultsWithinBounds(t *testing.T) {
	result := func(skill, text string, sensitive bool) sentinel.PastResult {
		return sentinel.PastResult{Step: sentinel.Step{Skill: skill, Args: "{}", Result: text, Trust: skills.Trusted, Sensitive: sensitive}}
	}
	page := strings.Repeat("All is well. ", 5000)
	list := []sentinel.PastResult{result("vault.read", "the account is AB12345678", true),
		result("web.read", page+"password: Kestrel!88-rain", false)}
	for i := range 6 {
		list = append(list, result("web.read", fmt.Sprint(i, page), false))
	}
	kept := sentinel.KeepPastResults(list)
	require.Equal(t, list[0].Result, kept[0].Result, "the sensitive one, though it is the oldest")
	require.False(t, kept[0].Gone)
	require.True(t, kept[1].Gone)
	require.Contains(t, kept[1].Result, "password: Kestrel!88-rain")
	require.NotContains(t, kept[1].Result, "All is well. All is well. All is well.")
	require.Equal(t, list[len(list)-1].Result, kept[len(kept)-1].Result)
	require.Equal(t, kept, sentinel.KeepPastResults(kept), "what was kept is kept again")

	list = nil
	for i := range 6 {
		list = append(list, result("vault.read", fmt.Sprint(i, page), true))
	}
	kept = sentinel.KeepPastResults(list)
	require.Len(t, kept, 5, "four whole ones, and a word for all that are lost")
	require.True(t, kept[0].Gone && kept[0].Sensitive)
	require.Empty(t, kept[0].Result)

	list = nil
	for i := range 4 * sentinel.MaxPastResults {
		list = append(list, result("web.read", fmt.Sprint("password: decoy", i, "xy"), false))
	}
	kept = sentinel.KeepPastResults(list)
	require.LessOrEqual(t, len(kept), sentinel.MaxPastResults+2)
	require.True(t, kept[0].Sensitive && kept[0].Gone, "secrets were lost")

	long := result("web.fetch", "ok", false)
	long.Args = `{"q":"` + strings.Repeat("x", 2*sentinel.MaxPastArgs) + `"}`
	require.LessOrEqual(t, len(sentinel.KeepPastResults([]sentinel.PastResult{long})[0].Args), sentinel.MaxPastArgs+16)
}

// Two Traces with other results of earlier turns are told apart, and none of them is a step.
func TestPastResultsAreNoSteps(t *testing.T) {
	vault := sentinel.PastResult{Step: sentinel.Step{Skill: "vault.read", Result: "AB12345678", Trust: skills.Untrusted, Sensitive: true}}
	tr := sentinel.NewTrace().WithPastResults(vault)
	require.True(t, tr.HasPastResults())
	require.Zero(t, tr.Len())
	require.False(t, tr.Untrusted())
	require.False(t, tr.LearntSomething())
	require.NotEqual(t, sentinel.NewTrace().Digest(), tr.Digest())
	has := func(s *sentinel.Said) bool { return strings.Contains(s.Fold(), "ab12345678") }
	require.False(t, tr.Attests("AB12345678", has))
}
