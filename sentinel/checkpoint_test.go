package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A decision that allowed exactly these bytes is on record before the skill
// runs, and what became of it after. (Invariants 1 and 2.)
func TestDecisionIsDurableBeforeTheSkillRuns(t *testing.T) {
	b := newBench(t, nil)
	b.rec.onWrite = func(r sentinel.Record) {
		if r.Kind == sentinel.RecordDecision {
			require.Empty(t, b.runs(), "recorded before it ran")
			require.NotEmpty(t, r.Spend, "the warrant is spent in the same transaction")
		}
	}
	res, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{ "to" : "x" }`))
	require.NoError(t, err)
	require.Equal(t, "done", res.Content)
	require.Equal(t, skills.Untrusted, res.Trust)
	require.Equal(t, []string{`{"to":"x"}`}, b.runs(), "the canonical bytes ran")
	require.Equal(t, []string{"decision", "outcome"}, b.rec.kinds())
	require.Equal(t, []bool{true}, b.lim.reported)
}

// Where the record can't be written nothing runs, and the caller is told.
// (Invariants 1 and 5.)
func TestNoRecordNoRun(t *testing.T) {
	b := newBench(t, nil)
	b.rec.fail = func(sentinel.Record) error { return errors.New("disk full") }
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.ErrorIs(t, err, sentinel.ErrNotRecorded)
	require.Empty(t, b.runs())
	require.Equal(t, 1, b.lim.released)

	b = newBench(t, nil)
	b.rec.fail = func(r sentinel.Record) error {
		if r.Kind == sentinel.RecordOutcome {
			return errors.New("disk full")
		}
		return nil
	}
	res, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err, "the effect has happened: the agent is told the truth")
	require.Equal(t, "done", res.Content)
}

// A gate that denies, is silent, panics or fails stops the call; every gate is
// accounted for in the record. (Invariants 3 and 5.)
func TestEveryGateCanStopACall(t *testing.T) {
	for _, name := range []string{"schema", "scope", "permission", "guard", "judge", "review"} {
		for what, tc := range map[string]struct {
			g    gate
			code string
		}{
			"denies": {says(name, outcome(sentinel.Deny, name+".no")), name + ".no"},
			"silent": {says(name, sentinel.Verdict{}), name + ".no_answer"},
			"errors": {gate{name, func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
				return sentinel.Pass(), errors.New("SECRET")
			}}, name + ".error"},
			"panics": {gate{name, func(context.Context, sentinel.Call) (sentinel.Verdict, error) { panic("SECRET") }}, name + ".panic"},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				b := newBench(t, nil, tc.g)
				_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
				r := refusalOf(t, err)
				require.Equal(t, name, r.Gate)
				require.Equal(t, tc.code, r.Code)
				require.NotEmpty(t, r.WhatYouCanDo)
				require.Empty(t, b.runs())
				require.Equal(t, []string{"decision"}, b.rec.kinds())
				var body struct {
					Gates []struct{ Gate, State string }
				}
				require.NoError(t, json.Unmarshal(b.rec.records[0].Body, &body))
				require.Len(t, body.Gates, 8)
				require.NotContains(t, string(b.rec.records[0].Body), "SECRET")
			})
		}
	}
}

// All rules speak even after one denied; the review does not.
func TestRulesAllSpeakAndReviewWaits(t *testing.T) {
	reviewed := false
	b := newBench(t, nil,
		says("schema", outcome(sentinel.Deny, "schema.invalid")), says("guard", outcome(sentinel.Deny, "guard.x")),
		gate{"review", func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
			reviewed = true
			return sentinel.Pass(), nil
		}})
	c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
	require.NoError(t, err)
	d, err := b.Decide(t.Context(), c)
	require.NoError(t, err)
	require.False(t, reviewed)
	require.Equal(t, sentinel.Deny, d.Outcome)
	require.Equal(t, "schema", d.BlockedBy, "the first gate whose outcome is the decision's")
	var words []string
	for _, g := range d.Line("1").Gates {
		words = append(words, g.Gate+" "+g.Outcome)
	}
	require.Equal(t, []string{
		"limits skipped", "schema deny", "scope allow", "permission allow", "guard deny", "judge allow",
		"review not_reached", "approval skipped",
	}, words)
}

// The decision on a proposal that never became a call names every gate, and none was
// reached. (Invariant 5.)
func TestRefusedProposalNamesEveryGate(t *testing.T) {
	d := sentinel.Refused("c-1", &sentinel.CallError{Code: sentinel.CodeSyntax, Reason: "no JSON"}, time.Now())
	require.Equal(t, sentinel.Deny, d.Outcome)
	var names []string
	for _, g := range d.Line("1").Gates {
		require.Equal(t, "not_reached", g.Outcome, g.Gate)
		names = append(names, g.Gate)
	}
	require.Equal(t, sentinel.GateNames(), names)
}

// The decision is the least outcome of the gates, whatever their order: none
// can raise what another lowered. (Invariant 4.)
func TestOutcomesCombineByMin(t *testing.T) {
	all := []sentinel.Outcome{sentinel.Deny, sentinel.Defer, sentinel.Ask, sentinel.Allow}
	rapid.Check(t, func(rt *rapid.T) {
		least := sentinel.Allow
		var gs []sentinel.Gate
		for _, n := range []string{"schema", "scope", "permission", "guard", "judge", "review"} {
			o := rapid.SampledFrom(all).Draw(rt, n)
			gs = append(gs, says(n, outcome(o, n)))
			if n != "review" || least > sentinel.Defer {
				least = min(least, o)
			}
		}
		b := newBench(t, nil, gs...)
		c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
		require.NoError(t, err)
		d, err := b.Decide(context.Background(), c)
		require.NoError(t, err)
		require.Equal(t, least, d.Outcome)
	})
}

// A person lifts an Ask and nothing else; a wait is on record before and after.
func TestApproval(t *testing.T) {
	yes := approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
		return sentinel.Pass(), nil
	})
	for _, tc := range []struct {
		name     string
		gates    []sentinel.Gate
		approver sentinel.Approver
		kind     string
		code     string
		records  []string
	}{
		{"yes", []sentinel.Gate{says("judge", outcome(sentinel.Ask, "judge.ask"))}, yes, "", "", []string{"held", "decision", "outcome"}},
		{"no", []sentinel.Gate{says("judge", outcome(sentinel.Ask, "judge.ask"))},
			approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				return sentinel.Refuse("approval.denied", "a person said no"), nil
			}), skills.KindAskDenied, "approval.denied", []string{"held", "decision"}},
		{"expired", []sentinel.Gate{says("judge", outcome(sentinel.Ask, "judge.ask"))},
			approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				return sentinel.Refuse("approval.expired", "nobody answered"), nil
			}), skills.KindAskExpired, "approval.expired", []string{"held", "decision"}},
		{"nobody", []sentinel.Gate{says("judge", outcome(sentinel.Ask, "judge.ask"))}, nil, skills.KindAskDenied, "approval.nobody",
			[]string{"held", "decision"}},
		{"an approver that can reach no person", []sentinel.Gate{says("judge", outcome(sentinel.Ask, "judge.ask"))},
			approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				return sentinel.Verdict{}, fmt.Errorf("the terminal: %w", sentinel.ErrNoApprover)
			}), skills.KindAskDenied, "approval.nobody", []string{"held", "decision"}},
		{"an approver whose question expired", []sentinel.Gate{says("judge", outcome(sentinel.Ask, "judge.ask"))},
			approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
				return sentinel.Verdict{}, sentinel.ErrExpired
			}), skills.KindAskExpired, "approval.expired", []string{"held", "decision"}},
		{"an ask beside a denial asks nobody",
			[]sentinel.Gate{says("judge", outcome(sentinel.Ask, "judge.ask")), says("guard", outcome(sentinel.Deny, "guard.no"))}, yes,
			skills.KindDeny, "guard.no", []string{"decision"}},
		{"a defer asks nobody", []sentinel.Gate{says("judge", outcome(sentinel.Defer, "judge.later"))}, yes, skills.KindDefer, "judge.later",
			[]string{"decision"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Approver = tc.approver }, tc.gates...)
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			require.Equal(t, tc.records, b.rec.kinds())
			if tc.kind == "" {
				require.NoError(t, err)
				require.Len(t, b.runs(), 1)
				return
			}
			r := refusalOf(t, err)
			require.Equal(t, tc.kind, r.Kind)
			require.Equal(t, tc.code, r.Code)
			require.Empty(t, b.runs())
		})
	}
}

// The rules are asked again after a yes: what became impermissible while a
// person was thinking does not run.
func TestRulesAreAskedAgainAfterApproval(t *testing.T) {
	allowed := true
	b := newBench(t, func(o *sentinel.Options, _ *bench) {
		o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
			allowed = false
			return sentinel.Pass(), nil
		})
	}, says("judge", outcome(sentinel.Ask, "judge.ask")), gate{"permission", func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
		if allowed {
			return sentinel.Pass(), nil
		}
		return outcome(sentinel.Deny, "permission.revoked"), nil
	}})
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.Equal(t, "permission.revoked", refusalOf(t, err).Code)
	require.Empty(t, b.runs())
}

// Limits refuse as budget, and a limiter that can't answer denies.
func TestLimits(t *testing.T) {
	b := newBench(t, func(_ *sentinel.Options, b *bench) { b.lim.verdict = outcome(sentinel.Deny, "limits.agent_calls") })
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.Equal(t, skills.KindBudget, refusalOf(t, err).Kind)
	b = newBench(t, func(_ *sentinel.Options, b *bench) { b.lim.err = errors.New("away") })
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.Equal(t, "limits.error", refusalOf(t, err).Code)
	require.Empty(t, b.runs())
}

// A proposal that is no call is refused, recorded without its text, and has
// used its slot; a flood of them is counted, not written.
func TestMalformedProposals(t *testing.T) {
	b := newBench(t, nil)
	desk := b.Desk(grant(t))
	_, err := desk.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"CANARY","to":"x"}`))
	r := refusalOf(t, err)
	require.Equal(t, skills.KindInvalid, r.Kind)
	require.Equal(t, sentinel.CodeDuplicate, r.Code)
	require.Equal(t, []string{"refused"}, b.rec.kinds())
	require.NotContains(t, string(b.rec.records[0].Body), "CANARY")
	require.Equal(t, 1, b.lim.reserved)
	for range 100 {
		_, err = desk.Invoke(t.Context(), "", nil)
		require.Equal(t, sentinel.CodeNoSkill, refusalOf(t, err).Code)
	}
	require.Len(t, b.rec.kinds(), 20)
	require.Empty(t, b.runs())
}

// Every failure of a skill is recorded for what it is, and only failures that
// speak against the skill reach its breaker.
func TestOutcomes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		run    func() (skills.Result, error)
		status string
		ok     bool
	}{
		{"ok", func() (skills.Result, error) { return skills.Result{Content: "x"}, nil }, "ok", true},
		{"error", func() (skills.Result, error) { return skills.Result{}, errors.New("boom") }, "failed", false},
		{"bad input", func() (skills.Result, error) { return skills.Result{}, skills.ErrBadInput }, "failed", true},
		{"panic", func() (skills.Result, error) { panic("CANARY") }, "unknown", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, func(_ *sentinel.Options, b *bench) { b.run = tc.run })
			_, _ = b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			last := b.rec.records[len(b.rec.records)-1]
			require.Equal(t, sentinel.RecordOutcome, last.Kind)
			require.Equal(t, tc.status, last.Outcome)
			require.Equal(t, []bool{tc.ok}, b.lim.reported)
			require.NotContains(t, string(last.Body), "CANARY")
		})
	}
}

// The zero checkpoint and the zero desk deny.
func TestZeroValuesDeny(t *testing.T) {
	var p sentinel.Checkpoint
	d, err := p.Decide(t.Context(), sentinel.Call{})
	require.NoError(t, err)
	require.Equal(t, sentinel.Deny, d.Outcome)
	require.Equal(t, sentinel.Deny, sentinel.Decision{}.Outcome)
	require.Equal(t, sentinel.Deny, sentinel.Verdict{}.Outcome)
	require.Equal(t, "deny", sentinel.Outcome(99).String())
	var desk sentinel.Desk
	_, err = desk.Invoke(t.Context(), "test.do", nil)
	require.ErrorIs(t, err, sentinel.ErrNotRecorded)
}

// A checkpoint is not built with a gate missing, twice, unknown, or a
// mandatory one switched off.
func TestNewRefusesIncompleteGates(t *testing.T) {
	reg, err := skills.NewRegistry()
	require.NoError(t, err)
	for _, n := range []string{"schema", "scope", "permission", "guard", "judge", "review"} {
		var gs []sentinel.Gate
		for _, g := range passing() {
			if g.Name() != n {
				gs = append(gs, g)
			}
		}
		_, err := sentinel.New(sentinel.Options{Registry: reg, Gates: gs})
		require.ErrorContains(t, err, `"`+n+`" is missing`)
		_, err = sentinel.New(sentinel.Options{Registry: reg, Gates: append(passing(), says(n, sentinel.Pass()))})
		require.ErrorContains(t, err, "twice")
		_, err = sentinel.New(sentinel.Options{Registry: reg, Gates: passing(sentinel.Skip(n, "off"))})
		if n == "judge" || n == "review" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "can't be switched off")
		}
	}
	_, err = sentinel.New(sentinel.Options{Registry: reg, Gates: append(passing(), says("extra", sentinel.Pass()))})
	require.ErrorContains(t, err, `"extra" is not one of`)
}

// Many agents on one desk: every call is recorded and counted once.
func TestConcurrentInvoke(t *testing.T) {
	b := newBench(t, nil)
	desk := b.Desk(grant(t))
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for range 64 {
		wg.Go(func() {
			_, err := desk.Invoke(context.Background(), "test.do", nil)
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, b.runs(), 64)
	require.Len(t, b.rec.kinds(), 128)
	require.Equal(t, 64, desk.Trace().Len())
	require.Equal(t, 64, strings.Count(strings.Join(b.rec.kinds(), " "), "outcome"))
}
