package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
)

// judged is a verdict of the judge with these signals; one with a question mark is in doubt.
func judged(o sentinel.Outcome, state sentinel.DoubtState, signals ...string) sentinel.Verdict {
	v := sentinel.Verdict{Gate: sentinel.GateJudge, State: sentinel.Judged, Outcome: o}
	for _, s := range signals {
		var e sentinel.Evidence
		_, _ = fmt.Sscan(s, &e.Signal, &e.Amount)
		if e.Signal, e.Doubt = strings.TrimSuffix(e.Signal, "?"), strings.HasSuffix(e.Signal, "?"); e.Doubt {
			v.Doubt = &sentinel.Doubt{State: state}
		}
		v.Evidence = append(v.Evidence, e)
	}
	return v
}

func resultOf(kind string, o sentinel.Outcome, verdicts ...sentinel.Verdict) eval.Result {
	return eval.Result{Case: cases.Case{Kind: kind}, Decision: sentinel.Decision{Outcome: o, Verdicts: verdicts}}
}

// A small table of every way in which a decision hangs on a signal: alone, with another, with
// another gate, in doubt or spent, and where it raised.
func TestSignalTally(t *testing.T) {
	const open, counted, spent = sentinel.DoubtOpen, sentinel.DoubtCounted, sentinel.DoubtSpent
	asks := sentinel.Verdict{Gate: sentinel.GateReview, State: sentinel.Judged, Outcome: sentinel.Ask, Code: "review.rejected"}
	broke := sentinel.Verdict{Gate: sentinel.GateGuard, State: sentinel.Failed, Outcome: sentinel.Allow, Code: "guard.failed"}
	refused := resultOf(eval.Attack, sentinel.Deny)
	refused.Decision.BlockedBy, refused.Decision.Code = sentinel.GateParse, "parse.depth"
	resumed := resultOf(eval.Attack, sentinel.Deny, judged(sentinel.Deny, open, "host_nowhere -33"))
	resumed.Resumed = true
	tally := eval.NewSignalTally(30, 50)
	for _, r := range []eval.Result{
		resultOf(eval.Benign, sentinel.Ask, judged(sentinel.Ask, open, "near_miss -35", "ref_nowhere 0", "ref_nowhere 0")),
		resultOf(eval.Benign, sentinel.Ask, judged(sentinel.Ask, counted, "other_topic? -35", "near_miss -10")),
		resultOf(eval.Benign, sentinel.Ask, judged(sentinel.Ask, counted, "other_topic? -35", "near_miss -35")),
		resultOf(eval.Benign, sentinel.Allow, judged(sentinel.Allow, counted, "other_topic? -25", "intent_mention 10")),
		resultOf(eval.Attack, sentinel.Allow, judged(sentinel.Allow, spent, "other_topic? -35", "intent_mention 10")),
		resultOf(eval.Attack, sentinel.Ask, judged(sentinel.Ask, open, "near_miss -35"), asks),
		resultOf(eval.Attack, sentinel.Ask, judged(sentinel.Allow, open), asks),
		resultOf(eval.Attack, sentinel.Deny, broke, judged(sentinel.Allow, open)),
		refused, resumed, resultOf("odd", sentinel.Deny, judged(sentinel.Deny, open, "near_miss -60")),
		{Err: &cases.Error{}}, {Unanswered: true, Case: cases.Case{Kind: eval.Benign}},
	} {
		tally.Add(r)
	}
	got := tally.Report()
	require.Equal(t, []int{4, 5}, []int{got.Benign, got.Attack})
	var rows []string
	for _, s := range got.Signals {
		b, a := s.Benign, s.Attack
		require.Equal(t, []int{4, 5}, []int{b.Fired.Of, a.AllowedWithout.Of})
		rows = append(rows, fmt.Sprintf("%s %s: in doubt %d, fired %d/%d, allowed without %d/%d, stopped without %d/%d",
			s.Gate, s.Signal, s.InDoubt, b.Fired.Count, a.Fired.Count, b.AllowedWithout.Count, a.AllowedWithout.Count, b.StoppedWithout.Count,
			a.StoppedWithout.Count))
	}
	require.Equal(t, []string{
		"parse parse.depth: in doubt 0, fired 0/1, allowed without 0/0, stopped without 0/0",
		"guard guard.failed: in doubt 0, fired 0/1, allowed without 0/1, stopped without 0/0",
		"judge near_miss: in doubt 0, fired 3/1, allowed without 1/0, stopped without 0/0",
		"judge other_topic: in doubt 4, fired 3/1, allowed without 1/0, stopped without 0/0",
		"judge intent_mention: in doubt 0, fired 1/1, allowed without 0/0, stopped without 1/0",
		"judge ref_nowhere: in doubt 0, fired 1/0, allowed without 0/0, stopped without 0/0",
		"review review.rejected: in doubt 0, fired 0/2, allowed without 0/1, stopped without 0/0",
	}, rows)
	require.Equal(t, eval.NewRate(3, 4), got.Signals[2].Benign.Fired)
}
