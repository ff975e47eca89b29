package judge_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/skills"
)

// The signals that are doubts are these and no others, each only where the table of the
// package says so.
func TestWeights(t *testing.T) {
	reg := caseSkills(t)
	seen := map[string]map[bool]int{}
	lines := caseLines(t)
	for _, c := range lines {
		c.History = append(slices.Clone(c.History), pastCall{Skill: "web.read", Result: "A page about gardens.", Trust: skills.Untrusted})
		lines = append(lines, c)
	}
	for _, c := range lines {
		call := c.call(t, reg)
		for _, e := range decide(t, judge.Options{}, call).Evidence {
			if seen[e.Signal] == nil {
				seen[e.Signal] = map[bool]int{}
			}
			seen[e.Signal][e.Doubt]++
			switch e.Signal {
			case judge.SignalOtherTopic, judge.SignalOtherAction, "amount_unknown", "amount_nowhere":
				require.True(t, e.Doubt, "%s %s", c.ID, e.Signal)
			case judge.SignalUnrelated:
				require.Equal(t, !call.Tainted(), e.Doubt, c.ID)
			case judge.SignalLookOnly:
				require.True(t, e.Doubt || call.Tainted(), c.ID)
			case judge.SignalAmountExceeds:
				require.Equal(t, e.Amount >= -10, e.Doubt, c.ID)
			default:
				require.False(t, e.Doubt, "%s %s", c.ID, e.Signal)
			}
		}
	}
	for _, s := range []string{judge.SignalOtherTopic, judge.SignalOtherAction, judge.SignalUnrelated, judge.SignalLookOnly, "amount_unknown"} {
		require.Positive(t, seen[s][true], s)
	}
	require.Positive(t, seen[judge.SignalUnrelated][false], "of a tainted branch")
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(doc), "// # Doubts\n"))
}

// A doubt lowers no verdict by itself, and says what the verdict comes to where it counts:
// a person, and far below the threshold a denial. What the hard signals come to stays.
func TestDoubtIsNoVerdict(t *testing.T) {
	reg := caseSkills(t)
	v := one(t, reg, "Put the plan on the shelf", "notes.delete", map[string]any{"note_id": "n1"})
	require.Equal(t, sentinel.Allow, v.Outcome)
	require.Empty(t, v.Code)
	require.Equal(t, "score 0.70 >= threshold 0.30 (base 0.70); in doubt: unrelated -0.40", v.Reason)
	require.Equal(t, 30, v.Score, "of all signals")
	require.Equal(t, &sentinel.Doubt{Outcome: sentinel.Ask, Code: judge.CodeDoubt,
		Reason:       "score 0.30 < ask_below 0.50 (base 0.70, unrelated -0.40)",
		WhatYouCanDo: "wait for a person, or propose a call with plain paths and argument names"}, v.Doubt)
}
