package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// hearing is a gate that passes and keeps what it could see of the findings.
func hearing(name string, heard *[]sentinel.Findings) sentinel.Gate {
	return gate{name, func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		if f, ok := c.Findings(); ok {
			*heard = append(*heard, f)
		}
		return sentinel.Pass(), nil
	}}
}

// The review sees what the judge found and no gate before it does: codes,
// numbers and names, no free text. What it does with its copy reaches nobody.
func TestFindingsAreForTheReview(t *testing.T) {
	verdict := sentinel.Verdict{
		State: sentinel.Judged, Outcome: sentinel.Ask, Code: "judge.ask_below", Score: 37, HasScore: true, Reason: "REASON", Detail: "DETAIL",
		WhatYouCanDo: "ADVICE", Meta: map[string]string{"META": "META"},
		Evidence: []sentinel.Evidence{{Signal: "recipient_nowhere", Amount: -33, Args: []string{"to"}}},
	}
	var before, heard []sentinel.Findings
	review := gate{sentinel.GateReview, func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		f, ok := c.Findings()
		require.True(t, ok)
		heard = append(heard, f)
		f, _ = c.Findings()
		f.Signals[0].Signal, f.Signals[0].Args[0] = "changed", "changed"
		return sentinel.Pass(), nil
	}}
	gates := []sentinel.Gate{says(sentinel.GateJudge, verdict), review}
	for _, n := range []string{sentinel.GateSchema, sentinel.GateScope, sentinel.GatePermission, sentinel.GateGuard} {
		gates = append(gates, hearing(n, &before))
	}
	b := newBench(t, nil, gates...)
	c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Args: []byte(`{"to":"x"}`), Grant: grant(t)})
	require.NoError(t, err)
	d, err := b.Decide(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, sentinel.Ask, d.Outcome)
	require.Equal(t, c.Digest(), d.Digest)
	require.Empty(t, before)
	require.Equal(t, []sentinel.Findings{{
		Outcome: sentinel.Ask, Code: "judge.ask_below", Score: 37, HasScore: true, Held: true,
		Signals: []sentinel.Evidence{{Signal: "recipient_nowhere", Amount: -33, Args: []string{"to"}}},
	}}, heard)
	v, _ := d.Verdict(sentinel.GateJudge)
	require.Equal(t, []sentinel.Evidence{{Signal: "recipient_nowhere", Amount: -33, Args: []string{"to"}}}, v.Evidence)
	_, ok := c.Findings()
	require.False(t, ok, "the caller's call is as it was")
}

// Where the judge is switched off there is nothing to see.
func TestNoFindings(t *testing.T) {
	var heard []sentinel.Findings
	b := newBench(t, nil, sentinel.Skip(sentinel.GateJudge, "off"), hearing(sentinel.GateReview, &heard))
	c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
	require.NoError(t, err)
	_, err = b.Decide(t.Context(), c)
	require.NoError(t, err)
	require.Empty(t, heard)
}

// A step knows its skill's effect and whether it failed.
func TestStepsKnowHowTheyEnded(t *testing.T) {
	b := newBench(t, nil)
	b.run = func() (skills.Result, error) { return skills.Result{Content: "fine"}, nil }
	d := b.Desk(grant(t))
	_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x"}`))
	require.NoError(t, err)
	b.run = func() (skills.Result, error) { return skills.Result{}, errors.New("broken") }
	_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x"}`))
	require.Error(t, err)
	tr := d.Trace()
	require.Equal(t, 2, tr.Len())
	require.Equal(t, skills.Modify, tr.Step(0).Effect)
	require.False(t, tr.Step(0).Failed)
	require.Equal(t, skills.Modify, tr.Step(1).Effect)
	require.True(t, tr.Step(1).Failed)
}
