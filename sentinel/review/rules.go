package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// daysBudget begins the names of the budgets of all users together.
const daysBudget = "day."

func (o Options) checkRulesFor() error {
	var errs []error
	for i, row := range o.RulesFor {
		if !slices.Contains(rows(), row) {
			errs = append(errs, &skills.PathError{
				Path: fmt.Sprintf("sentinel.budget.rules_for[%d]", i), Msg: "is no effect; use " + strings.Join(rows(), ", "),
			})
		}
	}
	return errors.Join(errs...)
}

// leaveToRules is the verdict on a call that the rules decide alone: the day's
// budget is spent, and the operator has said so for such calls. A budget of the
// call's own user or conversation is no reason: it is in that user's hand.
func (g *Gate) leaveToRules(c sentinel.Call, faults []*fault) (sentinel.Verdict, bool) {
	other := func(f *fault) bool { return f.kind != Budget || !strings.HasPrefix(f.budget, daysBudget) }
	switch {
	case len(faults) == 0 || slices.ContainsFunc(faults, other):
		return sentinel.Verdict{}, false
	case !slices.Contains(g.o.RulesFor, string(c.Effect())), c.Outward() && !slices.Contains(g.o.RulesFor, Outward):
		return sentinel.Verdict{}, false
	}
	return sentinel.Verdict{
		State: sentinel.Skipped, Reason: "the review's budget for a day is spent, and the rules decide: sentinel.budget.rules_for",
		Meta: map[string]string{"failure": string(Budget), "model": faults[0].model, "rules": faults[0].budget},
	}, true
}

// tellRules logs that a call goes on without the review.
func (g *Gate) tellRules(ctx context.Context, c sentinel.Call, v sentinel.Verdict) {
	g.o.Log.LogAttrs(ctx, slog.LevelWarn, "REVIEW SKIPPED: the budget of the day is spent, and the rules decide",
		slog.String("budget", "sentinel.budget."+v.Meta["rules"]), slog.String("skill", c.Skill().Name()),
		slog.String("effect", string(c.Effect())), slog.Bool("outward", c.Outward()))
}
