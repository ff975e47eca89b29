package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
)

// Report is what became of the tests of a configuration.
type Report struct {
	Tests  int          `json:"tests"`
	Passed int          `json:"passed"`
	Failed []TestResult `json:"failed"`
	// Unexercised are the rules that no test made fit, or fail.
	Unexercised []RuleName `json:"unexercised"`
}

// TestResult is a test that failed, and why: one line for each thing that is
// not as expected. It holds no argument value.
type TestResult struct {
	Name   string   `json:"name"`
	File   string   `json:"file"`
	Line   int      `json:"line"`
	Column int      `json:"column"`
	Why    []string `json:"why"`
}

// RuleName is a rule and where it stands.
type RuleName struct {
	Rule   string `json:"rule"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Test runs the tests of a configuration, in the order written. The review is
// left out and links are not followed, so that they end alike everywhere.
func Test(ctx context.Context, cfg *config.Config) (Report, error) {
	var at time.Time // the time of the test that runs
	now := func() time.Time {
		if at.IsZero() {
			return time.Now()
		}
		return at
	}
	d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{NoReview: true, NoFS: true, Now: now})
	if err != nil {
		return Report{}, err
	}
	defer d.Close()
	t := tester{d: d, lines: cases.Parser{Calls: d}, fitted: map[string]bool{}}
	r := Report{Tests: len(cfg.Tests), Failed: []TestResult{}, Unexercised: []RuleName{}}
	for _, test := range cfg.Tests {
		at = test.At
		why, err := t.runTest(ctx, test)
		if err != nil {
			return Report{}, err
		}
		if len(why) == 0 {
			r.Passed++
			continue
		}
		r.Failed = append(r.Failed, TestResult{test.Name, test.Pos.File, test.Pos.Line, test.Pos.Column, why})
	}
	for _, rule := range cfg.Permissions {
		if !t.fitted[rule.ID] {
			r.Unexercised = append(r.Unexercised, RuleName{rule.ID, rule.Pos.File, rule.Pos.Line, rule.Pos.Column})
		}
	}
	return r, nil
}

// tester runs tests and remembers which rules had a say.
type tester struct {
	d      *assembly.Decider
	lines  cases.Parser
	fitted map[string]bool
}

// runTest returns what is not as the test expects.
func (t *tester) runTest(ctx context.Context, test config.Test) ([]string, error) {
	c, bad := t.lines.Parse(caseLine(test))
	if bad != nil {
		return []string{"the test is no case: " + bad.Message}, nil //nolint:nilerr // a finding, not a failure
	}
	call, err := t.d.NewCall(c.Proposal)
	var refused *sentinel.CallError
	if errors.As(err, &refused) {
		return compareDecision(test, sentinel.Refused("", refused, time.Now())), nil
	}
	if err != nil {
		return nil, err
	}
	dec, err := t.d.Decide(ctx, call)
	if err != nil {
		return nil, err
	}
	t.noteRules(dec)
	why := compareDecision(test, dec)
	if test.Args != nil {
		judged, _ := t.d.Rewrite(ctx, call)
		want, err := t.d.NewCall(sentinel.Proposal{Skill: call.Name(), Args: []byte(test.Args), Grant: c.Proposal.Grant})
		switch {
		case err != nil:
			why = append(why, "args can't be arguments: "+err.Error())
		case want.Args() != judged.Args():
			why = append(why, "other arguments are judged than args says; vedette explain shows them")
		}
	}
	return why, nil
}

// noteRules remembers the rules that had a say.
func (t *tester) noteRules(d sentinel.Decision) {
	v, _ := d.Verdict(sentinel.GatePermission)
	for _, e := range v.Evidence {
		if id, ok := strings.CutPrefix(e.Signal, "rule "); ok {
			t.fitted[strings.TrimSuffix(id, " error")] = true
		}
	}
	if d.Modified != nil {
		for _, id := range d.Modified.Rules {
			t.fitted[id] = true
		}
	}
}

// compareDecision returns what of a decision is not as the test expects.
func compareDecision(test config.Test, d sentinel.Decision) []string {
	var why []string
	got := d.Outcome.String()
	switch want := string(test.Expect); {
	case test.Expect == config.Modify && d.Modified == nil:
		why = append(why, "expected modify: no rule rewrote the call, and it is "+describeOutcome(got, d))
	case test.Expect == config.Modify && d.Outcome == sentinel.Deny:
		why = append(why, "expected modify: the call was rewritten and is "+describeOutcome(got, d))
	case test.Expect != config.Modify && want != got:
		why = append(why, fmt.Sprintf("expected %s: it is %s", want, describeOutcome(got, d)))
	case d.Outcome == sentinel.Deny && test.Code == "" && test.Gate == "" && (beforeRules[d.BlockedBy] || d.Code == permission.CodeRuleError):
		why = append(why, "it is "+describeOutcome(got, d)+", whatever the rules say of it; add code: "+d.Code+" if that is what is meant")
	}
	if test.Code != "" && test.Code != d.Code {
		why = append(why, fmt.Sprintf("expected code %s: it is %s", test.Code, orNone(d.Code)))
	}
	if test.Gate != "" && test.Gate != d.BlockedBy {
		why = append(why, fmt.Sprintf("expected gate %s: it is %s", test.Gate, orNone(d.BlockedBy)))
	}
	return why
}

// beforeRules are where a call ends that no rule could let through. A test that expects a
// denial of one would not fail if all rules were gone.
var beforeRules = map[string]bool{"parse": true, sentinel.GateSchema: true, sentinel.GateScope: true}

// describeOutcome is an outcome with who is behind it and why. The reason of a verdict
// holds no value, so this may stand in the output of a build.
func describeOutcome(outcome string, d sentinel.Decision) string {
	if d.BlockedBy == "" {
		return outcome
	}
	s := fmt.Sprintf("%s by %s (%s)", outcome, d.BlockedBy, d.Code)
	if d.Reason != "" {
		s += ": " + d.Reason
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// caseLine writes a test as a line that check would read.
func caseLine(t config.Test) []byte {
	type step struct {
		Skill  string          `json:"skill_name"`
		Args   json.RawMessage `json:"arguments,omitempty"`
		Result string          `json:"result"`
		Trust  string          `json:"trust,omitempty"`
	}
	line := map[string]any{
		"id": t.Name, "agent_mission": t.Mission, "user": t.User, "granted_skills": slices.Clone(t.Granted),
		"proposed_action": proposedAction{t.Call.Skill, t.Call.Args},
	}
	if t.Agent != "" {
		line["agent_id"] = t.Agent
	}
	if t.Request != "" {
		line["original_request"] = t.Request
	}
	if len(t.Granted) == 0 {
		line["granted_skills"] = []string{t.Call.Skill}
	}
	steps := make([]step, len(t.History))
	for i, s := range t.History {
		steps[i] = step{s.Skill, s.Args, s.Result, s.Trust}
	}
	line["history"] = steps
	b, err := json.Marshal(line)
	if err != nil { // its parts came out of the configuration as JSON
		return nil
	}
	return b
}

type proposedAction struct {
	Skill string          `json:"skill_name"`
	Args  json.RawMessage `json:"arguments,omitempty"`
}
