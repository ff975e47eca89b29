package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// rewriting is a permission gate whose rules rewrite by a function.
type rewriting struct {
	gate
	modify func(c sentinel.Call) (sentinel.Rewrite, error)
}

func (r rewriting) Modify(_ context.Context, c sentinel.Call) (sentinel.Rewrite, error) {
	return r.modify(c)
}

func rewrites(modify func(c sentinel.Call) (sentinel.Rewrite, error)) rewriting {
	return rewriting{says("permission", sentinel.Pass()), modify}
}

// to makes every call's argument "to" the text.
func to(text string) rewriting {
	return rewrites(func(c sentinel.Call) (sentinel.Rewrite, error) {
		if c.Parsed()["to"] == text {
			return sentinel.Rewrite{}, nil
		}
		b, err := json.Marshal(map[string]any{"to": text})
		return sentinel.Rewrite{Args: b, Rules: []string{"fixed"}}, err
	})
}

// What the gates judged is what runs: the rewritten call, under its own id and
// digest, once, with one slot; the agent is told, and the record holds both
// digests and neither value. (Invariants 1, 2 and 7.)
func TestARewrittenCallIsWhatIsJudgedAndWhatRuns(t *testing.T) {
	var judged []string
	b := newBench(t, nil, to("CANARY-new"), gate{"guard", func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		judged = append(judged, c.Args())
		return sentinel.Pass(), nil
	}})
	desk := b.Desk(grant(t))
	res, err := desk.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"CANARY-old","key":"HIDDEN"}`))
	require.NoError(t, err)
	require.Equal(t, []string{`{"to":"CANARY-new"}`}, judged)
	require.Equal(t, []string{`{"to":"CANARY-new"}`}, b.runs())
	require.Equal(t, "The operator's rules changed this call before it was judged (key, to; by fixed). What counts is the changed call.",
		res.Note)
	require.Equal(t, 1, b.lim.reserved)
	require.Equal(t, `{"to":"CANARY-new"}`, desk.Trace().Step(0).Args)

	r := b.rec.records[0]
	require.Equal(t, b.lim.last, r.CallID, "the proposal's id: whoever counted it finds it again")
	require.Equal(t, r.CallID, b.rec.records[1].CallID)
	var body struct {
		Call, Digest string
		Modified     struct {
			Call, Digest string
			Rules, Args  []string
		}
	}
	require.NoError(t, json.Unmarshal(r.Body, &body))
	require.NotEqual(t, r.CallID, body.Call, "the rewritten call has its own id")
	require.Equal(t, r.CallID, body.Modified.Call)
	require.True(t, strings.HasPrefix(body.Modified.Digest, "hmac:"))
	require.NotEqual(t, body.Digest, body.Modified.Digest)
	require.Equal(t, []string{"fixed"}, body.Modified.Rules)
	require.Equal(t, []string{"key", "to"}, body.Modified.Args)
	require.NotContains(t, string(r.Body), "CANARY")
	sealed := map[string]string{}
	for _, v := range r.Values {
		sealed[v.Name] = string(v.Data)
	}
	require.JSONEq(t, `{"to":"CANARY-new"}`, sealed["args"])
	require.JSONEq(t, `{"to":"CANARY-old","key":"[secret]"}`, sealed["proposed"])
}

// The same proposal gives the same rewritten call: a repeat after a crash
// carries the same Idempotency-Key.
func TestTheIdOfARewrittenCallFollowsFromItsParent(t *testing.T) {
	b := newBench(t, nil, to("x"))
	made := func(id, args string) sentinel.Call {
		c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Args: []byte(args), Grant: grant(t), ID: id})
		require.NoError(t, err)
		next, failed := b.Rewrite(t.Context(), c)
		require.Nil(t, failed)
		require.Equal(t, c.Digest(), next.Proposed().Digest())
		return next
	}
	a := made("1", `{"to":"a"}`)
	require.Equal(t, a.ID(), made("1", `{"to":"b"}`).ID(), "the same parent and the same bytes")
	require.NotEqual(t, a.ID(), made("2", `{"to":"a"}`).ID())
	require.Equal(t, "1", made("1", `{"to":"x"}`).ID(), "what isn't changed keeps its id")
	again, _ := b.Rewrite(t.Context(), a)
	require.Equal(t, a.ID(), again.ID(), "nothing is rewritten twice")
}

// A rewrite that fails, has no end or makes no call denies in the permission
// gate's place, whatever that gate says; nothing runs and no value is recorded.
func TestARewriteThatFailsDenies(t *testing.T) {
	for name, tc := range map[string]struct {
		modify func(c sentinel.Call) (sentinel.Rewrite, error)
		code   string
	}{
		"errors": {func(sentinel.Call) (sentinel.Rewrite, error) {
			return sentinel.Rewrite{Args: []byte(`{}`)}, errors.New("CANARY")
		}, sentinel.CodeModifyError},
		"says which rule": {func(sentinel.Call) (sentinel.Rewrite, error) {
			return sentinel.Rewrite{}, &sentinel.ModifyError{Rule: "r1", Args: []string{"to"}, Reason: "to: is no text", Detail: "CANARY"}
		}, sentinel.CodeModifyError},
		"panics": {func(sentinel.Call) (sentinel.Rewrite, error) { panic("CANARY") }, sentinel.CodeModifyError},
		"makes no call": {func(sentinel.Call) (sentinel.Rewrite, error) {
			return sentinel.Rewrite{Args: []byte(`{"to":"CANARY","to":1}`), Rules: []string{"r1"}}, nil
		}, sentinel.CodeModifyError},
		"has no end": {func(c sentinel.Call) (sentinel.Rewrite, error) {
			s, _ := c.Parsed()["to"].(string)
			b, err := json.Marshal(map[string]string{"to": s + "x"})
			return sentinel.Rewrite{Args: b, Rules: []string{"r1"}}, err
		}, sentinel.CodeModifyUnstable},
		"fails on its own result": {func(c sentinel.Call) (sentinel.Rewrite, error) {
			if c.Parsed()["to"] == "CANARY" {
				return sentinel.Rewrite{Args: []byte(`{"to":"b"}`), Rules: []string{"r1"}}, nil
			}
			return sentinel.Rewrite{}, errors.New("no")
		}, sentinel.CodeModifyError},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, rewrites(tc.modify))
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"CANARY"}`))
			r := refusalOf(t, err)
			require.Equal(t, skills.KindDeny, r.Kind)
			require.Equal(t, "permission", r.Gate)
			require.Equal(t, tc.code, r.Code)
			require.NotEmpty(t, r.WhatYouCanDo)
			require.Empty(t, b.runs())
			require.Equal(t, []string{"decision"}, b.rec.kinds())
			require.NotContains(t, string(b.rec.records[0].Body), "CANARY")
			require.Contains(t, string(b.rec.records[0].Body), `"signal":"rule`)
		})
	}
}

// A rewrite gives no permission: the rewritten call passes every gate, and a
// refusal tells the agent that it was changed.
func TestARewrittenCallCanStillBeRefused(t *testing.T) {
	b := newBench(t, nil, to("bad"), gate{"guard", func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		if c.Parsed()["to"] == "bad" {
			return outcome(sentinel.Deny, "guard.no"), nil
		}
		return sentinel.Pass(), nil
	}})
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"good"}`))
	r := refusalOf(t, err)
	require.Equal(t, "guard.no", r.Code)
	require.Contains(t, r.Reason, "changed this call before it was judged (to; by fixed)")
	require.Equal(t, 1, b.lim.released)

	c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Args: []byte(`{"to":"good"}`), Grant: grant(t)})
	require.NoError(t, err)
	d, err := b.Decide(t.Context(), c)
	require.NoError(t, err)
	require.NotEqual(t, c.Digest(), d.Digest, "the digest is of what was judged")
	line, err := json.Marshal(d.Line("1"))
	require.NoError(t, err)
	require.Contains(t, string(line), `"modified":{"digest":"`+c.Digest()+`","rules":["fixed"],"args":["to"]}`)
}

// A person is asked about the rewritten call, and approving it runs that and
// nothing else.
func TestAnApproverSeesTheRewrittenCall(t *testing.T) {
	var seen sentinel.Call
	b := newBench(t, func(o *sentinel.Options, _ *bench) {
		o.Approver = approver(func(_ context.Context, c sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
			seen = c
			return sentinel.Pass(), nil
		})
	}, to("x"), says("judge", outcome(sentinel.Ask, "judge.ask")))
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a"}`))
	require.NoError(t, err)
	require.Equal(t, `{"to":"x"}`, seen.Args())
	m, ok := seen.Modified()
	require.True(t, ok)
	require.Equal(t, []string{"to"}, m.Args)
	require.Equal(t, []string{`{"to":"x"}`}, b.runs())
	require.Equal(t, []string{"held", "decision", "outcome"}, b.rec.kinds())
}

// Rewriting never makes more of a call than proposing the result would.
func TestRewritingNeverRaises(t *testing.T) {
	all := []sentinel.Outcome{sentinel.Deny, sentinel.Defer, sentinel.Ask, sentinel.Allow}
	rapid.Check(t, func(rt *rapid.T) {
		table := map[string]sentinel.Outcome{}
		for _, s := range []string{"a", "b", "c"} {
			table[s] = rapid.SampledFrom(all).Draw(rt, "outcome of "+s)
		}
		next := map[string]string{}
		for _, s := range []string{"a", "b", "c"} {
			next[s] = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, s+" becomes")
		}
		guard := gate{"guard", func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
			s, _ := c.Parsed()["to"].(string)
			return outcome(table[s], "guard.x"), nil
		}}
		with := newBench(t, nil, guard, rewrites(func(c sentinel.Call) (sentinel.Rewrite, error) {
			s, _ := c.Parsed()["to"].(string)
			if next[s] == s {
				return sentinel.Rewrite{}, nil
			}
			return sentinel.Rewrite{Args: []byte(`{"to":"` + next[s] + `"}`), Rules: []string{"r"}}, nil
		}))
		without := newBench(t, nil, guard)
		decide := func(b *bench, to string) sentinel.Decision {
			c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Args: []byte(`{"to":"` + to + `"}`), Grant: grant(t)})
			require.NoError(t, err)
			d, err := b.Decide(context.Background(), c)
			require.NoError(t, err)
			return d
		}
		got := decide(with, "a")
		require.LessOrEqual(t, got.Outcome, decide(without, next["a"]).Outcome)
		if next[next["a"]] != next["a"] {
			require.Equal(t, sentinel.CodeModifyUnstable, got.Code)
			require.Equal(t, sentinel.Deny, got.Outcome)
		}
	})
}
