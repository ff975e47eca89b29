package judge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/skills"
)

// habitual says of every call that it is a habit, and counts how often it is asked.
type habitual int

func (h *habitual) IsHabit(context.Context, sentinel.Call) bool {
	*h++
	return true
}

// Over every case: a habit makes up for doubts and for nothing else, and for none in a tainted
// call. Hard signals, and so the verdict, stay what they are.
func TestHabitsOffsetDoubtsAlone(t *testing.T) {
	reg := caseSkills(t)
	lifted, hard := 0, 0
	lines := caseLines(t)
	for _, c := range lines {
		c.History = append(c.History, pastCall{Skill: "web.read", Result: "A page about gardens.", Trust: skills.Untrusted})
		lines = append(lines, c)
	}
	for _, c := range lines {
		call, asked := c.call(t, reg), habitual(0)
		before := decide(t, judge.Options{}, call)
		after := decide(t, judge.Options{Habits: &asked}, call)
		require.Equal(t, before.Outcome, after.Outcome, c.ID)
		require.Equal(t, before.Code, after.Code, c.ID)
		require.Equal(t, before.Doubts(), after.Doubts(), "%s: the review is told of the same doubts", c.ID)
		taken := 0
		for _, e := range before.Doubts() {
			taken -= e.Amount
		}
		if call.Tainted() || taken == 0 {
			require.Equal(t, before, after, c.ID)
			require.Zero(t, asked, c.ID)
			continue
		}
		require.Equal(t, sentinel.Evidence{Signal: judge.SignalHabit, Amount: taken}, after.Evidence[len(after.Evidence)-1], c.ID)
		require.GreaterOrEqual(t, outcomeByRules(after), outcomeByRules(before), c.ID)
		require.Equal(t, after.Outcome, outcomeByRules(after), "%s: the doubts count for nothing", c.ID)
		if outcomeByRules(after) > outcomeByRules(before) {
			lifted++
		}
		if after.Outcome < sentinel.Allow {
			hard++
		}
	}
	require.Positive(t, lifted)
	require.Positive(t, hard, "calls with doubts that hard signals stop all the same")
}

// A habit is told of beside the doubts that it makes up for.
func TestHabitInTheReason(t *testing.T) {
	asked := habitual(0)
	line := withStranger("Delete the picture of the harbour from the album", "notes.delete", `{"note_id":"n1"}`, "")
	v := decide(t, judge.Options{Habits: &asked}, line.call(t, caseSkills(t)))
	require.Equal(t, "score 0.70 >= threshold 0.30 (base 0.70); in doubt: intent_mention +0.10, other_topic -0.35, habit +0.35", v.Reason)
	require.Equal(t, &sentinel.Doubt{Outcome: sentinel.Allow}, v.Doubt)
}
