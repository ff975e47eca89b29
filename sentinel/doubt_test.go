package sentinel_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
)

// doubted is a verdict of the judge that allows, with a doubt that would do less.
func doubted(o sentinel.Outcome, signals ...string) sentinel.Verdict {
	v := sentinel.Pass()
	v.Reason = "0.70; in doubt"
	v.Evidence = []sentinel.Evidence{{Signal: "intent_mention", Amount: 10}}
	for _, s := range signals {
		v.Evidence = append(v.Evidence, sentinel.Evidence{Signal: s, Amount: -35, Args: []string{"to"}, Doubt: true})
	}
	v.Doubt = &sentinel.Doubt{Outcome: o, Code: "judge.doubt", Reason: "0.35", WhatYouCanDo: "ask"}
	return v
}

// approved is a review's verdict that spends the doubts of the evidence.
func approved(spent []sentinel.Evidence) sentinel.Verdict {
	v := sentinel.Pass()
	v.Meta = map[string]string{"model": "fast"}
	v.SpentDoubts = sentinel.DoubtsKey(spent)
	return v
}

// A doubt counts exactly where no model has judged the call with it: invariant 4.
func TestDoubtCountsWhereNoModelJudged(t *testing.T) {
	judge := doubted(sentinel.Ask, "other_topic")
	failed := sentinel.Pass()
	failed.Meta, failed.Degraded = map[string]string{"failure": "connect"}, true
	shadow := approved(judge.Evidence)
	shadow.State = sentinel.Shadow
	for name, tc := range map[string]struct {
		review sentinel.Verdict
		want   sentinel.Outcome
		state  sentinel.DoubtState
	}{
		"a model judged it":         {approved(judge.Evidence), sentinel.Allow, sentinel.DoubtSpent},
		"a model that may not":      {approved(nil), sentinel.Ask, sentinel.DoubtCounted},
		"one that saw other doubts": {approved(doubted(sentinel.Ask, "other_action").Evidence), sentinel.Ask, sentinel.DoubtCounted},
		"one that saw fewer":        {approved(judge.Evidence[:1]), sentinel.Ask, sentinel.DoubtCounted},
		"off":                       {sentinel.Verdict{State: sentinel.Skipped}, sentinel.Ask, sentinel.DoubtCounted},
		"in shadow":                 {shadow, sentinel.Ask, sentinel.DoubtCounted},
		"no model could be reached": {failed, sentinel.Ask, sentinel.DoubtCounted},
		"the model rejected":        {sentinel.Refuse("review.rejected", "no"), sentinel.Deny, sentinel.DoubtCounted},
		"the gate could not judge":  {sentinel.Verdict{State: sentinel.Failed}, sentinel.Deny, sentinel.DoubtCounted},
		"a judgement that asks":     {sentinel.Hold("review.disagreement", "two"), sentinel.Ask, sentinel.DoubtCounted},
		"a model that says too much": {sentinel.Verdict{State: sentinel.Judged, Outcome: sentinel.Allow, SpentDoubts: "x"}, sentinel.Ask,
			sentinel.DoubtCounted},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, says("judge", judge), says("review", tc.review))
			c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
			require.NoError(t, err)
			d, err := b.Decide(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, tc.want, d.Outcome)
			v, _ := d.Verdict(sentinel.GateJudge)
			require.Equal(t, tc.state, v.Doubt.State)
			line := d.Line("1")
			require.Equal(t, []sentinel.DoubtLine{{Signal: "other_topic", Amount: -35, Args: []string{"to"}, State: tc.state}}, line.Doubts)
			if tc.state == sentinel.DoubtCounted && tc.want == sentinel.Ask && tc.review.Outcome != sentinel.Ask {
				require.Equal(t, "judge", d.BlockedBy)
				require.Equal(t, "judge.doubt", d.Code)
				require.Equal(t, "ask", line.Gates[5].Outcome, "blocked_by is a gate with the decision's outcome")
			}
			if tc.state == sentinel.DoubtSpent {
				require.Equal(t, "allow", line.Gates[5].Outcome)
				require.Equal(t, "0.70; in doubt", v.Reason)
			}
		})
	}
}

// The review is asked about a call in doubt, and shown what is in doubt. It is not asked
// where the judge's verdict denies, and then the doubt stays open.
func TestReviewIsAskedAboutDoubts(t *testing.T) {
	var seen []sentinel.Evidence
	review := gate{"review", func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		f, _ := c.Findings()
		require.Equal(t, sentinel.Allow, f.Outcome)
		seen = f.Doubts()
		return approved(f.Signals), nil
	}}
	b := newBench(t, nil, says("judge", doubted(sentinel.Deny, "other_topic", "amount_unknown")), review)
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err)
	require.Len(t, seen, 2)
	require.Equal(t, []string{"{}"}, b.runs())
	var body struct {
		Gates []struct {
			Gate  string
			Doubt *struct{ Outcome, Code, State string }
		}
	}
	require.NoError(t, json.Unmarshal(b.rec.records[0].Body, &body))
	require.Equal(t, "spent", body.Gates[5].Doubt.State)
	require.Equal(t, "deny", body.Gates[5].Doubt.Outcome)

	b = newBench(t, nil, says("guard", sentinel.Refuse("guard.x", "no")), says("judge", doubted(sentinel.Ask, "other_topic")), review)
	c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
	require.NoError(t, err)
	d, err := b.Decide(t.Context(), c)
	require.NoError(t, err)
	v, _ := d.Verdict(sentinel.GateJudge)
	require.Equal(t, sentinel.DoubtOpen, v.Doubt.State)
	require.Equal(t, "guard", d.BlockedBy)
}

// A denial of any gate but the judge's stands at once, also before a review that would spend a
// doubt behind it. Of the scope gate's doubts those that ask alone wait for the review.
func TestOtherGatesDenyAtOnce(t *testing.T) {
	for _, name := range []string{"schema", "scope", "permission", "guard", "review"} {
		v := doubted(sentinel.Deny, "other_topic")
		b := newBench(t, nil, says(name, v))
		if name != "review" {
			b = newBench(t, nil, says(name, v), says("review", approved(v.Evidence)))
		}
		c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
		require.NoError(t, err)
		d, err := b.Decide(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, sentinel.Deny, d.Outcome, name)
		require.Equal(t, name, d.BlockedBy)
	}
}

// A person's yes covers the doubts that the person was shown as the reason. One that arises
// when the rules are asked again counts.
func TestDoubtAfterAYesCounts(t *testing.T) {
	asked := 0
	judge := gate{"judge", func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
		if asked++; asked == 1 {
			return sentinel.Pass(), nil
		}
		return doubted(sentinel.Ask, "other_topic"), nil
	}}
	yes := func(o *sentinel.Options, _ *bench) {
		o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
			return sentinel.Pass(), nil
		})
	}
	b := newBench(t, yes, says("permission", sentinel.Hold("permission.ask", "rule")), judge, says("review", approved(nil)))
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.Equal(t, sentinel.CodeApprovalSuperseded, refusalOf(t, err).Code, "there is another reason to ask now")
	require.Empty(t, b.runs())

	b = newBench(t, yes, says("judge", doubted(sentinel.Ask, "other_topic")), says("review", sentinel.Verdict{State: sentinel.Skipped}))
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err, "the person was asked because of this doubt")
	require.Len(t, b.runs(), 1)

	asked = 0
	another := gate{"judge", func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
		if asked++; asked == 1 {
			return doubted(sentinel.Ask, "other_topic"), nil
		}
		return doubted(sentinel.Ask, "other_topic", "amount_unknown"), nil
	}}
	b = newBench(t, yes, another, says("review", sentinel.Verdict{State: sentinel.Skipped}))
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.Equal(t, sentinel.CodeApprovalSuperseded, refusalOf(t, err).Code, "the person saw one doubt of two")
	require.Empty(t, b.runs())
}

// Whatever doubts a verdict has, they raise nothing, and count once.
func TestDoubtsNeverRaise(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		outcomes := []sentinel.Outcome{sentinel.Deny, sentinel.Defer, sentinel.Ask, sentinel.Allow}
		draw := func(name string) sentinel.Outcome { return rapid.SampledFrom(outcomes).Draw(r, name) }
		plain := outcome(draw("judge"), "judge.x")
		inDoubt := plain
		inDoubt.Evidence = []sentinel.Evidence{{Signal: "s", Amount: -1, Doubt: true}}
		inDoubt.Doubt = &sentinel.Doubt{Outcome: draw("doubt"), Code: "judge.doubt"}
		review := outcome(draw("review"), "review.x")
		if rapid.Bool().Draw(r, "spent") {
			review.SpentDoubts = sentinel.DoubtsKey(inDoubt.Evidence)
		}
		decide := func(judge sentinel.Verdict) sentinel.Decision {
			b := newBench(t, nil, says("judge", judge), says("review", review))
			c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
			require.NoError(t, err)
			d, err := b.Decide(t.Context(), c)
			require.NoError(t, err)
			return d
		}
		without, with := decide(plain), decide(inDoubt)
		require.LessOrEqual(t, with.Outcome, without.Outcome)
		if review.SpentDoubts == "" && without.Outcome > sentinel.Defer {
			require.Equal(t, min(without.Outcome, inDoubt.Doubt.Outcome), with.Outcome)
		}
	})
}

// The key of a set of doubts knows its signals, amounts and arguments, whatever their order,
// and nothing else.
func TestDoubtsKey(t *testing.T) {
	a := sentinel.Evidence{Signal: "a", Amount: -1, Args: []string{"x", "y"}, Doubt: true}
	b := sentinel.Evidence{Signal: "b", Amount: -2, Doubt: true}
	sure := sentinel.Evidence{Signal: "c", Amount: -3}
	key := sentinel.DoubtsKey([]sentinel.Evidence{a, b})
	require.Equal(t, key, sentinel.DoubtsKey([]sentinel.Evidence{b, sure, {Signal: "a", Amount: -1, Args: []string{"y", "x"}, Doubt: true}}))
	require.Empty(t, sentinel.DoubtsKey([]sentinel.Evidence{sure}))
	for _, other := range [][]sentinel.Evidence{{a}, {b}, {a, b, b}, {{Signal: "a", Amount: -2, Args: a.Args, Doubt: true}, b},
		{{Signal: "a", Amount: -1, Args: []string{"x"}, Doubt: true}, b}, {{Signal: "a", Amount: -1, Args: []string{"x y"}, Doubt: true}, b}} {
		require.NotEqual(t, key, sentinel.DoubtsKey(other))
	}
}
