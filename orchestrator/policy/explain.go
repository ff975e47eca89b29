package policy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

// Explanation is the working of every gate on one call. It holds values.
type Explanation struct {
	// Decision is what check prints of the same line.
	Decision sentinel.Line `json:"decision"`
	// Call is absent for a proposal that is no call.
	Call *CallView `json:"call,omitempty"`
	// Proposed holds the arguments before rules rewrote them.
	Proposed json.RawMessage `json:"proposed,omitempty"`
	Touch    *TouchView      `json:"touch,omitempty"`
	Gates    []GateView      `json:"gates"`
	Rules    []RuleView      `json:"rules"`
	Judge    *JudgeView      `json:"judge,omitempty"`
	// Evidence is where the call's values were seen, as a question to the review has it.
	Evidence json.RawMessage `json:"evidence,omitempty"`
	// Changes are what would change the outcome, one at a time.
	Changes []Change `json:"changes"`
}

// CallView is the call as the gates judged it; x-secret values are hidden.
type CallView struct {
	Skill     string          `json:"skill"`
	Known     bool            `json:"known"`
	Effect    string          `json:"effect"`
	Reaches   string          `json:"reaches"`
	Outward   bool            `json:"outward"`
	Tainted   bool            `json:"tainted"`
	User      string          `json:"user"`
	Agent     string          `json:"agent"`
	Granted   []string        `json:"granted"`
	Flags     []sentinel.Flag `json:"flags"`
	Arguments json.RawMessage `json:"arguments"`
	History   []StepView      `json:"history"`
}

// StepView is one earlier result.
type StepView struct {
	Skill string   `json:"skill"`
	Trust string   `json:"trust"`
	Marks []string `json:"marks"`
}

// GateView is one gate's verdict in full.
type GateView struct {
	Gate     string              `json:"gate"`
	Outcome  string              `json:"outcome"`
	Code     string              `json:"code"`
	Reason   string              `json:"reason"`
	Detail   string              `json:"detail"`
	Evidence []sentinel.Evidence `json:"evidence"`
}

// RuleView is one permission rule on the call.
type RuleView struct {
	Rule   string     `json:"rule"`
	File   string     `json:"file"`
	Line   int        `json:"line"`
	Column int        `json:"column"`
	Skill  string     `json:"skill"`
	Then   string     `json:"then"`
	When   string     `json:"when"`
	State  string     `json:"state"`
	Terms  []TermView `json:"terms"`
	Error  string     `json:"error"`
}

// TermView is a part of a rule's condition and what it came to.
type TermView struct {
	Text  string `json:"text"`
	Value string `json:"value"`
}

// JudgeView is the judge's sum. Amounts and scores are in hundredths.
type JudgeView struct {
	Score     int          `json:"score"`
	Threshold int          `json:"threshold"`
	AskBelow  int          `json:"ask_below"`
	Outcome   string       `json:"outcome"`
	Signals   []SignalView `json:"signals"`
	// Doubts is what has become of the doubts: open, counted or spent; empty without any.
	Doubts string `json:"doubts"`
}

// SignalView is one signal of the judge.
type SignalView struct {
	Signal string   `json:"signal"`
	Amount int      `json:"amount"`
	Args   []string `json:"args"`
	// Doubt is set where it is no part of the verdict and counts where no model judges.
	Doubt bool `json:"doubt"`
	// Without is what the judge would say without it; empty where that is
	// what it says.
	Without string `json:"without"`
}

// Change is one thing that would change the outcome.
type Change struct {
	Gate    string `json:"gate"`
	If      string `json:"if"`
	Outcome string `json:"outcome"`
}

// Explain decides one case and shows the working. A line that is no case is a
// *cases.Error.
func Explain(ctx context.Context, cfg *config.Config, d *assembly.Decider, line []byte) (Explanation, error) {
	c, bad := cases.Parser{Calls: d}.Parse(line)
	if bad != nil {
		return Explanation{}, bad
	}
	e := Explanation{Gates: []GateView{}, Rules: []RuleView{}, Changes: []Change{}}
	call, err := d.NewCall(c.Proposal)
	var refused *sentinel.CallError
	switch {
	case errors.As(err, &refused):
		dec := sentinel.Refused("", refused, time.Now())
		e.Decision = dec.Line(c.ID)
		e.Changes = append(e.Changes, Change{sentinel.GateParse, "the arguments were one object that all readers read alike", ""})
		return e, nil
	case err != nil:
		return Explanation{}, err
	}
	dec, err := d.Decide(ctx, call)
	if err != nil {
		return Explanation{}, err
	}
	judged, _ := d.Rewrite(ctx, call)
	e.Decision = dec.Line(c.ID)
	e.Call, e.Touch = viewCall(judged), viewTouch(judged.Touch())
	if _, rewritten := judged.Modified(); rewritten {
		e.Proposed = showArguments(call)
	}
	for _, v := range dec.Verdicts {
		e.Gates = append(e.Gates, GateView{v.Gate, v.Word(), v.Code, v.Reason, v.Detail, emptyIfNil(v.Evidence)})
	}
	e.Rules = viewRules(cfg, d.Rules(ctx, judged), judged)
	e.Judge, e.Evidence = viewJudge(cfg, dec), json.RawMessage(judged.ShowEvidence())
	more, err := tryWhatIfs(ctx, cfg, c.Proposal)
	e.Changes = append(gateChanges(cfg, dec, e.Rules), more...)
	return e, err
}

// emptyIfNil makes a nil list an empty one: that is what JSON should show.
func emptyIfNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// showArguments returns a call's arguments with the secret ones hidden. It hides none of
// an unknown skill, which declares no secrets.
func showArguments(c sentinel.Call) json.RawMessage {
	if c.Skill() == nil {
		return json.RawMessage(c.Args())
	}
	out, err := plainjson.Marshal(c.Skill().WithoutSecrets(c.Parsed())) // a person reads it: > stays >
	if err != nil {                                                     // it came from JSON
		return json.RawMessage("null")
	}
	return out
}

// viewCall shows the call as the gates judged it.
func viewCall(c sentinel.Call) *CallView {
	v := &CallView{
		Skill: c.Name(), Effect: string(c.Effect()), Outward: c.Outward(), Tainted: c.Tainted(), User: c.Grant().User(),
		Agent: c.Grant().Agent(), Granted: emptyIfNil(c.Grant().Scope().List()), Flags: emptyIfNil(c.Flags()), Arguments: showArguments(c),
		History: []StepView{},
	}
	if s := c.Skill(); s != nil {
		v.Known, v.Reaches = true, string(s.Reaches())
	}
	for i := range c.Trace().Len() {
		st := c.Trace().Step(i)
		v.History = append(v.History, StepView{st.Skill, string(st.Trust), emptyIfNil(st.Marks)})
	}
	return v
}

// viewRules shows what each rule said, secrets hidden.
func viewRules(cfg *config.Config, rules []permission.Explained, c sentinel.Call) []RuleView {
	out := make([]RuleView, len(rules))
	for i, r := range rules {
		at := cfg.Permissions[r.Index].Pos
		out[i] = RuleView{
			Rule: r.ID, File: at.File, Line: at.Line, Column: at.Column, Skill: r.Skill, Then: r.Then, When: r.When,
			State: string(r.State), Terms: []TermView{}, Error: r.Err,
		}
		hide := readsSecret(r, c)
		if hide && r.Err != "" {
			out[i].Error = "(hidden: the rule reads a secret argument)"
		}
		for _, t := range r.Terms {
			if hide {
				t.Value = skills.Hidden
			}
			out[i].Terms = append(out[i].Terms, TermView{t.Text, t.Value})
		}
	}
	return out
}

// viewJudge shows the judge's sum; nil where the judge gave no score.
func viewJudge(cfg *config.Config, d sentinel.Decision) *JudgeView {
	v, ok := d.Verdict(sentinel.GateJudge)
	if !ok || !v.HasScore {
		return nil
	}
	j := &JudgeView{
		Score: v.Score, Threshold: int(cfg.Judge.Threshold), AskBelow: int(cfg.Judge.AskBelow), Outcome: v.Outcome.String(),
		Signals: []SignalView{},
	}
	spent := v.Doubt != nil && v.Doubt.State == sentinel.DoubtSpent
	if v.Doubt != nil {
		j.Doubts = v.Doubt.State.String()
	}
	for i, e := range v.Evidence {
		s := SignalView{Signal: e.Signal, Amount: e.Amount, Args: emptyIfNil(e.Args), Doubt: e.Doubt}
		rest := slices.Delete(slices.Clone(v.Evidence), i, i+1)
		without, counted := judge.Outcomes(rest, j.Threshold, j.AskBelow)
		if !spent {
			without = counted
		}
		if w := without.String(); w != j.Outcome {
			s.Without = w
		}
		j.Signals = append(j.Signals, s)
	}
	return j
}
