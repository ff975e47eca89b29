package sentinel_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// policyOf reads the policy's digest from a record's body.
func policyOf(t *testing.T, r sentinel.Record) string {
	t.Helper()
	var b struct {
		Policy string `json:"policy"`
	}
	require.NoError(t, json.Unmarshal(r.Body, &b))
	return b.Policy
}

// ofDigest puts the bench's first policy under a name.
func ofDigest(digest string) func(*sentinel.Options, *bench) {
	return func(o *sentinel.Options, _ *bench) { o.PolicyDigest = digest }
}

var denied = says("permission", outcome(sentinel.Deny, "permission.denied"))

// The next call is judged by the policy that is in force, and its record has that one's digest.
func TestSetPolicyCountsForTheNextDecision(t *testing.T) {
	b := newBench(t, ofDigest("one"))
	d := b.Desk(grant(t))
	_, err := d.Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err)
	require.NoError(t, b.SetPolicy(sentinel.Policy{Gates: passing(denied), Digest: "two"}))
	require.Equal(t, "two", b.PolicyDigest())
	_, err = d.Invoke(t.Context(), "test.do", nil)
	require.Equal(t, "permission.denied", refusalOf(t, err).Code)
	require.Equal(t, []string{"decision", "outcome", "decision"}, b.rec.kinds())
	require.Equal(t, "one", policyOf(t, b.rec.records[0]))
	require.Equal(t, "two", policyOf(t, b.rec.records[2]))
	require.Len(t, b.runs(), 1)
}

// A policy that lacks a gate is refused, and the one before stays.
func TestSetPolicyRefusesWhatNewRefuses(t *testing.T) {
	b := newBench(t, ofDigest("one"))
	for _, gates := range [][]sentinel.Gate{
		nil, passing()[1:], append(passing(), says("guard", sentinel.Pass())), append(passing(), says("limits", sentinel.Pass())),
		passing(sentinel.Skip("guard", "off")),
	} {
		require.Error(t, b.SetPolicy(sentinel.Policy{Gates: gates, Digest: "two"}))
	}
	require.Equal(t, "one", b.PolicyDigest())
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err)
	require.Empty(t, (&sentinel.Checkpoint{}).PolicyDigest())
}

// A call that was judged by the policy before keeps its verdicts and digest on record. What the rules
// in force don't allow when it is about to start doesn't start: the outcome says that it was withdrawn.
func TestRulesAreAskedAgainBeforeTheStart(t *testing.T) {
	for name, when := range map[string]func(swap func()) func(*sentinel.Options, *bench){
		"while its decision is written": func(swap func()) func(*sentinel.Options, *bench) {
			return func(_ *sentinel.Options, b *bench) {
				b.rec.onWrite = func(r sentinel.Record) {
					if r.Kind == sentinel.RecordDecision {
						swap()
					}
				}
			}
		},
		"while it waits for its skill": func(swap func()) func(*sentinel.Options, *bench) {
			return func(o *sentinel.Options, _ *bench) {
				o.Queues = map[string]sentinel.Queue{"test.do": queue(func(context.Context, sentinel.Call) (func(), error) {
					swap()
					return func() {}, nil
				})}
			}
		},
	} {
		for next, tc := range map[string]struct {
			gate sentinel.Gate
			code string
		}{
			"denies": {denied, "permission.denied"}, "asks": {askingJudge(), "judge.ask"}, "allows": {says("judge", sentinel.Pass()), ""},
		} {
			t.Run(name+", and it "+next, func(t *testing.T) {
				var b *bench
				swap := func() {
					require.NoError(t, b.SetPolicy(sentinel.Policy{Gates: passing(tc.gate), Digest: "two"}))
				}
				b = newBench(t, func(o *sentinel.Options, b *bench) { o.PolicyDigest = "one"; when(swap)(o, b) })
				_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
				require.Equal(t, []string{"decision", "outcome"}, b.rec.kinds())
				require.Equal(t, "one", policyOf(t, b.rec.records[0]))
				require.Equal(t, "allow", b.rec.records[0].Outcome)
				if tc.code == "" {
					require.NoError(t, err)
					require.Len(t, b.runs(), 1)
					return
				}
				require.Equal(t, tc.code, refusalOf(t, err).Code)
				require.Empty(t, b.runs())
				require.Equal(t, sentinel.StatusFailed, b.rec.records[1].Outcome)
				require.Equal(t, sentinel.CodeWithdrawn, b.rec.records[1].Code)
				require.Equal(t, 1, b.lim.released)
				require.Empty(t, b.lim.reported)
			})
		}
	}
}

// A person says yes to a held call after the policy was exchanged: the new rules are asked, and the
// decision has the new digest. The question that was put before has the old one.
func TestHeldCallMeetsTheNewPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		gates []sentinel.Gate
		code  string
	}{
		"it denies":                 {passing(askingJudge(), denied), "permission.denied"},
		"it asks for the same":      {passing(askingJudge()), ""},
		"it asks for another cause": {passing(says("permission", outcome(sentinel.Ask, "permission.ask"))), sentinel.CodeApprovalSuperseded},
		"it asks no more":           {passing(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var b *bench
			b = newBench(t, func(o *sentinel.Options, _ *bench) {
				o.PolicyDigest = "one"
				o.Approver = approver(func(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
					require.NoError(t, b.SetPolicy(sentinel.Policy{Gates: tc.gates, Digest: "two"}))
					return yesFrom("ann", "test"), nil
				})
			}, askingJudge())
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
			require.Equal(t, "held", b.rec.records[0].Kind)
			require.Equal(t, "one", policyOf(t, b.rec.records[0]))
			require.Equal(t, "decision", b.rec.records[1].Kind)
			require.Equal(t, "two", policyOf(t, b.rec.records[1]))
			if tc.code == "" {
				require.NoError(t, err)
				require.Len(t, b.runs(), 1)
				return
			}
			require.Equal(t, tc.code, refusalOf(t, err).Code)
			require.Empty(t, b.runs())
		})
	}
}

// standing is an approver with an answer given beforehand.
type standing struct{ approver }

func (standing) LookUpAnswer(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, bool, error) {
	v := yesFrom("ann", "standing")
	v.Meta["standing"] = "s1"
	return v, true, nil
}

// An answer that was given beforehand holds under the policy of that time: where another came in force
// before the start, the call is refused, though the new rules ask for the same.
func TestAnswerBeforehandEndsWithItsPolicy(t *testing.T) {
	var b *bench
	b = newBench(t, func(o *sentinel.Options, b2 *bench) {
		o.PolicyDigest, o.Approver = "one", standing{}
		b2.rec.onWrite = func(r sentinel.Record) {
			if r.Kind == sentinel.RecordDecision {
				require.NoError(t, b.SetPolicy(sentinel.Policy{Gates: passing(askingJudge()), Digest: "two"}))
			}
		}
	}, askingJudge())
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.Equal(t, "judge.ask", refusalOf(t, err).Code)
	require.Empty(t, b.runs())
	require.Equal(t, sentinel.CodeWithdrawn, b.rec.records[1].Code)
}

// How many may wait and how long is of the policy in force when the question is put.
func TestQuestionsAreBoundByThePolicyInForce(t *testing.T) {
	var b *bench
	var expires time.Duration
	b = newBench(t, func(o *sentinel.Options, _ *bench) {
		o.AskTimeout, o.Pending = time.Hour, sentinel.PendingLimits{User: 5}
		o.Approver = approver(func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
			expires = d.Expires.Sub(d.Asked)
			return yesFrom("ann", "test"), nil
		})
	}, askingJudge())
	require.NoError(t, b.SetPolicy(sentinel.Policy{Gates: passing(askingJudge()), AskTimeout: time.Minute}))
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
	require.NoError(t, err)
	require.Equal(t, time.Minute, expires)
}

// Calls and reloads at the same time: each decision on record has the verdicts that go with its digest,
// and nothing starts that was judged by rules that deny.
func TestSetPolicyRacesWithCalls(t *testing.T) {
	b := newBench(t, ofDigest("open"))
	var shut atomic.Bool // the last policy that was set denies, for good
	b.run = func() (skills.Result, error) { return skills.Result{Content: "done"}, nil }
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				late := shut.Load()
				_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
				if late && err == nil {
					t.Error("a call ran that began after the policy denied")
				}
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			_ = b.SetPolicy(sentinel.Policy{Gates: passing(denied), Digest: "shut"})
			_ = b.SetPolicy(sentinel.Policy{Gates: passing(), Digest: "open"})
		}
		_ = b.SetPolicy(sentinel.Policy{Gates: passing(denied), Digest: "shut"})
		shut.Store(true)
	})
	wg.Wait()
	require.Equal(t, "shut", b.PolicyDigest())
	for _, r := range b.rec.records {
		if r.Kind == sentinel.RecordDecision {
			require.Equal(t, map[string]string{"open": "allow", "shut": "deny"}[policyOf(t, r)], r.Outcome)
		}
	}
}
