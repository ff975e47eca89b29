package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

// explanationText writes an explanation for people. Every text goes through a table,
// which escapes it.
type explanationText struct {
	policy.Explanation
	colour bool
}

func (e explanationText) writeText(w io.Writer) error {
	if err := e.headTable().Write(w); err != nil {
		return err
	}
	for _, s := range []struct {
		name  string
		table *terminal.Table
	}{
		{"call", e.callTable()}, {"touch", e.touchTable()}, {"gates", e.gatesTable()}, {"rules", e.rulesTable()},
		{"judge", e.judgeTable()}, {"evidence", e.evidenceTable()}, {"what would change it", e.changesTable()},
	} {
		if err := terminal.WriteSection(w, s.name, s.table); err != nil {
			return err
		}
	}
	return nil
}

func (e explanationText) headTable() *terminal.Table {
	t := &terminal.Table{Colour: e.colour}
	d := e.Decision
	if d.ID != "" {
		t.Add("case", d.ID)
	}
	t.Add("decision", d.Decision)
	if d.BlockedBy != nil {
		t.Add("by", *d.BlockedBy+" ("+d.Code+")")
		t.Add("reason", d.Reason)
	}
	if m := d.Modified; m != nil {
		t.Add("rewritten", strings.Join(m.Args, ", ")+" by "+strings.Join(m.Rules, ", "))
	}
	return t
}

func (e explanationText) callTable() *terminal.Table {
	t := &terminal.Table{}
	c := e.Call
	if c == nil {
		return t
	}
	skill := c.Skill + " (unknown)"
	if c.Known {
		skill = c.Skill + " (" + c.Effect + ", reaches " + c.Reaches + ")"
	}
	t.Add("  skill", skill)
	t.Add("  user, agent", cmp.Or(c.User, "none")+", "+cmp.Or(c.Agent, "none"))
	t.Add("  granted", strings.Join(c.Granted, ", "))
	t.Add("  outward, tainted", fmt.Sprintf("%t, %t", c.Outward, c.Tainted))
	if e.Proposed != nil {
		t.Add("  proposed", string(e.Proposed))
	}
	t.Add("  arguments", string(c.Arguments))
	for _, f := range c.Flags {
		t.Add("  flag", strings.TrimSpace(f.Code+" "+strings.Join(f.Args, ", ")))
	}
	for _, s := range c.History {
		t.Add("  came back", strings.TrimSpace(s.Skill+", "+s.Trust+" "+strings.Join(s.Marks, ", ")))
	}
	return t
}

func (e explanationText) gatesTable() *terminal.Table {
	t := &terminal.Table{Colour: e.colour}
	for _, g := range e.Gates {
		about := g.Reason
		if g.Detail != "" {
			about = strings.TrimPrefix(about+"; "+g.Detail, "; ")
		}
		t.Add("  "+g.Gate, g.Outcome, g.Code, about)
	}
	return t
}

// ruleStates are the states of rules in words.
var ruleStates = map[string]string{
	"other_skill": "is about other skills", "other_user": "is about other users", "no_match": "doesn't fit", "match": "fits",
	"error": "can't be evaluated, which denies",
}

func (e explanationText) rulesTable() *terminal.Table {
	t := &terminal.Table{Colour: e.colour}
	for _, r := range e.Rules {
		t.Add("  "+r.Rule, r.Then, ruleStates[r.State], fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Column))
		if r.Error != "" {
			t.Add("", "", "  error", r.Error)
		}
		for _, term := range r.Terms {
			t.Add("", "", "  "+term.Text, "= "+term.Value)
		}
	}
	return t
}

func (e explanationText) judgeTable() *terminal.Table {
	t := &terminal.Table{Colour: e.colour, Right: map[int]bool{1: true}}
	j := e.Judge
	if j == nil {
		return t
	}
	t.Add("  score", formatHundredths(j.Score),
		fmt.Sprintf("denied below %s, asked about below %s", formatHundredths(j.Threshold), formatHundredths(j.AskBelow)))
	for _, s := range j.Signals {
		about := strings.Join(s.Args, ", ")
		if s.Doubt {
			about = strings.TrimSpace("in doubt " + about)
		}
		if s.Without != "" {
			about = strings.TrimSpace(about + " (without it: " + s.Without + ")")
		}
		t.Add("  "+s.Signal, fmt.Sprintf("%+.2f", float64(s.Amount)/100), about)
	}
	if word := doubtStates[j.Doubts]; word != "" {
		t.Add("  doubts", "", word)
	}
	return t
}

// doubtStates say what has become of a doubt.
var doubtStates = map[string]string{
	"counted": "no model settled them, so they count",
	"spent":   "a model judged the call with them, so they don't count",
	"open":    "a gate before the review had the last word",
}

func formatHundredths(n int) string { return fmt.Sprintf("%.2f", float64(n)/100) }

func (e explanationText) changesTable() *terminal.Table {
	t := &terminal.Table{Colour: e.colour}
	for _, c := range e.Changes {
		if c.Outcome == "" {
			t.Add("  if "+c.If, "it would be judged")
			continue
		}
		t.Add("  if "+c.If, "the rules would say", c.Outcome)
	}
	return t
}
