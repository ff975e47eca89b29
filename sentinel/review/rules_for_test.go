package review_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// spentBudget is a purse of which one budget is spent.
type spentBudget string

func (b spentBudget) Hold(context.Context, review.Spending) (review.Room, error) {
	return review.Room{Budget: string(b)}, nil
}

func (spentBudget) Spend(context.Context, review.Spending) error { return nil }

// Above the calls of a day the rules decide for the effects that the operator has named alone:
// not for what reaches others unless that is named too, and not where a user or a conversation
// has spent its own budget.
func TestRulesDecideAboveTheDaysBudget(t *testing.T) {
	url := play(t, "rules: [{reply: {content: '"+approves+"'}}]").BaseURL()
	for _, tc := range []struct {
		budget   string
		rulesFor []string
		byRules  []string
	}{
		{budget: "day.calls", rulesFor: nil},
		{budget: "day.calls", rulesFor: []string{"read", "create"}, byRules: []string{"self.create", "self.read"}},
		{budget: "day.cost", rulesFor: []string{"read"}, byRules: []string{"self.read"}},
		{budget: "day.tokens", rulesFor: []string{"read", "outward"}, byRules: []string{"others.read", "self.read"}},
		{budget: "day.calls", rulesFor: []string{"outward"}},
		{budget: "day.calls", rulesFor: []string{"irreversible"}, byRules: []string{"self.irreversible"}},
		{budget: "user.calls", rulesFor: []string{"read", "create", "outward"}},
		{budget: "conversation.calls", rulesFor: []string{"read", "create", "outward"}},
	} {
		t.Run(tc.budget+" "+strings.Join(tc.rulesFor, ","), func(t *testing.T) {
			var log bytes.Buffer
			seen := &watch{}
			g := gate(t, review.Options{Purse: spentBudget(tc.budget), RulesFor: tc.rulesFor, Observer: seen,
				Log: slog.New(slog.NewTextHandler(&log, nil))}, url, url)
			var byRules []string
			for _, to := range []string{"others.", "self."} {
				for _, e := range skills.Effects() {
					v := check(t, g, failureCall(t, to+string(e), ""))
					require.Equal(t, "budget", v.Meta["failure"])
					require.False(t, v.Degraded)
					last := seen.reviews[len(seen.reviews)-1]
					require.Equal(t, v.State == sentinel.Skipped, last.ByRules)
					if v.State != sentinel.Skipped {
						require.Equal(t, []any{sentinel.Ask, review.CodeUnjudgeable}, []any{v.Outcome, v.Code})
						continue
					}
					require.Equal(t, tc.budget, v.Meta["rules"])
					require.Contains(t, v.Reason, "sentinel.budget.rules_for")
					byRules = append(byRules, to+string(e))
				}
			}
			require.ElementsMatch(t, tc.byRules, byRules)
			require.Equal(t, len(byRules), strings.Count(log.String(), "REVIEW SKIPPED"))
		})
	}
}

// A word that is no effect is an error with its place. A failure of a model beside the spent
// budget is no reason to leave a call to the rules.
func TestRulesForIsChecked(t *testing.T) {
	_, err := review.New(review.Options{Mode: review.Off, RulesFor: []string{"read", "everything"}})
	require.ErrorContains(t, err, "sentinel.budget.rules_for[1]")
	odd := play(t, "rules: [{reply: {refusal: no}}]").BaseURL()
	g := gate(t, review.Options{RulesFor: []string{"read"}, Purse: &secondIsSpent{}}, odd, odd)
	v := check(t, g, call(t, proposal{skill: "self.read"}))
	require.Equal(t, []any{sentinel.Judged, sentinel.Ask}, []any{v.State, v.Outcome})
}

// secondIsSpent has room for one request.
type secondIsSpent struct{ n int }

func (s *secondIsSpent) Hold(context.Context, review.Spending) (review.Room, error) {
	s.n++
	return review.Room{OK: s.n == 1, Budget: "day.calls"}, nil
}

func (*secondIsSpent) Spend(context.Context, review.Spending) error { return nil }
