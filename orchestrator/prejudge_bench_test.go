package orchestrator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/skills"
)

// BenchmarkAhead measures a whole turn whose agent makes five calls, against a
// review that takes 300 ms for each and for the agent's dispatch: all five in
// one answer, so that they are judged ahead, and beside it one in each of five
// answers, which no desk can foresee. The agents' models answer at once.
func BenchmarkAhead(b *testing.B) {
	const takes, n = 300 * time.Millisecond, 5
	reviewer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		t := time.NewTimer(takes)
		defer t.Stop()
		<-t.C
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w,
			`{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"{\"decision\":\"approve\",\"reason\":\"x\"}"}}]}`)
	}))
	b.Cleanup(reviewer.Close)
	var calls []call
	var each []any
	for i := range n {
		calls = append(calls, use("note.log", fmt.Sprint("note ", i)))
		each = append(each, calls[i])
	}
	house := func(rounds ...any) *rig {
		o := with(skill(b, "note.log", skills.Create, skills.Trusted, func(_ context.Context, x string) (string, error) { return x, nil }))
		o.config, o.reviewer, o.quiet = "sentinel: {mode: enforce}\n", reviewer.URL, true
		return start(b, o, orch("hello", dispatch("a", "do-a", "note.log"), results("wait_all"), "the answer"), agent("do-a", rounds...))
	}
	one, five := house(calls, "done"), house(append(each, "done")...)
	turns := 0
	turn := func(r *rig, list *[]time.Duration) {
		turns++
		c := r.open(fmt.Sprint("c", turns), "ann")
		began := time.Now()
		reply, err := c.Send(b.Context(), "hello")
		*list = append(*list, time.Since(began))
		require.NoError(b, err)
		require.Equal(b, map[string]agents.State{"a": agents.Completed}, states(reply))
	}
	var ahead, after []time.Duration
	for b.Loop() {
		turn(one, &ahead)
		turn(five, &after)
	}
	slices.Sort(ahead)
	slices.Sort(after)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(ahead[len(ahead)/2]), "ahead-p50-ms")
	b.ReportMetric(ms(ahead[len(ahead)-1]), "ahead-worst-ms")
	b.ReportMetric(ms(after[len(after)/2]), "one-by-one-p50-ms")
	b.ReportMetric(ms(after[len(after)/2]-ahead[len(ahead)/2]), "gained-p50-ms")
}
