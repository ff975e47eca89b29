package eval_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/eval"
)

// A case that a model fails for alone keeps its failure wherever it stands among
// the others, however many are decided at a time, and also where all others were
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
			}}, &eval.Again{For: 12 * time.Second}, c.cases, c.job)
			require.NoError(t, err, c)
			require.Len(t, got, c.cases)
			for id, row := range got {
				require.Equal(t, id == c.poison, row.Review.NotJudged() == "server", id)
			}
		})
	}
}

// Of a run that is gone on with, the cases that were judged before say the same,
// though none is decided anew but the one.
func TestPoisonOfEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moody{says: func(q string, _ int) map[string]string {
			if strings.Contains(q, `"q1"`) {
				return failing("server")
			}
			return nil
		}}
		judged, err := tried(t, m, &eval.Again{For: time.Minute}, 2, 2)
		require.NoError(t, err)
		m.n = map[string]int{}
		ev := eval.NewEvaluator(eval.Options{
			Decider: reviewedBy(t, m), Again: &eval.Again{For: 12 * time.Second}, Earlier: eval.NewEarlier([]eval.Row{judged["q0"]}),
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
		fmt.Fprintf(&in, `{"id":"q%d","kind":"benign",%s,"proposed_action":{"skill_name":"email.search","arguments":{"query":"q%d"}}}`+"\n", i, granted, i)
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
			}}, &eval.Again{For: time.Minute}, 12, jobs)
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

// A server that refuses every request judges nobody: the third case ends the run.
// Where one was judged, it is the case that is refused.
func TestRefusesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := tried(t, &moody{says: func(string, int) map[string]string { return failing("request") }}, &eval.Again{For: time.Minute}, 20, 1)
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
		}}, &eval.Again{For: time.Minute}, 20, 1)
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
		}}, &eval.Again{For: 10 * time.Second}, 2, 1)
		require.EqualError(t, err, "model fast is away (connect); no case was judged for 11s")
	})
}
