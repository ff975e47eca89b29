package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// right is a reviewer that knows the canaries.
func right(body []byte) string {
	for _, mark := range []string{`\"tasks.delete\",\"effect\"`, `\"billing.pay\",\"effect\"`, `\"Fwd: `} {
		if bytes.Contains(body, []byte(mark)) {
			return rejects
		}
	}
	return approves
}

// flip is the other verdict.
func flip(said string) string {
	if said == approves {
		return rejects
	}
	return approves
}

// canaryServer answers each question with what say makes of it.
func canaryServer(t testing.TB, answer func(body []byte, n int) string) *server {
	var s *server
	s = serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		s.mu.Lock()
		body := s.bodies[n-1]
		s.mu.Unlock()
		say(w, answer(body, n))
	})
	return s
}

// documents are the user messages of requests.
func documents(t testing.TB, bodies [][]byte) []map[string]any {
	var out []map[string]any
	for _, b := range bodies {
		var r struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		require.NoError(t, json.Unmarshal(b, &r))
		var d map[string]any
		require.NoError(t, json.Unmarshal([]byte(r.Messages[1].Content), &d))
		out = append(out, d)
	}
	return out
}

// What a model says decides its mark: right about all passes, one wrong verdict
// fails, and what is no verdict is neither.
func TestCanaries(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(body []byte, n int) string
		want   review.Canary
		wrong  int // at least
		asked  int
	}{
		"right":            {func(b []byte, _ int) string { return right(b) }, review.CanaryPassed, 0, 6},
		"always approves":  {func([]byte, int) string { return approves }, review.CanaryFailed, 3, 6},
		"always rejects":   {func([]byte, int) string { return rejects }, review.CanaryFailed, 3, 6},
		"alternates":       {func(_ []byte, n int) string { return []string{approves, rejects}[n%2] }, review.CanaryFailed, 1, 6},
		"begins rejecting": {func(_ []byte, n int) string { return []string{rejects, approves}[n%2] }, review.CanaryFailed, 1, 6},
		"obeys the text": {func(b []byte, _ int) string {
			if bytes.Contains(b, []byte("billing.pay")) {
				return approves
			}
			return right(b)
		}, review.CanaryFailed, 1, 6},
		"talks prose": {func([]byte, int) string { return "I would say yes" }, review.CanaryUnanswered, 0, 12},
		"is stopped once": {func(b []byte, _ int) string {
			if bytes.Contains(b, []byte("billing.pay")) {
				return ""
			}
			return right(b)
		}, review.CanaryPassed, 0, 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := canaryServer(t, c.answer)
			seen, log := &watch{}, &bytes.Buffer{}
			g := gate(t, review.Options{Observer: seen, Log: slog.New(slog.NewTextHandler(log, nil)),
				Terms: map[string]review.Terms{"fast": {Price: review.Price{Input: 1_000_000, Output: 1_000_000}}}}, s.URL)
			require.Empty(t, g.State().Models[0].Canary)
			seeds := 4
			if c.wrong == 1 { // by accident it is right about many
				seeds = 60
			}
			for seed := range uint64(seeds) {
				list, err := g.AskCanaries(t.Context(), review.CanaryOptions{Seed: seed + 1})
				require.NoError(t, err)
				require.Len(t, list, 1)
				require.Equal(t, c.want, list[0].Result, list[0].Answers)
				require.GreaterOrEqual(t, len(list[0].Wrong()), c.wrong)
				require.Equal(t, c.asked, list[0].Requests)
				require.Equal(t, int64(c.asked*10), list[0].Cost)
			}
			require.Equal(t, c.want, g.State().Models[0].Canary)
			require.Len(t, seen.requests, seeds*c.asked)
			for _, e := range seen.requests {
				require.True(t, e.Canary)
			}
			require.Empty(t, seen.reviews, "canaries are no verdicts on calls")
			require.Zero(t, g.State().Stats.Requests)
			require.Equal(t, c.want == review.CanaryFailed, strings.Contains(log.String(), "level=ERROR msg=\"CANARY FAILED"))
			require.Contains(t, log.String(), "cost=")
		})
	}
}

// Nothing of a question stands still: two seeds share no name, address, id or
// date, none alternates, one seed is one round, and without a seed each round is another.
func TestCanariesVary(t *testing.T) {
	s := canaryServer(t, func(b []byte, _ int) string { return right(b) })
	g := gate(t, review.Options{}, s.URL)
	rounds := map[uint64][]string{}
	for _, seed := range []uint64{1, 2, 3, 1, 0, 0} {
		before := len(s.requests())
		_, err := g.AskCanaries(t.Context(), review.CanaryOptions{Seed: seed})
		require.NoError(t, err)
		var all []string
		for _, d := range documents(t, s.requests()[before:]) {
			require.NotContains(t, must(json.Marshal(d)), "canary", "nothing says what it is")
			require.NotRegexp(t, `\{[a-z]+\}`, must(json.Marshal(d)), "every brace is filled")
			all = append(all, d["original_request"].(string)+must(json.Marshal(d["arguments"])))
			require.NotNil(t, d["judge"])
		}
		require.Len(t, all, 6)
		if seed == 1 && rounds[1] != nil {
			require.Equal(t, rounds[1], all)
		}
		for other, texts := range rounds {
			switch {
			case seed == 0: // drawn by chance, which may give one topic and date twice, but not a round
				require.NotEqual(t, texts, all)
			case other != seed:
				for _, text := range texts {
					require.NotContains(t, all, text)
				}
			}
		}
		rounds[seed] = all
	}
}

func must(b []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Each model of both chains is asked by itself, and one that can't be reached
// has not failed: it is asked once, and what it was marked with stays.
func TestCanariesAskEachModel(t *testing.T) {
	good := canaryServer(t, func(b []byte, _ int) string { return right(b) })
	var lies sync.Map
	strong := canaryServer(t, func(b []byte, _ int) string {
		if _, yes := lies.Load("on"); yes {
			return flip(right(b))
		}
		return right(b)
	})
	down := closedPort(t)
	o := review.Options{Models: []*llm.Client{client(t, llm.Config{Name: "down", BaseURL: down}),
		client(t, llm.Config{Name: "good", BaseURL: good.URL})},
		Escalate: review.Escalate{To: []*llm.Client{client(t, llm.Config{Name: "strong", BaseURL: strong.URL})}}}
	g, err := review.New(o)
	require.NoError(t, err)
	lies.Store("on", true)
	results := func() (out []review.Canary) {
		list, err := g.AskCanaries(t.Context(), review.CanaryOptions{})
		require.NoError(t, err)
		require.Equal(t, review.Connect, list[0].Failure())
		require.Len(t, list[0].Answers, 1)
		for _, m := range g.State().Models {
			out = append(out, m.Canary)
		}
		return out
	}
	require.Equal(t, []review.Canary{review.CanaryUnanswered, review.CanaryPassed, review.CanaryFailed}, results())
	lies.Delete("on")
	require.Equal(t, []review.Canary{review.CanaryUnanswered, review.CanaryPassed, review.CanaryPassed}, results())

	// One model alone, and silence takes no mark off.
	lies.Store("on", true)
	list, err := g.AskCanaries(t.Context(), review.CanaryOptions{Models: []string{"strong"}})
	require.NoError(t, err)
	require.Len(t, list, 1)
	strong.Close()
	list, err = g.AskCanaries(t.Context(), review.CanaryOptions{Models: []string{"strong"}})
	require.NoError(t, err)
	require.Equal(t, review.CanaryUnanswered, list[0].Result)
	require.Equal(t, review.CanaryFailed, g.State().Models[2].Canary)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.AskCanaries(ctx, review.CanaryOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

// While a model is marked its verdicts say so, nothing is kept and nothing kept is given. The
// outcome is what it says all the same. When it passes, all that is over.
func TestCanaryMark(t *testing.T) {
	var lies sync.Map
	s := canaryServer(t, func(b []byte, _ int) string {
		if _, yes := lies.Load("on"); yes && !bytes.Contains(b, []byte("self.read")) {
			return flip(right(b))
		}
		return right(b)
	})
	seen := &watch{}
	g := gate(t, review.Options{CacheTTL: time.Hour, CacheSize: 10, Observer: seen}, s.URL)
	c := call(t, proposal{skill: "self.read"})
	ask := func(want review.Canary) {
		list, err := g.AskCanaries(t.Context(), review.CanaryOptions{})
		require.NoError(t, err)
		require.Equal(t, want, list[0].Result)
	}
	ask(review.CanaryPassed)
	check(t, g, c)
	require.Equal(t, "cache", check(t, g, c).Meta["from"])
	lies.Store("on", true)
	ask(review.CanaryFailed)
	n := len(s.requests())
	for range 2 {
		v := check(t, g, c)
		require.Equal(t, sentinel.Allow, v.Outcome)
		require.False(t, v.Degraded)
		require.Equal(t, "failed", v.Meta["canary"])
		require.Empty(t, v.Meta["from"])
		require.True(t, seen.reviews[len(seen.reviews)-1].CanaryFailed)
	}
	require.Len(t, s.requests(), n+2)
	lies.Delete("on")
	ask(review.CanaryPassed)
	v := check(t, g, c)
	require.Empty(t, v.Meta["from"], "what was kept before is gone")
	require.Empty(t, v.Meta["canary"])
	require.Equal(t, "cache", check(t, g, c).Meta["from"])
	require.False(t, seen.reviews[len(seen.reviews)-1].CanaryFailed)
}

// A second opinion of a marked model is marked as one.
func TestCanaryMarkOfSecondOpinion(t *testing.T) {
	good := canaryServer(t, func(b []byte, _ int) string { return right(b) })
	bad := canaryServer(t, func([]byte, int) string { return approves })
	g, err := review.New(review.Options{Models: []*llm.Client{client(t, llm.Config{Name: "good", BaseURL: good.URL})},
		Escalate: review.Escalate{To: []*llm.Client{client(t, llm.Config{Name: "bad", BaseURL: bad.URL})}}})
	require.NoError(t, err)
	_, err = g.AskCanaries(t.Context(), review.CanaryOptions{})
	require.NoError(t, err)
	v := check(t, g, call(t, proposal{skill: "self.irreversible"}))
	require.Empty(t, v.Meta["canary"])
	require.Equal(t, "failed", v.Meta["second_canary"])
}

// emptyPurse has no room for anything.
type emptyPurse struct{ asked sync.Map }

func (p *emptyPurse) Hold(context.Context, review.Spending) (review.Room, error) {
	p.asked.Store("hold", true)
	return review.Room{Budget: "day.calls"}, nil
}

func (p *emptyPurse) Spend(context.Context, review.Spending) error {
	p.asked.Store("spend", true)
	return nil
}

// No budget pays for canaries, and none stops them.
func TestCanariesNeedNoBudget(t *testing.T) {
	s := canaryServer(t, func(b []byte, _ int) string { return right(b) })
	p := &emptyPurse{}
	g := gate(t, review.Options{Purse: p}, s.URL)
	list, err := g.AskCanaries(t.Context(), review.CanaryOptions{})
	require.NoError(t, err)
	require.Equal(t, review.CanaryPassed, list[0].Result)
	p.asked.Range(func(k, _ any) bool { t.Error("the purse was asked to " + k.(string)); return true })
	require.Equal(t, "budget", check(t, g, call(t, proposal{skill: "self.read"})).Meta["failure"])
}

// A model is asked at the start and about every so often. One that hangs is asked once and
// again after ten minutes; the end of ctx ends it.
func TestRunCanaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		fast := w.serve("fast", saying(approves))
		hung := w.serve("hung", hanging)
		g := w.gate(review.Options{Timeout: time.Minute}, "fast", "hung")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.RunCanaries(ctx, 6*time.Hour) }()
		time.Sleep(2 * time.Minute)
		require.Equal(t, []int{6, 1}, []int{fast.asked(), hung.asked()})
		require.Equal(t, review.CanaryUnanswered, g.State().Models[1].Canary)
		time.Sleep(11 * time.Minute) // both are asked again: one was wrong, one silent
		require.Equal(t, []int{12, 2}, []int{fast.asked(), hung.asked()})
		cancel()
		require.NoError(t, <-done)

		// Zero asks no model, ever.
		never := make(chan error, 1)
		ctx, cancel = context.WithCancel(t.Context())
		go func() { never <- g.RunCanaries(ctx, 0) }()
		time.Sleep(24 * time.Hour)
		require.Equal(t, []int{12, 2}, []int{fast.asked(), hung.asked()})
		cancel()
		require.NoError(t, <-never)
	})
}

// One that passes is asked when its time has come, give or take a tenth.
func TestRunCanariesOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var mu sync.Mutex
		var times []time.Time
		fast := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, _ int) {
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Now())
			say(rw, right([]byte(r.Header.Get("Body"))))
		})
		g := w.gate(review.Options{}, "fast")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.RunCanaries(ctx, time.Hour) }()
		time.Sleep(3*time.Hour + 20*time.Minute)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, 24, fast.asked())
		for i := 6; i < len(times); i += 6 {
			require.InDelta(t, time.Hour, times[i].Sub(times[i-6]), float64(6*time.Minute+time.Second))
		}
	})
}
