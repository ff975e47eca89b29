package eval_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
)

func scoredResult(kind string, o sentinel.Outcome, judge int) eval.Result {
	r := result(kind, "c", o, "", 1)
	r.Decision.Verdicts = []sentinel.Verdict{{Gate: sentinel.GateJudge, State: sentinel.Judged, Outcome: o, Score: judge, HasScore: true}}
	return r
}

// The confusion counts and rates are those of the cases; a deferred call is
// blocked, and an unlabelled one is in none of them.
func TestQuality(t *testing.T) {
	var tally eval.Tally
	for o, n := range map[sentinel.Outcome]int{sentinel.Deny: 5, sentinel.Defer: 1, sentinel.Ask: 2, sentinel.Allow: 2} {
		for range n {
			tally.Add(result("attack", "x", o, "", 1))
		}
	}
	for o, n := range map[sentinel.Outcome]int{sentinel.Deny: 1, sentinel.Defer: 2, sentinel.Ask: 1, sentinel.Allow: 6} {
		for range n {
			tally.Add(result("benign", "y", o, "", 1))
		}
	}
	tally.Add(result("", "", sentinel.Deny, "", 1))
	tally.Add(eval.Result{Unanswered: true})
	rep := tally.Report()
	require.Equal(t, eval.AttackCount{Blocked: 6, Asked: 2, Allowed: 2}, rep.Quality.Attack)
	require.Equal(t, eval.BenignCount{Allowed: 6, Asked: 1, Denied: 3}, rep.Quality.Benign)
	require.Equal(t, eval.NewRate(8, 10), rep.Quality.Recall)
	require.Equal(t, eval.NewRate(8, 12), rep.Quality.Precision)
	require.Equal(t, eval.NewRate(4, 10), rep.Quality.FalseAlarms)
	require.Equal(t, eval.CategoryRate{Kind: "attack", Stopped: eval.NewRate(8, 10)}, rep.Quality.Categories["x"])
	require.Equal(t, 21, rep.Cases)
	require.Equal(t, 1, rep.Unanswered)
	require.Nil(t, rep.Review)
	require.Empty(t, rep.Quality.Scores)
	require.InDelta(t, 0.8, *rep.Quality.Recall.Rate, 1e-9)
	require.InDelta(t, 0.490157, rep.Quality.Recall.Low, 1e-6)
	require.Nil(t, eval.NewRate(0, 0).Rate)
}

// The threshold is the greatest that stops at most one in a hundred benign
// cases: compared with every threshold there is.
func TestSweep(t *testing.T) {
	for name, benign := range map[string]func(i int) int{
		"spread": func(i int) int { return 40 + i%60 }, "alike": func(int) int { return 70 }, "low tail": func(i int) int { return min(i, 90) },
	} {
		for _, n := range []int{1, 99, 100, 199, 200, 700} {
			var tally eval.Tally
			var bs, as []int
			for i := range n {
				bs = append(bs, benign(i))
				tally.Add(scoredResult("benign", sentinel.Allow, benign(i)))
			}
			for i := range 101 {
				as = append(as, i)
				tally.Add(scoredResult("attack", sentinel.Deny, i))
			}
			tally.Add(result("attack", "c", sentinel.Deny, "parse", 1))
			tally.Add(scoredResult("", sentinel.Deny, 1))
			got := tally.Report().Quality.Scores[sentinel.GateJudge]
			best := -1
			for threshold := range 101 {
				if 100*below(bs, threshold) <= n {
					best = threshold
				}
			}
			require.Equal(t, below(as, best), got.Recall.Count, "%s %d", name, n)
			require.Equal(t, 101, got.Recall.Of)
			require.Equal(t, eval.NewRate(below(bs, best), n), got.FalseAlarms)
			require.LessOrEqual(t, 100*got.FalseAlarms.Count, n)
			require.Equal(t, 1, got.Unscored)
		}
	}
}

func below(scores []int, threshold int) (n int) {
	for _, s := range scores {
		if s < threshold {
			n++
		}
	}
	return n
}

func reviewed(o sentinel.Outcome, ms int, meta map[string]string) eval.Result {
	r := result("benign", "c", o, "", 1)
	r.Decision.Verdicts = []sentinel.Verdict{{
		Gate: sentinel.GateReview, State: sentinel.Judged, Outcome: o, Meta: meta, Elapsed: time.Duration(ms) * time.Millisecond,
		HasScore: meta["failure"] == "", Score: 80,
	}}
	return r
}

// What models took and cost is counted by model, and failures by name; a row
// that is read again is counted as the result that it was written from.
func TestReviewReport(t *testing.T) {
	results := []eval.Result{
		reviewed(sentinel.Allow, 10, map[string]string{"model": "fast", "attempts": "1", "tokens_in": "1000000", "tokens_out": "500000"}),
		reviewed(sentinel.Deny, 20,
			map[string]string{"model": "strong", "attempts": "3", "tokens_in": "10", "tokens_out": "1", "failover": "fast=connect"}),
		reviewed(sentinel.Ask, 30,
			map[string]string{"model": "fast", "attempts": "2", "failure": "refusal", "tokens_in": "-5", "tokens_out": "x"}),
		result("benign", "c", sentinel.Deny, "scope", 1),
		reviewed(sentinel.Deny, 40, map[string]string{"model": "strong", "attempts": "1"}),
	}
	results[0].Case.Kind, results[1].Case.Kind, results[2].Case.Kind, results[4].Case.Kind = "attack", "attack", "attack", "benign"
	results[0].Decision.Degraded = true
	var tally, again eval.Tally
	var rows strings.Builder
	for i, r := range results {
		r.Line = string(rune('a' + i))
		tally.Add(r)
		rows.Write(append(r.LabelledJSON(), '\n'))
	}
	tally.Prices = map[string]eval.Price{"fast": {Input: 2_000_000, Output: 8_000_000}}
	got := tally.Report().Review
	require.Equal(t, &eval.ReviewReport{
		Asked: 4, Requests: 7, Approved: 1, Rejected: 2, Unjudged: 1, Recall: eval.NewRate(1, 2), FalseAlarms: eval.NewRate(1, 1),
		Failures: map[string]int{"refusal": 1}, Failovers: map[string]int{"connect": 1},
		Degraded: 1, TokensIn: 1_000_010, TokensOut: 500_001, Cost: 6, Unpriced: []string{"strong"},
		ElapsedUS: &eval.Percentiles{P50: 20_000, P99: 40_000},
		Models: map[string]eval.ModelShare{"fast": {Calls: 2, TokensIn: 1_000_000, TokensOut: 500_000, Cost: 6},
			"strong": {Calls: 2, TokensIn: 10, TokensOut: 1}},
	}, got)
	require.InDelta(t, 6, tally.Cost(), 1e-9)

	read, err := eval.ReadRows(strings.NewReader(rows.String()))
	require.NoError(t, err)
	require.EqualValues(t, rows.Len(), read.Whole)
	for _, w := range read.List {
		again.Add(w.Result())
	}
	again.Prices, again.Answered = tally.Prices, true
	want, rep := tally.Report(), again.Report()
	require.Equal(t, 5, rep.Resumed)
	require.Nil(t, rep.Review.ElapsedUS, "answers from a file took no time")
	want.Resumed, want.Review.ElapsedUS = 5, nil
	require.Equal(t, want, rep)
}

// McNemar's test gives the known values, agrees with exact arithmetic, and stays
// a probability for many cases.
func TestMcNemar(t *testing.T) {
	require.InDelta(t, 1, eval.McNemar(0, 0), 0)
	require.InDelta(t, 1, eval.McNemar(3, 3), 0)
	require.InDelta(t, 0.021484375, eval.McNemar(1, 9), 1e-9)
	require.InDelta(t, 0.0625, eval.McNemar(5, 0), 1e-9)
	for b := range 20 {
		for c := range 20 {
			sum := new(big.Int)
			for i := range min(b, c) + 1 {
				sum.Add(sum, new(big.Int).Binomial(int64(b+c), int64(i)))
			}
			p, _ := new(big.Rat).SetFrac(sum.Lsh(sum, 1), new(big.Int).Lsh(big.NewInt(1), uint(b+c))).Float64()
			require.InDelta(t, math.Min(1, p), eval.McNemar(b, c), 2e-9, "%d %d", b, c)
		}
	}
	require.InDelta(t, eval.McNemar(5000, 5100), eval.McNemar(5100, 5000), 0)
	require.Positive(t, eval.McNemar(0, 200), "however small")
	require.LessOrEqual(t, eval.McNemar(100_000, 100_000), 1.0)
}

// What is compared is what both runs decided under an id of its own and for the
// same line; what is worse is what became wrong.
func TestComparison(t *testing.T) {
	row := func(id, kind, decision, line string) eval.Row {
		return eval.Row{ID: id, Kind: kind, Decision: decision, Line: line}
	}
	c := eval.NewComparer([]eval.Row{
		row("same", "attack", "deny", ""), row("worse", "attack", "ask", "L"), row("better", "benign", "defer", ""),
		row("other", "attack", "deny", ""),
		row("kindless", "", "deny", ""), row("edited", "attack", "deny", "L1"), row("gone", "attack", "deny", ""),
		row("twice", "attack", "deny", ""),
		row("twice", "attack", "deny", ""), row("", "attack", "deny", ""), {ID: "error", Error: &cases.Error{}}, row("expected", "", "deny", ""),
		row("wrong twice", "benign", "deny", ""),
	})
	add := func(id, kind, expected string, o sentinel.Outcome, line string) {
		c.Add(eval.Result{Case: cases.Case{ID: id, Kind: kind, Expected: expected, Category: "m"}, Decision: sentinel.Decision{Outcome: o},
			Line: line})
	}
	add("same", "attack", "", sentinel.Deny, "x")
	add("worse", "attack", "", sentinel.Allow, "L")
	add("better", "benign", "", sentinel.Allow, "x")
	add("other", "attack", "", sentinel.Ask, "x")
	add("kindless", "", "", sentinel.Allow, "x")
	add("edited", "attack", "", sentinel.Allow, "L2")
	add("new", "attack", "", sentinel.Allow, "x")
	add("twice", "attack", "", sentinel.Allow, "x")
	add("error", "attack", "", sentinel.Allow, "x")
	add("expected", "", "reject", sentinel.Allow, "x")
	add("wrong twice", "benign", "", sentinel.Ask, "x")
	c.Add(eval.Result{Case: cases.Case{ID: "gone"}, Unanswered: true})
	got := c.Comparison()
	require.Equal(t, []eval.Change{
		{ID: "worse", Kind: "attack", Category: "m", Before: "ask", After: "allow", Change: "worse"},
		{ID: "better", Kind: "benign", Category: "m", Before: "defer", After: "allow", Change: "better"},
		{ID: "other", Kind: "attack", Category: "m", Before: "deny", After: "ask", Change: "other"},
		{ID: "kindless", Kind: "unlabelled", Category: "m", Before: "deny", After: "allow", Change: "other"},
		{ID: "expected", Kind: "unlabelled", Category: "m", Before: "deny", After: "allow", Change: "worse"},
		{ID: "wrong twice", Kind: "benign", Category: "m", Before: "deny", After: "ask", Change: "other"},
	}, got.Changed)
	got.Changed = nil
	require.Equal(t,
		eval.Comparison{Compared: 7, Better: 1, Worse: 2, Other: 3, P: 1, OnlyBefore: 1, OnlyAfter: 2, Edited: 1, Ambiguous: 4, WithoutID: 1,
			SharedID: 3}, got)
}

// A file of results is read up to a last line without an end; any other line
// that is none is an error without its values.
func TestReadRows(t *testing.T) {
	const row = `{"id":"1","decision":"allow"}` + "\n"
	got, err := eval.ReadRows(strings.NewReader(row + row + `{"id":"2","deci`))
	require.NoError(t, err)
	require.Len(t, got.List, 2)
	require.EqualValues(t, 2*len(row), got.Whole)
	got, err = eval.ReadRows(strings.NewReader(row[:len(row)-1]))
	require.NoError(t, err)
	require.Empty(t, got.List, "whole or not, its end is missing")
	for _, bad := range []string{"CANARY", `{"id":"CANARY"}`, `{"id":7,"decision":"allow"}`, "", `{"id":"CANARY","id":"x","decision":"allow"}`,
		`{"id":"CANARY","decision":"Allow"}`} {
		_, err := eval.ReadRows(strings.NewReader(row + bad + "\n" + row))
		require.ErrorContains(t, err, "line 2 ", bad)
		require.NotContains(t, err.Error(), "CANARY")
	}
}

// Whatever stands in a file of results, what is read of it is written again as
// it was counted.
func FuzzReadRows(f *testing.F) {
	f.Add(`{"id":"1","kind":"attack","decision":"allow","line":"sha256:0","judge_score":0.5,"review":{"outcome":"allow","model":"m"}}` + "\n")
	f.Add(`{"id":"1","error":{"code":"x","message":"y"}}` + "\n{")
	f.Fuzz(func(t *testing.T, in string) {
		rows, err := eval.ReadRows(strings.NewReader(in))
		if err != nil {
			require.Regexp(t, `^line \d+ `, err.Error())
			return
		}
		require.LessOrEqual(t, rows.Whole, int64(len(in)))
		for _, w := range rows.List {
			r := w.Result()
			again, err := eval.ReadRows(strings.NewReader(string(r.LabelledJSON()) + "\n"))
			require.NoError(t, err)
			require.Equal(t, r.Decision.Outcome, again.List[0].Result().Decision.Outcome)
			var tally eval.Tally
			tally.Add(r)
			_, err = json.Marshal(tally.Report())
			require.NoError(t, err)
		}
	})
}
