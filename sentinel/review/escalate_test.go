package review_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

func word(approve bool) string {
	if approve {
		return "approve"
	}
	return "reject"
}

func opinion(approve bool, reason string) handler {
	return saying(fmt.Sprintf(`{"decision":%q,"reason":%q}`, word(approve), reason))
}

// A judgement is looked at again where that is configured, by default where it costs most to
// be wrong. Agreement keeps it, disagreement is a person's, and no rejection becomes an
// approval.
func TestSecondOpinion(t *testing.T) {
	again := map[string]struct{ rejected, approved bool }{
		"read": {rejected: true}, "create": {rejected: true}, "modify": {}, "irreversible": {approved: true}, "costs_money": {approved: true},
	}
	for _, e := range skills.Effects() {
		c := call(t, proposal{skill: "self." + string(e)})
		for _, fast := range []bool{true, false} {
			for _, strong := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/%s", e, word(fast), word(strong)), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						w.serve("fast", opinion(fast, "one"))
						s := w.serve("strong", opinion(strong, `two", "x`))
						g := w.gate(review.Options{}, "fast", "|", "strong")
						v := check(t, g, c)
						require.Equal(t, "fast", v.Meta["model"])
						asked := fast && again[string(e)].approved || !fast && again[string(e)].rejected
						if !asked {
							require.Zero(t, s.asked())
							require.NotContains(t, v.Meta, "second_model")
							require.Equal(t, fast, v.Outcome == sentinel.Allow)
							return
						}
						require.Equal(t, 1, s.asked())
						checkSecond(t, v, fast, strong)
						require.Equal(t, uint64(1), g.State().Stats.Escalated)
						require.Equal(t, fast != strong, g.State().Stats.Disagreed == 1)
					})
				})
			}
		}
	}
}

func checkSecond(t *testing.T, v sentinel.Verdict, fast, strong bool) {
	t.Helper()
	outcome, code := sentinel.Allow, ""
	switch {
	case fast != strong:
		outcome, code = sentinel.Ask, review.CodeDisagreement
	case !fast:
		outcome, code = sentinel.Deny, review.CodeRejected
	}
	require.Equal(t, outcome, v.Outcome)
	require.Equal(t, code, v.Code)
	require.Equal(t, sentinel.Judged, v.State)
	require.False(t, v.Degraded)
	require.Equal(t, map[string]string{"model": "fast", "second_model": "strong", "first": word(fast), "second": word(strong),
		"prompt": review.PromptVersion, "attempts": "2", "tokens_in": "14", "tokens_out": "6"}, v.Meta)
	require.Equal(t, `fast `+word(fast)+`: "one"; strong `+word(strong)+`: "two\", \"x"`, v.Detail, "no reason can pass for another")
}

// Where the stronger model can't judge, an approval is worth what the tables say
// for that, and a rejection stands.
func TestSecondOpinionFails(t *testing.T) {
	all := review.Escalate{Rejected: skills.Effects(), Approved: skills.Effects()}
	for _, tc := range []struct {
		name    string
		strong  []handler
		failure review.Failure
		model   string
		column  map[string]sentinel.Outcome
		over    string
	}{
		{"down", []handler{status(500)}, review.Server, "strong", map[string]sentinel.Outcome{"read": sentinel.Allow, "create": sentinel.Allow},
			"strong=server"},
		{"spoilt", []handler{saying("")}, review.Empty, "strong", nil, "strong=empty"},
		{"both", []handler{status(500), saying("")}, review.Empty, "stronger", nil, "strong=server stronger=empty"},
	} {
		for _, e := range skills.Effects() {
			c := call(t, proposal{skill: "self." + string(e)})
			for _, fast := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/%s", tc.name, e, word(fast)), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						w.serve("down", status(502))
						w.serve("fast", opinion(fast, "one"))
						names := []string{"down", "fast", "|"}
						for i, h := range tc.strong {
							w.serve([]string{"strong", "stronger"}[i], h)
							names = append(names, []string{"strong", "stronger"}[i])
						}
						g := w.gate(review.Options{Escalate: all}, names...)
						v := check(t, g, c)
						require.Equal(t, "fast", v.Meta["model"])
						require.Equal(t, tc.model, v.Meta["second_model"])
						require.Equal(t, string(tc.failure), v.Meta["second_failure"])
						require.Equal(t, word(fast), v.Meta["first"])
						require.NotContains(t, v.Meta, "second")
						require.Equal(t, "down=server", v.Meta["failover"])
						require.Equal(t, tc.over, v.Meta["second_failover"])
						require.Equal(t, `fast `+word(fast)+`: "one"`, v.Detail)
						if !fast {
							require.Equal(t, sentinel.Deny, v.Outcome)
							require.Equal(t, review.CodeRejected, v.Code)
							require.NotContains(t, v.Meta, "failure")
							require.Equal(t, uint64(1), g.State().Stats.Rejected)
							return
						}
						want, ok := tc.column[string(e)]
						if !ok {
							want = sentinel.Ask
						}
						require.Equal(t, want, v.Outcome)
						require.Equal(t, want == sentinel.Allow, v.Degraded)
						require.Equal(t, string(tc.failure), v.Meta["failure"])
						require.Equal(t, uint64(1), g.State().Stats.Unjudged)
					})
				})
			}
		}
	}
}

// No second opinion is asked for where there is no first, and none of a caller
// that has gone.
func TestNoSecondWithoutFirst(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", first(1, saying(""), saying(approves)))
		s := w.serve("strong", hanging)
		g := w.gate(review.Options{}, "fast", "|", "strong")
		require.Equal(t, "empty", check(t, g, c).Meta["failure"])
		require.Zero(t, s.asked())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Check(ctx, c)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1, s.asked())
	})
}

// A first model that hangs leaves the stronger one its share of the time.
func TestSecondOpinionHasItsShare(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("hangs", hanging)
		w.serve("fast", slow(9*time.Second, saying(approves)))
		w.serve("strong", slow(9*time.Second, saying(rejects)))
		v := check(t, w.gate(review.Options{Timeout: 30 * time.Second}, "hangs", "fast", "|", "strong"), c)
		require.Equal(t, review.CodeDisagreement, v.Code)
	})
}

// In shadow mode both are recorded and neither is applied.
func TestSecondOpinionInShadow(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", saying(approves))
		w.serve("strong", saying(rejects))
		v := check(t, w.gate(review.Options{Mode: review.ShadowMode}, "fast", "|", "strong"), c)
		require.Equal(t, sentinel.Shadow, v.State)
		require.Equal(t, review.CodeShadow, v.Code)
		require.Equal(t, "ask", v.Meta["would"])
		require.Equal(t, review.CodeDisagreement, v.Meta["would_code"])
		require.Equal(t, "approve", v.Meta["first"])
		require.Equal(t, "reject", v.Meta["second"])
	})
}

// A judge that always approves lets nothing through that the stronger one rejects. One that
// always rejects lets nothing through at all. One that alternates lets through what both
// approve, and one that answers after its deadline has not answered.
func TestJudgesThatCannotBeTrusted(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	read := call(t, proposal{skill: "self.read"})
	for name, tc := range map[string]struct {
		fast handler
		want []string // of irreversible calls, then of reads
	}{
		"approves": {saying(approves), []string{"review.disagreement", "review.disagreement", "", ""}},
		"rejects":  {saying(rejects), []string{"review.rejected", "review.rejected", "review.rejected", "review.rejected"}},
		"alternates": {func(w http.ResponseWriter, r *http.Request, n int) { saying([]string{rejects, approves}[n%2])(w, r, n) },
			[]string{"review.disagreement", "review.rejected", "", "review.rejected"}},
		"late": {slow(16*time.Second, saying(approves)), []string{"review.unjudgeable", "review.unavailable", "review.degraded",
			"review.degraded"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.serve("fast", tc.fast)
				w.serve("strong", saying(rejects))
				g := w.gate(review.Options{Timeout: 30 * time.Second}, "fast", "|", "strong")
				var got []string
				for i, c := range []sentinel.Call{c, c, read, read} {
					got = append(got, check(t, g, users(t, c, []string{"ann", "bob"}[i%2])[0]).Code)
				}
				require.Equal(t, tc.want, got)
			})
		})
	}
}

// The supervisor's view holds both chains, and each model's breaker can be
// renewed alone.
func TestRenewReachesBothChains(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", saying(approves))
		w.serve("strong", status(500))
		seen := &watch{}
		g := w.gate(review.Options{Breaker: review.Breaker{Failures: 1}, Observer: seen}, "fast", "|", "strong")
		require.Equal(t, []string{"fast", "strong"}, g.Models())
		check(t, g, c)
		require.Equal(t, "breaker_open", check(t, g, c).Meta["failure"])
		require.Equal(t, "open", g.State().Models[1].Breaker)
		require.Equal(t, "closed", g.State().Models[0].Breaker)
		g.Renew("strong")
		require.Equal(t, "closed", g.State().Models[1].Breaker)
		require.Equal(t, "server", check(t, g, c).Meta["failure"])
		require.Equal(t, []review.BreakerEvent{{Model: "strong", From: "closed", To: "open"}, {Model: "strong", From: "open", To: "closed"},
			{Model: "strong", From: "closed", To: "open"}}, seen.breakers)
	})
}

// Mistakes are found where they stand in the configuration.
func TestEscalateIsChecked(t *testing.T) {
	m := client(t, llm.Config{BaseURL: "http://127.0.0.1:1/v1"})
	s := client(t, llm.Config{Name: "strong", BaseURL: "http://127.0.0.1:1/v1"})
	_, err := review.New(review.Options{
		Models: []*llm.Client{m}, Concurrency: -1,
		Escalate: review.Escalate{To: []*llm.Client{s, nil, m, s}, Rejected: []skills.Effect{"reed"}, Approved: []skills.Effect{""}},
	})
	require.ElementsMatch(t, []string{"sentinel.escalate.to[1]", "sentinel.escalate.to[2]", "sentinel.escalate.to[3]",
		"sentinel.escalate.rejected", "sentinel.escalate.approved", "sentinel.concurrency"}, paths(err))
	for _, o := range []review.Options{{Retries: -1}, {Retries: 6}} {
		o.Models = []*llm.Client{m}
		_, err = review.New(o)
		require.Equal(t, []string{"sentinel.retries"}, paths(err))
	}
	_, err = review.New(review.Options{Models: []*llm.Client{m}, Terms: perMinute("fast", -1)})
	require.Equal(t, []string{"models.fast"}, paths(err))
}
