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
)

// lonely is a gate whose connections end with their request. So a bubble of fake time holds no
// goroutine that waits for the network.
func lonely(t *testing.T, url string, b review.Breaker) *review.Gate {
	t.Helper()
	c, err := llm.New(llm.Config{Name: "fast", Model: "plain", BaseURL: url},
		&http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	g, err := review.New(review.Options{Models: []*llm.Client{c}, Breaker: b})
	require.NoError(t, err)
	return g.MetElsewhere()
}

func breaker(g *review.Gate) string { return g.State().Models[0].Breaker }

// Five failures in a row open the breaker. Then no model is asked until it has been open for its
// time, and one answer closes it.
func TestBreakerOpensAndRecovers(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n <= 6 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		say(w, approves)
	})
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		g := lonely(t, s.URL, review.Breaker{})
		for i := range 5 {
			require.Equal(t, "closed", breaker(g))
			require.Equal(t, i, g.State().Models[0].Failures)
			require.Equal(t, "server", check(t, g, c).Meta["failure"])
		}
		require.Equal(t, "open", breaker(g))
		for range 10 {
			v := check(t, g, c)
			require.Equal(t, "breaker_open", v.Meta["failure"])
			require.Equal(t, sentinel.Ask, v.Outcome)
		}
		require.Len(t, s.requests(), 5)
		time.Sleep(review.DefaultOpenFor + time.Second)
		require.Equal(t, "half-open", breaker(g))
		require.Equal(t, "server", check(t, g, c).Meta["failure"]) // the probe fails
		require.Equal(t, "open", breaker(g))
		time.Sleep(review.DefaultOpenFor + time.Second)
		require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
		require.Equal(t, "closed", breaker(g))
		require.Len(t, s.requests(), 7)
	})
}

// Failures are forgotten after the window.
func TestBreakerForgets(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusBadGateway) })
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		g := lonely(t, s.URL, review.Breaker{Failures: 3, Window: 10 * time.Second, OpenFor: 2 * time.Second})
		for range 3 {
			check(t, g, c)
			check(t, g, c)
			time.Sleep(13 * time.Second)
			require.Equal(t, "closed", breaker(g))
		}
		for range 3 {
			check(t, g, c)
		}
		require.Equal(t, "open", breaker(g))
		time.Sleep(3 * time.Second)
		require.Equal(t, "half-open", breaker(g))
	})
}

// The window rolls: failures on both sides of its first end belong together.
func TestBreakerWindowRolls(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusBadGateway) })
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		g := lonely(t, s.URL, review.Breaker{Failures: 3, Window: 12 * time.Second})
		time.Sleep(10 * time.Second)
		check(t, g, c)
		check(t, g, c)
		time.Sleep(4 * time.Second)
		check(t, g, c)
		require.Equal(t, "open", breaker(g))
	})
}

// Half of the calls failing opens it too, without five in a row.
func TestBreakerRatio(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n%2 == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		say(w, rejects)
	})
	g := gate(t, review.Options{}, s.URL)
	c := users(t, call(t, proposal{skill: "self.read"}), "ann", "bob", "cid") // no one user's flood
	for i := range 19 {
		check(t, g, c[i%3])
		require.Equal(t, "closed", breaker(g))
	}
	check(t, g, c[19%3])
	require.Equal(t, "open", breaker(g))
}

// What an attacker can bring about neither opens a breaker nor hides failures.
func TestUnjudgeableNeverCounts(t *testing.T) {
	for _, f := range failures() {
		if f.unavailable || f.sent == "0" || f.alone {
			continue
		}
		g := gate(t, review.Options{Graded: f.options.Graded}, play(t, "rules: [{reply: "+f.reply+"}]").BaseURL())
		c := call(t, proposal{skill: "self.read"})
		for range 12 {
			require.Equal(t, string(f.kind), check(t, g, c).Meta["failure"])
		}
		require.Equal(t, "closed", breaker(g), f.kind)
		require.Zero(t, g.State().Models[0].Failures, f.kind)
	}
	mixed := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 5 {
			say(w, "")
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	g, c := gate(t, review.Options{}, mixed.URL), call(t, proposal{skill: "self.read"})
	for range 6 {
		check(t, g, c)
	}
	require.Equal(t, "open", breaker(g))
}

// A caller that gives up is an error and no failure of the model. That holds for a cancel and
// for the caller's own deadline.
func TestCancellationIsNoFailure(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		server := w.serve("fast", hanging)
		g := w.gate(review.Options{}, "fast")
		for i := range 7 {
			ctx, cancel := context.WithCancel(t.Context())
			left := checking(ctx, g, c)
			synctest.Wait()
			require.Equal(t, 2*i+1, server.asked())
			cancel()
			require.ErrorIs(t, (<-left).err, context.Canceled)

			ctx, cancel = context.WithTimeout(t.Context(), soon)
			v, err := g.Check(ctx, c)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, sentinel.Verdict{}, v)
			require.Equal(t, 2*i+2, server.asked())
		}
		require.Equal(t, "closed", breaker(g))
		require.Equal(t, review.ModelState{Model: "fast", Breaker: "closed"}, g.State().Models[0])
	})
}

// A caller that gives up during one model's failure is not taken to the next.
func TestCancellationEndsTheChain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		cancel()
		<-r.Context().Done()
	})
	second := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	_, err := gate(t, review.Options{}, first.URL, second.URL).Check(ctx, call(t, proposal{skill: "self.read"}))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, second.requests())
}

// A caller that gives up while its question is repaired has given up: the first
// answer's fault becomes no verdict.
func TestCancellationDuringRepair(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			say(w, "prose "+approves)
			return
		}
		cancel()
		<-r.Context().Done()
	})
	v, err := gate(t, review.Options{}, s.URL).Check(ctx, call(t, proposal{skill: "self.read"}))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, sentinel.Verdict{}, v)
	require.Len(t, s.requests(), 2)
}

// Timeouts of one user may be the doing of what its agents have read, in however many turns.
// Beside one of another user within the window they are not, and only from then on do they
// count against the model.
func TestTimeouts(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	var own []sentinel.Call
	for i := range 5 {
		own = append(own, call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: []string{"ann", "bob"}[i%2]}}))
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", hanging)
		g := w.gate(review.Options{Timeout: soon}, "fast")
		for range 3 { // apart by more than the window
			v := check(t, g, c)
			require.Equal(t, "lone_timeout", v.Meta["failure"])
			require.Equal(t, sentinel.Ask, v.Outcome)
			require.Zero(t, g.State().Models[0].Failures)
			time.Sleep(review.DefaultWindow)
		}
		check(t, g, c)
		for range 2 { // other turns of the same user
			require.Equal(t, "lone_timeout", check(t, g, another(t, c)).Meta["failure"])
			require.Zero(t, g.State().Models[0].Failures, "which the breaker doesn't count")
		}
		for i, c := range own {
			v := check(t, g, c)
			require.Equal(t, "timeout", v.Meta["failure"])
			require.Equal(t, review.CodeDegraded, v.Code)
			if i < 4 {
				require.Equal(t, i+1, g.State().Models[0].Failures)
			}
		}
		require.Equal(t, "open", breaker(g))
		require.Equal(t, review.Stats{Unjudged: 11, Degraded: 5, Requests: 11,
			Failures: map[review.Failure]uint64{review.LoneTimeout: 6, review.Timeout: 5}}, g.State().Stats)
	})
}

// The model's own timeout is the same as the gate's.
func TestModelsOwnTimeout(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", hanging)
		m, err := llm.New(llm.Config{Name: "fast", Model: "plain", BaseURL: "http://fast/v1", Timeout: soon}, w.hc)
		require.NoError(t, err)
		g, err := review.New(review.Options{Models: []*llm.Client{m}})
		require.NoError(t, err)
		require.Equal(t, "lone_timeout", check(t, g, c).Meta["failure"])
		require.Equal(t, "lone_timeout", check(t, g, c).Meta["failure"], "of the same turn")
		require.Equal(t, "lone_timeout", check(t, g, another(t, c)).Meta["failure"], "of the same user")
		require.Equal(t, "timeout", check(t, g, users(t, c, "bob")[0]).Meta["failure"])
	})
}

// A half-open breaker lets one call through, refuses the others meanwhile, and a
// probe that hangs ends at its deadline. The user who made it hang keeps no other
// out: the next call is a probe again.
func TestHalfOpenProbe(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	other := call(t, proposal{skill: "self.read", args: `{"note":"another, which doesn't wait for the first"}`})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			switch n {
			case 1:
				rw.WriteHeader(http.StatusInternalServerError)
			case 2:
				hanging(rw, r, n)
			default:
				say(rw, approves)
			}
		})
		g := w.gate(review.Options{Timeout: 300 * time.Millisecond, Breaker: review.Breaker{Failures: 1, OpenFor: 1}}, "fast")
		require.Equal(t, "server", check(t, g, c).Meta["failure"])
		time.Sleep(time.Millisecond) // the breaker is half open
		probe := checking(t.Context(), g, c)
		synctest.Wait()
		require.Equal(t, "breaker_open", check(t, g, other).Meta["failure"])
		require.Equal(t, "lone_timeout", (<-probe).v.Meta["failure"]) // and the next is let through
		require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
		require.Equal(t, "closed", breaker(g))
	})
}

// Models fail apart: one model's breaker is not another's.
func TestBreakerPerModel(t *testing.T) {
	down := play(t, "rules: [{reply: {status: 500}}]")
	good := play(t, `rules: [{reply: {content: '`+approves+`'}}]`)
	g, c := gate(t, review.Options{}, down.BaseURL(), good.BaseURL()), call(t, proposal{skill: "self.irreversible"})
	for range 8 {
		require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
	}
	st := g.State()
	require.Equal(t, "open", st.Models[0].Breaker)
	require.Equal(t, review.BreakerOpen, st.Models[0].LastFailure)
	require.Equal(t, "closed", st.Models[1].Breaker)
	require.Len(t, down.Requests(), 5)
	require.Equal(t, uint64(8), st.Stats.Approved)
	require.Equal(t, uint64(13), st.Stats.Requests)
}

// Many callers at once share one gate: every verdict is its own call's, and the
// counters add up.
func TestConcurrentCallers(t *testing.T) {
	srv := play(t, `rules:
  - {when: {user_contains: '"n":0'}, reply: {content: '`+approves+`'}}
  - {when: {user_contains: '"n":1'}, reply: {content: '`+rejects+`'}}
  - {reply: {refusal: no}}`)
	g := gate(t, review.Options{}, srv.BaseURL())
	want := []sentinel.Outcome{sentinel.Allow, sentinel.Deny, sentinel.Ask}
	type result struct {
		n   int
		v   sentinel.Verdict
		err error
	}
	const callers = 48
	results := make(chan result, callers)
	for i := range callers {
		c := call(t, proposal{skill: "self.modify", args: fmt.Sprintf(`{"n":%d,"caller":%d}`, i%3, i)})
		go func() {
			v, err := g.Check(t.Context(), c)
			results <- result{i % 3, v, err}
		}()
	}
	for range callers {
		r := <-results
		require.NoError(t, r.err)
		require.Equal(t, want[r.n], r.v.Outcome)
	}
	require.Equal(t, review.Stats{Approved: callers / 3, Rejected: callers / 3, Unjudged: callers / 3, Requests: callers,
		Failures: map[review.Failure]uint64{review.Refusal: callers / 3}}, g.State().Stats)
}
