package policy

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

// gateChanges says what it would take of each gate that lowered the call, and what the
// others would leave of it. Outcomes are combined with min, so that is known without asking
// again; a review that was not reached is not counted.
func gateChanges(cfg *config.Config, d sentinel.Decision, rules []RuleView) []Change {
	out := []Change{}
	for _, v := range d.Verdicts {
		if !v.Counts() || v.Outcome == sentinel.Allow {
			continue
		}
		rest := sentinel.Allow
		for _, w := range d.Verdicts {
			if w.Counts() && w.Gate != v.Gate {
				rest = min(rest, w.Outcome)
			}
		}
		out = append(out, Change{v.Gate, describeNeed(cfg, v, rules), rest.String()})
	}
	return out
}

// describeNeed says what a gate would have to find to allow the call.
func describeNeed(cfg *config.Config, v sentinel.Verdict, rules []RuleView) string {
	switch v.Gate {
	case sentinel.GateSchema:
		return "the arguments fitted the skill's parameters"
	case sentinel.GatePermission:
		return describeNeededRules(v, rules)
	case sentinel.GateJudge:
		return fmt.Sprintf("the score were %s or more; it is %s", formatHundredths(max(int(cfg.Judge.Threshold), int(cfg.Judge.AskBelow))),
			formatHundredths(v.Score))
	}
	return v.Code + " were gone"
}

// describeNeededRules says which rules would have to be otherwise.
func describeNeededRules(v sentinel.Verdict, rules []RuleView) string {
	var names []string
	for _, r := range rules {
		lowers := r.State == string(permission.Match) && (r.Then == permission.Deny || r.Then == permission.Ask)
		if lowers || r.State == string(permission.Errored) {
			names = append(names, r.Rule)
		}
	}
	switch {
	case v.Code == permission.CodeNoMatch:
		return "a rule allowed it, or permissions_default were allow"
	case len(names) == 0:
		return v.Code + " were gone"
	}
	return "these rules did not fit: " + strings.Join(names, ", ")
}

// formatHundredths writes hundredths as a number with two decimals.
func formatHundredths(n int) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }

// tryWhatIfs decides the call again with one thing changed. It returns the changes that
// make a difference to the rules. The review is left out: a gate that costs money has no
// place in a what-if.
func tryWhatIfs(ctx context.Context, cfg *config.Config, p sentinel.Proposal) ([]Change, error) {
	d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{NoReview: true})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	was, ok := decideAgain(ctx, d, p, grantOptions(p.Grant), p.Trace)
	if !ok {
		return nil, ctx.Err()
	}
	var out []Change
	for _, t := range whatIfs(p) {
		o, tr := grantOptions(p.Grant), p.Trace
		if !t.change(&o, &tr) {
			continue
		}
		if got, ok := decideAgain(ctx, d, p, o, tr); ok && got.Outcome != was.Outcome {
			out = append(out, Change{t.gate, t.text, got.Outcome.String()})
		}
	}
	return out, ctx.Err()
}

// whatIf is one thing that could have been otherwise; change reports whether it
// is.
type whatIf struct {
	gate, text string
	change     func(o *sentinel.GrantOptions, tr *sentinel.Trace) bool
}

// whatIfs are the things that are tried, in the order of the gates.
func whatIfs(p sentinel.Proposal) []whatIf {
	return []whatIf{
		{sentinel.GateScope, "the agent held the skill", func(o *sentinel.GrantOptions, _ *sentinel.Trace) bool {
			more, err := skills.NewScope(p.Skill)
			o.Scope = o.Scope.Union(more)
			return err == nil && !p.Grant.Scope().Allows(p.Skill)
		}},
		{sentinel.GateJudge, "everything that came back before could be trusted", func(o *sentinel.GrantOptions, tr *sentinel.Trace) bool {
			steps := make([]sentinel.Step, tr.Len())
			for i := range steps {
				steps[i] = tr.Step(i)
				steps[i].Trust = skills.Trusted
			}
			*tr, o.Tainted = sentinel.NewTrace(steps...), false
			return p.Trace.Untrusted() || p.Grant.Tainted()
		}},
		{sentinel.GateJudge, "nothing had come back before", func(o *sentinel.GrantOptions, tr *sentinel.Trace) bool {
			*tr, o.Tainted = sentinel.Trace{}, false
			return p.Trace.Len() > 0
		}},
		{sentinel.GateJudge, "there were no words of the user", func(o *sentinel.GrantOptions, _ *sentinel.Trace) bool {
			had := o.Request != nil
			o.Request = nil
			return had
		}},
	}
}

// grantOptions returns what makes the same grant again.
func grantOptions(g sentinel.Grant) sentinel.GrantOptions {
	o := sentinel.GrantOptions{
		ID: g.ID(), User: g.User(), Conversation: g.Conversation(), Turn: g.Turn(), Agent: g.Agent(), Mission: g.Mission(),
		MissionBy: g.MissionBy(), Scope: g.Scope(), Calls: g.Calls(), Deadline: g.Deadline(), Tainted: g.Tainted(),
		TaintedBefore: g.Tainted() && !g.TaintedThisTurn(), MissionTainted: g.MissionTainted(), Earlier: g.EarlierTurns(),
	}
	if r, ok := g.Request(); ok {
		o.Request = &r
	}
	return o
}

// decideAgain decides with another grant and trace.
func decideAgain(ctx context.Context, d *assembly.Decider, p sentinel.Proposal, o sentinel.GrantOptions,
	tr sentinel.Trace) (sentinel.Decision, bool) {
	g, err := sentinel.NewGrant(o)
	if err != nil {
		return sentinel.Decision{}, false
	}
	p.Grant, p.Trace = g, tr
	c, err := d.NewCall(p)
	if err != nil {
		return sentinel.Decision{}, false
	}
	dec, err := d.Decide(ctx, c)
	return dec, err == nil
}
