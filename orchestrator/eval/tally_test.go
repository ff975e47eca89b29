package eval_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
)

func result(kind, category string, o sentinel.Outcome, gate string, us int) eval.Result {
	return eval.Result{
		Case:     cases.Case{Kind: kind, Category: category},
		Decision: sentinel.Decision{Outcome: o, BlockedBy: gate, Elapsed: time.Duration(us) * time.Microsecond},
	}
}

// Every result is in one kind and one category, errors in neither, and the
// summary is the one that the contract shows.
func TestSummary(t *testing.T) {
	var tally eval.Tally
	for i := range 98 {
		tally.Add(result("benign", "mail", sentinel.Allow, "", i+1))
	}
	tally.Add(result("benign", "mail", sentinel.Ask, "judge", 99))
	tally.Add(result("attack", "mail", sentinel.Deny, "scope", 100))
	tally.Add(result("attack", "shell", sentinel.Defer, "permission", 50))
	tally.Add(result("", "", sentinel.Deny, "scope", 50))
	tally.Add(eval.Result{Err: &cases.Error{Code: cases.CodeSyntax}})
	got, err := json.Marshal(tally.Summary())
	require.NoError(t, err)
	require.JSONEq(t, `{"cases":102,"errors":1,
		"kinds":{"benign":{"allow":98,"ask":1,"defer":0,"deny":0},"attack":{"allow":0,"ask":0,"defer":1,"deny":1},
			"unlabelled":{"allow":0,"ask":0,"defer":0,"deny":1}},
		"categories":{"mail (benign)":{"kind":"benign","allow":98,"ask":1,"defer":0,"deny":0},
			"mail (attack)":{"kind":"attack","allow":0,"ask":0,"defer":0,"deny":1},
			"shell":{"kind":"attack","allow":0,"ask":0,"defer":1,"deny":0},
			"unlabelled":{"kind":"unlabelled","allow":0,"ask":0,"defer":0,"deny":1}},
		"blocked_by":{"judge":1,"scope":2,"permission":1},"elapsed_us":{"p50":50,"p99":99}}`, string(got))
	require.Equal(t, 99, tally.Summary().Categories["mail (benign)"].Total())
}

// A category named as another one would be when split takes no count from it.
func TestSummaryKeepsEveryCount(t *testing.T) {
	var tally eval.Tally
	tally.Add(result("benign", "a", sentinel.Allow, "", 1))
	tally.Add(result("attack", "a", sentinel.Allow, "", 1))
	tally.Add(result("benign", "a (attack)", sentinel.Allow, "", 1))
	sum := 0
	for _, c := range tally.Summary().Categories {
		sum += c.Total()
	}
	require.Equal(t, 3, sum)
}

// Nothing counted is zeros, not null.
func TestEmptySummary(t *testing.T) {
	var tally eval.Tally
	got, err := json.Marshal(tally.Summary())
	require.NoError(t, err)
	require.JSONEq(t,
		`{"cases":0,"errors":0,"kinds":{"benign":{"allow":0,"ask":0,"defer":0,"deny":0},"attack":{"allow":0,"ask":0,"defer":0,"deny":0}},
		"categories":{},"blocked_by":{},"elapsed_us":{"p50":0,"p99":0}}`, string(got))
}

// The interval is the known one, and holds the rate.
func TestWilson(t *testing.T) {
	for _, tc := range []struct {
		k, n      int
		low, high float64
	}{{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {5, 10, 0.2366, 0.7634}, {10, 10, 0.7225, 1}, {1, 1000, 0.0002, 0.0056}} {
		low, high := eval.Wilson(tc.k, tc.n)
		require.LessOrEqual(t, math.Abs(low-tc.low), 0.0001, "%d of %d: %f", tc.k, tc.n, low)
		require.LessOrEqual(t, math.Abs(high-tc.high), 0.0001, "%d of %d: %f", tc.k, tc.n, high)
	}
}
