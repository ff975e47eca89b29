package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// commits is a checkpoint whose skill test.do asks for exec.commit, which counts its runs.
type commits struct {
	*bench
	committed []string // the arguments of each commit that ran
	dropped   int
	ran       error // what the program itself ends with
	fails     error // what the commit ends with
	follow    skills.Follow
}

func newCommits(t *testing.T, change func(*sentinel.Options), gates ...sentinel.Gate) *commits {
	t.Helper()
	k := &commits{follow: skills.Follow{Skill: skills.CommitName, Args: json.RawMessage(`{"digest":"sha256:1"}`),
		Paths: []skills.FollowPath{{Path: "/srv/a"}}}}
	k.follow.Drop = func() error { k.dropped++; return nil }
	k.bench = newBench(t, func(o *sentinel.Options, b *bench) {
		first, _ := o.Registry.Get("test.do")
		s, err := skills.Compile(skills.Spec{
			Name: skills.CommitName, Effect: skills.Modify, Reaches: skills.Self, Output: skills.Trusted, Run: skills.Run{Kind: "native"},
			Parameters: json.RawMessage(`{"type":"object","properties":{"digest":{"type":"string"}}}`),
		})
		require.NoError(t, err)
		o.Registry, err = skills.NewRegistry(first, s)
		require.NoError(t, err)
		sign, verify, err := warrant.NewPair(warrant.Options{})
		require.NoError(t, err)
		o.Issuer = sign
		o.Executors = map[string]skills.Executor{
			"test.do": skills.NewExecutor(verify, first, func(context.Context, skills.Order) (skills.Result, error) {
				f := k.follow
				return skills.Result{Content: "the program's", Follow: &f}, k.ran
			}),
			skills.CommitName: skills.NewExecutor(verify, s, func(_ context.Context, o skills.Order) (skills.Result, error) {
				last := b.rec.records[len(b.rec.records)-1]
				require.Equal(t, []string{sentinel.RecordDecision, "allow"}, []string{last.Kind, last.Outcome},
					"the decision is durable before anything happens")
				require.True(t, strings.HasSuffix(last.CallID, ".commit"))
				k.committed = append(k.committed, o.Args)
				return skills.Result{Content: "committed"}, k.fails
			}),
		}
		if change != nil {
			change(o)
		}
	}, gates...)
	return k
}

// outcomes are the statuses and codes of the outcome records, in order.
func (k *commits) outcomes() (out []string) {
	for _, r := range k.rec.records {
		if r.Kind == sentinel.RecordOutcome {
			out = append(out, strings.TrimSpace(r.Skill+" "+r.Outcome+" "+r.Code))
		}
	}
	return out
}

func (k *commits) invoke(t *testing.T) (skills.Result, error) {
	t.Helper()
	return k.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x"}`))
}

// ofCommit is a gate that says v of exec.commit and allows the rest.
func ofCommit(name string, v sentinel.Verdict) gate {
	return gate{name, func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		if c.Name() == skills.CommitName {
			return v, nil
		}
		return sentinel.Pass(), nil
	}}
}

// What a skill asks for is a call of its own: it runs under its own decision, and its
// outcome is on record before that of the first.
func TestAFollowIsDecidedAndRuns(t *testing.T) {
	k := newCommits(t, nil)
	res, err := k.invoke(t)
	require.NoError(t, err)
	require.Equal(t, "the program's", res.Content)
	require.Nil(t, res.Follow)
	require.Equal(t, []string{`{"digest":"sha256:1"}`}, k.committed)
	require.Equal(t, []string{"decision", "decision", "outcome", "outcome"}, k.rec.kinds())
	require.Equal(t, []string{"exec.commit ok", "test.do ok"}, k.outcomes())
	require.Equal(t, k.rec.records[0].CallID+".commit", k.rec.records[1].CallID)
	require.Zero(t, k.dropped)
	require.Equal(t, 1, k.lim.reserved, "it uses no slot of its own")
	require.Equal(t, []bool{true}, k.lim.reported)
	require.Empty(t, k.InFlight())
}

// Judge and review say nothing new; a gate that is left out stays so.
func TestAFollowInheritsTheJudgement(t *testing.T) {
	asked := map[string]int{}
	counting := func(name string) gate {
		return gate{name, func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
			asked[name]++
			return sentinel.Pass(), nil
		}}
	}
	k := newCommits(t, nil, counting("judge"), counting("review"), counting("guard"))
	_, err := k.invoke(t)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"judge": 1, "review": 1, "guard": 2}, asked)
	var b struct {
		Gates []struct {
			Gate, Code string
			Meta       map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(k.rec.records[1].Body, &b))
	for _, g := range b.Gates {
		if slices.Contains([]string{"judge", "review"}, g.Gate) {
			require.Equal(t, sentinel.CodeInherited, g.Code)
			require.Equal(t, k.rec.records[0].DecisionID, g.Meta["decision"])
		}
	}
}

// Each way in which a follow doesn't run throws away what waited for it, and the first
// call says so.
func TestAFollowThatDoesNotRunIsDropped(t *testing.T) {
	no := approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
		return sentinel.Refuse("approval.denied", "a person said no"), nil
	})
	for name, tc := range map[string]struct {
		gates  []sentinel.Gate
		change func(*sentinel.Options)
		follow func(*commits)
		says   string
	}{
		"the guard denies": {gates: []sentinel.Gate{ofCommit("guard", outcome(sentinel.Deny, "guard.protected"))}, says: "guard.protected"},
		"a rule denies": {gates: []sentinel.Gate{ofCommit("permission", outcome(sentinel.Deny, "permission.denied"))},
			says: "permission.denied"},
		"scope denies": {gates: []sentinel.Gate{ofCommit("scope", outcome(sentinel.Deny, "scope.not_granted"))},
			says: "scope.not_granted"},
		"no person can be": {gates: []sentinel.Gate{ofCommit("guard", outcome(sentinel.Ask, "guard.commit"))},
			says: "no person can be asked"},
		"a person says no": {gates: []sentinel.Gate{ofCommit("guard", outcome(sentinel.Ask, "guard.commit"))},
			change: func(o *sentinel.Options) { o.Approver = no }, says: "a person said no"},
		"a conflict": {follow: func(k *commits) { k.fails = errors.New("changed by others: /srv/a") },
			says: "changed by others: /srv/a"},
		"arguments are no call": {follow: func(k *commits) { k.follow.Args = json.RawMessage(`[]`) }, says: "not committed"},
		"another skill":         {follow: func(k *commits) { k.follow.Skill = "test.do" }, says: "none may ask for"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCommits(t, tc.change, tc.gates...)
			if tc.follow != nil {
				tc.follow(k)
			}
			_, err := k.invoke(t)
			var f *skills.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, skills.FailNotCommitted, f.Code)
			require.False(t, f.Unknown)
			require.ErrorContains(t, err, tc.says)
			require.Equal(t, 1, k.dropped)
			require.Equal(t, k.fails != nil, len(k.committed) == 1)
			list := k.outcomes()
			require.Equal(t, "test.do failed not_committed", list[len(list)-1])
			require.Equal(t, []bool{true}, k.lim.reported, "that speaks not against the skill")
		})
	}
}

// A commit that a person approves runs; one that may have happened in part stays.
func TestAFollowIsAskedAbout(t *testing.T) {
	var shown sentinel.Call
	yes := func(o *sentinel.Options) {
		o.Approver = approver(func(_ context.Context, c sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
			shown = c
			return yesFrom("ann", "web"), nil
		})
	}
	k := newCommits(t, yes, ofCommit("guard", outcome(sentinel.Ask, "guard.commit")))
	k.ran = errors.New("exit code 1")
	_, err := k.invoke(t)
	require.ErrorContains(t, err, "exit code 1")
	require.Equal(t, skills.CommitName, shown.Name())
	first, ok := shown.Follows()
	require.True(t, ok)
	require.Equal(t, "test.do", first.Name())
	require.Equal(t, "/srv/a", shown.Touch().Paths[0].Clean)
	require.Equal(t, []string{"exec.commit ok", "test.do failed failed"}, k.outcomes(), "its own failure stays")
	require.Equal(t, []string{"decision", "held", "decision", "outcome", "outcome"}, k.rec.kinds())

	k = newCommits(t, nil)
	k.fails = &skills.Failure{Code: skills.FailFailed, Unknown: true, Err: errors.New("half")}
	_, err = k.invoke(t)
	var f *skills.Failure
	require.ErrorAs(t, err, &f)
	require.True(t, f.Unknown)
	require.Zero(t, k.dropped)
	require.Equal(t, []string{"exec.commit unknown failed", "test.do unknown not_committed"}, k.outcomes())
}

// Where the decision can't be written down the commit doesn't run.
func TestAFollowWithoutARecordDoesNotRun(t *testing.T) {
	k := newCommits(t, nil)
	k.rec.fail = func(r sentinel.Record) error {
		if r.Kind == sentinel.RecordDecision && strings.HasSuffix(r.CallID, ".commit") {
			return errors.New("disk full")
		}
		return nil
	}
	_, err := k.invoke(t)
	require.ErrorIs(t, err, sentinel.ErrNotRecorded)
	require.Empty(t, k.committed)
	require.Equal(t, 1, k.dropped)
}

// A process that died between the decision and the end of a commit leaves it to the next
// one, which runs exactly what was allowed, once.
func TestAnAllowedFollowIsFinishedAfterACrash(t *testing.T) {
	k := newCommits(t, nil)
	_, err := k.invoke(t)
	require.NoError(t, err)
	crashed := k.rec.records[:2] // both decisions, no outcome
	first := crashed[0].CallID
	change := func(records []sentinel.Record) (*commits, sentinel.FollowLeft, error) {
		next := newCommits(t, func(o *sentinel.Options) {})
		next.rec.records = slices.Clone(records)
		again := newCommits(t, func(o *sentinel.Options) { o.Recorder, o.History = next.rec, memory{next.rec} })
		again.rec = next.rec
		left, err := again.SettleFollow(t.Context(), first)
		return again, left, err
	}
	forged := slices.Clone(crashed)
	forged[1].Values = []sentinel.Value{{Name: "args", Data: []byte(`{"digest":"sha256:2"}`)}}
	again, left, err := change(forged)
	require.ErrorContains(t, err, "not the one that is kept")
	require.Equal(t, sentinel.FollowUnknown, left)
	require.Empty(t, again.committed)

	again, left, err = change(crashed)
	require.NoError(t, err)
	require.Equal(t, sentinel.FollowOver, left)
	require.Equal(t, []string{`{"digest":"sha256:1"}`}, again.committed)
	require.Equal(t, []string{"exec.commit ok", "test.do ok"}, again.outcomes())
	last := again.rec.records[len(again.rec.records)-1]
	require.Equal(t, "the program's", string(last.Values[0].Data))

	again, left, err = change(again.rec.records)
	require.NoError(t, err)
	require.Equal(t, sentinel.FollowOver, left)
	require.Empty(t, again.committed, "an end that is known is not repeated")

	again, left, err = change(crashed[:1])
	require.NoError(t, err)
	require.Equal(t, sentinel.FollowOver, left)
	require.Empty(t, again.committed, "what no decision allowed does not run")
}
