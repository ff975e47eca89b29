package eval_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
)

// moody is a review whose verdict depends on the arguments and on how often it
// was asked about them.
type moody struct {
	mu   sync.Mutex
	n    map[string]int
	says func(query string, n int) map[string]string
}

func (*moody) Name() string { return sentinel.GateReview }

func (m *moody) Check(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	q := c.Args()
	m.mu.Lock()
	m.n[q]++
	n := m.n[q]
	m.mu.Unlock()
	select {
	case <-time.After(time.Second): // what a judgement takes
	case <-ctx.Done():
		return sentinel.Verdict{}, ctx.Err()
	}
	v := sentinel.Pass()
	v.Meta = map[string]string{"model": "fast", "attempts": "1", "tokens_in": "10", "tokens_out": "1", "cost": "14"}
	for k, w := range m.says(q, n) {
		v.Meta[k] = w
	}
	if v.Meta["failure"] != "" {
		v.Outcome, v.Code, v.Reason = sentinel.Ask, "review.unavailable", "no judgement"
	}
	return v, nil
}

func failing(failure string) map[string]string {
	return map[string]string{"failure": failure, "cost": "", "tokens_in": "0", "tokens_out": "0"}
}

// tried decides lines q0, q1, … and returns what came of those that have a
// result.
func tried(t *testing.T, m *moody, a *eval.Retry, n, jobs int) (map[string]eval.Row, error) {
	t.Helper()
	m.n = map[string]int{}
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `{"id":"q%d","kind":"benign",%s,"proposed_action":{"skill_name":"email.search","arguments":{"query":"q%d"}}}`+"\n", i,
			granted, i)
	}
	ev := eval.NewEvaluator(eval.Options{Decider: reviewedBy(t, m), Retry: a})
	out := map[string]eval.Row{}
	err := ev.Each(t.Context(), strings.NewReader(in.String()), jobs, func(_ int, r eval.Result) error {
		rows, err := eval.ReadRows(strings.NewReader(string(r.LabelledJSON()) + "\n"))
		require.NoError(t, err)
		out[r.Case.ID] = rows.List[0]
		return nil
	})
	return out, err
}

// While a model is away its cases wait, whatever its absence is called, and what
// they become is what the model says once it is back. What all tries cost is
// added up, and no time of a wait is a time of the decision.
func TestAgain(t *testing.T) {
	for _, failure := range []string{"connect", "server", "rate_limited", "breaker_open", "busy"} {
		synctest.Test(t, func(t *testing.T) {
			var told []string
			var mu sync.Mutex
			a := &eval.Retry{For: time.Minute, OnWait: func(model, f string, left time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, model+" "+f)
				require.Positive(t, left)
			}}
			got, err := tried(t, &moody{says: func(q string, n int) map[string]string {
				switch {
				case strings.Contains(q, "q1") && n == 1:
					return failing(failure)
				case strings.Contains(q, "q1") && n == 2: // the second opinion could not be had, and the first was paid
					return map[string]string{"second_failure": failure, "second_model": "strong", "first": "reject"}
				}
				return nil
			}}, a, 3, 1)
			require.NoError(t, err)
			require.Len(t, got, 3)
			require.Zero(t, got["q0"].Review.Tries)
			r := got["q1"]
			require.Equal(t, "allow", r.Decision)
			require.Empty(t, r.Review.Failure+r.Review.SecondFailure)
			require.Equal(t, 3, r.Review.Tries)
			require.Equal(t, 3, r.Review.Requests)
			require.EqualValues(t, 20, r.Review.TokensIn)
			require.InDelta(t, 0.000028, *r.Review.Cost, 1e-9)
			require.Equal(t, time.Second.Microseconds(), r.ElapsedUS, "that of the last try alone")
			require.Equal(t, []string{"fast " + failure, "strong " + failure}, told)
		})
	}
}

// A model that stays away ends the run: its case has no result, and what was
// decided meanwhile has. A quota that is used up, and a key that is refused, is not
// waited for.
func TestAway(t *testing.T) {
	for failure, wait := range map[string]time.Duration{"connect": 10 * time.Second, "quota": 0, "auth": 0} {
		for _, jobs := range []int{1, 4} {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got, err := tried(t, &moody{says: func(q string, n int) map[string]string {
					if strings.Contains(q, "q2") || strings.Contains(q, "q3") || n > 1 {
						return failing(failure)
					}
					return nil
				}}, &eval.Retry{For: 10 * time.Second}, 4, jobs)
				var away *eval.Away
				require.ErrorAs(t, err, &away)
				require.Equal(t, "fast", away.Model)
				require.Equal(t, failure, away.Failure)
				require.NotContains(t, got, "q2")
				require.NotContains(t, got, "q3")
				if wait > 0 || jobs == 1 { // else they are under way in that same moment
					require.Len(t, got, 2)
				}
				require.GreaterOrEqual(t, time.Since(began), wait)
				require.Less(t, time.Since(began), wait+10*time.Second)
			})
		}
	}
}

// What was decided behind a case that ends the run is handed out all the same.
func TestAwayKeepsWhatWasPaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := tried(t, &moody{says: func(q string, _ int) map[string]string {
			if strings.Contains(q, "q0") {
				return failing("breaker_open")
			}
			return nil
		}}, &eval.Retry{For: 20 * time.Second}, 8, 4)
		require.ErrorAs(t, err, new(*eval.Away))
		require.NotContains(t, got, "q0")
		require.Len(t, got, 7)
	})
}

// A case that alone makes the model fail keeps its failure: the others are
// judged meanwhile, and the run goes on.
func TestOwnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := tried(t, &moody{says: func(q string, _ int) map[string]string {
			if strings.Contains(q, `"q1"`) {
				return failing("server")
			}
			return nil
		}}, &eval.Retry{For: time.Minute}, 100, 4)
		require.NoError(t, err)
		require.Len(t, got, 100)
		require.Equal(t, "server", got["q1"].Review.Failure)
		require.Equal(t, "server", got["q1"].Review.NotJudged())
		require.Empty(t, got["q2"].Review.NotJudged())
	})
}

// What a model said of a call, and a timeout, is a result at once.
func TestNotAgain(t *testing.T) {
	for failure, not := range map[string]string{"refusal": "", "not_json": "", "timeout": "timeout", "lone_timeout": "lone_timeout",
		"request": "request"} {
		synctest.Test(t, func(t *testing.T) {
			got, err := tried(t, &moody{says: func(string, int) map[string]string { return failing(failure) }}, &eval.Retry{For: time.Minute}, 1, 1)
			require.NoError(t, err)
			require.Equal(t, failure, got["q0"].Review.Failure)
			require.Equal(t, not, got["q0"].Review.NotJudged())
			require.Zero(t, got["q0"].Review.Tries)
		})
	}
}

// A byte order mark is no part of the first line.
func TestByteOrderMark(t *testing.T) {
	var got []string
	err := evaluator(t).Each(t.Context(),
		strings.NewReader("\xef\xbb\xbf"+`{"id":"1","proposed_action":{"skill_name":"num.add"}}`+"\n"+
			`{"id":"2","proposed_action":{"skill_name":"num.add"}}`), 1,
		func(_ int, r eval.Result) error {
			require.Nil(t, r.Err)
			got = append(got, r.Case.ID)
			return nil
		})
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, got)
}

// What models cost is read of a verdict by model, and what is no account of one is
// left out.
func TestSpent(t *testing.T) {
	m := &moody{says: func(string, int) map[string]string {
		return map[string]string{"spent": "a=1/2/3/4 b c= d=1/2/3 e=1/2/3/4/5 f=1/-2/3/4 =1/2/3/4 g=1/2/3/x h=2/3/4/5000000",
			"waited_us": "400000", "would": "nonsense"}
	}}
	synctest.Test(t, func(t *testing.T) {
		got, err := tried(t, m, nil, 1, 1)
		require.NoError(t, err)
		r := got["q0"].Review
		require.Equal(t,
			[]eval.Spent{{Model: "a", Requests: 1, TokensIn: 2, TokensOut: 3, Cost: 0.000004},
				{Model: "h", Requests: 2, TokensIn: 3, TokensOut: 4, Cost: 5}}, r.Models)
		require.EqualValues(t, 600_000, r.ElapsedUS)
		require.EqualValues(t, 600_000, got["q0"].ElapsedUS)
		require.Empty(t, r.Would)
	})
}

// A row of an earlier version says no cost: its tokens have the price of the model
// that judged.
func TestCostOfOldRows(t *testing.T) {
	rows, err := eval.ReadRows(strings.NewReader(`{"id":"1","decision":"allow","review":{"outcome":"allow","model":"fast","requests":1,` +
		`"tokens_in":1000000,"tokens_out":0}}` + "\n" +
		`{"id":"2","decision":"allow","review":{"outcome":"allow","model":"fast","requests":1,"tokens_in":1000000,"tokens_out":0,"cost":0.5}}` +
		"\n"))
	require.NoError(t, err)
	tally := eval.Tally{Prices: map[string]eval.Price{"fast": {Input: 2_000_000}}}
	for _, w := range rows.List {
		tally.Add(w.Result())
	}
	require.InDelta(t, 2.5, tally.Report().Review.Cost, 1e-9)
}

// A case that a model fails for alone keeps its failure wherever it stands among the
// others. That holds however many are decided at a time, and where all others were
// judged before its second try.
func TestPoison(t *testing.T) {
	for _, c := range []struct {
		poison     string
		cases, job int
	}{{"q0", 20, 1}, {"q19", 20, 1}, {"q3", 20, 16}, {"q0", 20, 16}, {"q1", 2, 1}, {"q0", 2, 1}} {
		synctest.Test(t, func(t *testing.T) {
			got, err := tried(t, &moody{says: func(q string, _ int) map[string]string {
				if strings.Contains(q, `"`+c.poison+`"`) {
					return failing("server")
				}
				return nil
			}}, &eval.Retry{For: 12 * time.Second}, c.cases, c.job)
			require.NoError(t, err, c)
			require.Len(t, got, c.cases)
			for id, row := range got {
				require.Equal(t, id == c.poison, row.Review.NotJudged() == "server", id)
			}
		})
	}
}

// Of a run that is gone on with, the cases that were judged before say the same,
// though only that one is decided.
func TestPoisonOfEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moody{says: func(q string, _ int) map[string]string {
			if strings.Contains(q, `"q1"`) {
				return failing("server")
			}
			return nil
		}}
		judged, err := tried(t, m, &eval.Retry{For: time.Minute}, 2, 2)
		require.NoError(t, err)
		m.n = map[string]int{}
		ev := eval.NewEvaluator(eval.Options{
			Decider: reviewedBy(t, m), Retry: &eval.Retry{For: 12 * time.Second}, Earlier: eval.NewEarlier([]eval.Row{judged["q0"]}),
		})
		var last eval.Result
		err = ev.Each(t.Context(), strings.NewReader(asking(2)), 1, func(_ int, r eval.Result) error { last = r; return nil })
		require.NoError(t, err)
		require.Equal(t, "q1", last.Case.ID)
		require.Contains(t, string(last.LabelledJSON()), `"failure":"server"`)
	})
}

func asking(n int) string {
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `{"id":"q%d","kind":"benign",%s,"proposed_action":{"skill_name":"email.search","arguments":{"query":"q%d"}}}`+"\n", i,
			granted, i)
	}
	return in.String()
}

// No more cases are decided at a time than was said, and with one they are decided
// in their order; those that wait for a model aside.
func TestJobs(t *testing.T) {
	for _, jobs := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var order []string
			at := map[time.Time]int{}
			_, err := tried(t, &moody{says: func(q string, _ int) map[string]string {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, q)
				at[time.Now()]++
				return nil
			}}, &eval.Retry{For: time.Minute}, 12, jobs)
			require.NoError(t, err)
			for _, n := range at {
				require.Equal(t, jobs, n)
			}
			if jobs == 1 {
				for i, q := range order {
					require.Contains(t, q, fmt.Sprintf(`"q%d"`, i))
				}
			}
		})
	}
}

// A server that refuses every request judges no case: the third case ends the run.
// Where one was judged, it is the case that is refused.
func TestRefusesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := tried(t, &moody{says: func(string, int) map[string]string { return failing("request") }}, &eval.Retry{For: time.Minute}, 20,
			1)
		var away *eval.Away
		require.ErrorAs(t, err, &away)
		require.Equal(t, "request", away.Failure)
		require.EqualError(t, away, "model fast refuses every request (request)")
		require.Len(t, got, 2)
		require.Equal(t, "request", got["q0"].Review.NotJudged())
		got, err = tried(t, &moody{says: func(q string, _ int) map[string]string {
			if strings.Contains(q, `"q1`) {
				return failing("request")
			}
			return nil
		}}, &eval.Retry{For: time.Minute}, 20, 1)
		require.NoError(t, err)
		require.Len(t, got, 20)
	})
}

// What ends a run is told with the failure of a request that was sent, not with
// that of a breaker which such failures opened.
func TestAwayNamesCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := tried(t, &moody{says: func(_ string, n int) map[string]string {
			if n == 1 {
				return failing("connect")
			}
			return failing("breaker_open")
		}}, &eval.Retry{For: 10 * time.Second}, 2, 1)
		require.EqualError(t, err, "model fast is away (connect); no case was judged for 11s")
	})
}
