package sentinel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/skills"
)

// What a gate refuses for what it is stays in the desk's trace, so that the
// same skill with other words is seen for what it is; it is no step, taints
// nothing, holds no argument and is bounded. Limits, schemas, gates that could
// not judge and questions that nobody answered speak against no call.
func TestRefusalsAreTraced(t *testing.T) {
	no := func(name, code string) sentinel.Gate { return says(name, outcome(sentinel.Deny, code)) }
	for name, tc := range map[string]struct {
		gate sentinel.Gate
		lim  bool
		want string
	}{
		"permission":                 {gate: no("permission", "permission.denied"), want: "permission.denied"},
		"guard":                      {gate: no("guard", "guard.x"), want: "guard.x"},
		"judge":                      {gate: no("judge", "judge.below_threshold"), want: "judge.below_threshold"},
		"asked, and nobody is there": {gate: says("judge", outcome(sentinel.Ask, "judge.ask_below"))},
		"schema":                     {gate: no("schema", "schema.invalid")},
		"deferred":                   {gate: says("review", outcome(sentinel.Defer, "review.later"))},
		"broken": {gate: gate{"guard", func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
			return sentinel.Verdict{}, fmt.Errorf("broken")
		}}},
		"limits": {gate: no("judge", "judge.below_threshold"), lim: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, tc.gate)
			if tc.lim {
				b.lim.verdict = outcome(sentinel.Deny, "limits.agent")
			}
			d := b.Desk(grant(t))
			_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"canary7f3a"}`))
			require.Error(t, err)
			tr := d.Trace()
			require.Zero(t, tr.Len())
			require.False(t, d.Tainted())
			require.False(t, tr.Untrusted())
			if tc.want == "" {
				require.Empty(t, tr.Refusals())
				require.False(t, tr.RefusedBefore("test.do"))
				return
			}
			require.Len(t, tr.Refusals(), 1)
			r := tr.Refusals()[0]
			require.Equal(t, tc.want, r.Code)
			require.Equal(t, "test.do", r.Skill)
			require.NotContains(t, fmt.Sprint(r), "canary7f3a")
			require.True(t, tr.RefusedBefore("test.do"))
			require.False(t, tr.RefusedBefore("test.other"))
			for range sentinel.MaxRefusals + 5 {
				_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x"}`))
				require.Error(t, err)
			}
			require.Len(t, d.Trace().Refusals(), sentinel.MaxRefusals)
		})
	}
}

// A person's no counts as a gate's does; a snapshot that was taken before
// doesn't change.
func TestAPersonsNoIsTraced(t *testing.T) {
	b := newBench(t, func(o *sentinel.Options, _ *bench) {
		o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
			return sentinel.Refuse("approval.denied", "a person said no"), nil
		})
	}, says("judge", outcome(sentinel.Ask, "judge.ask_below")))
	d := b.Desk(grant(t))
	before := d.Trace()
	_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
	require.Error(t, err)
	require.Empty(t, before.Refusals())
	require.Len(t, d.Trace().Refusals(), 1)
	require.Equal(t, "approval", d.Trace().Refusals()[0].Gate)
}

// Through a real checkpoint and judge: a call that is refused once scores
// lower when it comes again in other words, a call of a desk that refused
// nothing doesn't.
func TestRewordedCallsScoreLower(t *testing.T) {
	j, err := judge.New(judge.Options{})
	require.NoError(t, err)
	denied := true
	var scores []int
	b := newBench(t, nil, gate{"judge", func(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		v, err := j.Check(ctx, c)
		scores = append(scores, v.Score)
		return v, err
	}}, gate{"permission", func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
		if denied {
			return outcome(sentinel.Deny, "permission.denied"), nil
		}
		return sentinel.Pass(), nil
	}})
	sc, err := skills.NewScope("test.*")
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g1", Conversation: "c1", Agent: "a1", Scope: sc})
	require.NoError(t, err)
	d := b.Desk(g)
	_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"one"}`))
	require.NotEmpty(t, refusalOf(t, err).Code)
	denied = false
	_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"another"}`))
	require.NoError(t, err)
	_, err = b.Desk(g).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"another"}`))
	require.NoError(t, err)
	require.Equal(t, []int{70, 60, 70}, scores)
}
