package review_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Only what may pass is sent again, at most as often as configured. Each request counts in the
// breaker and in the attempts.
func TestRetries(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	for _, tc := range []struct {
		name  string
		h     handler
		again bool
		kind  review.Failure
	}{
		{"reset", reset, true, review.Connect},
		{"408", status(408), true, review.BadRequest}, {"409", status(409), true, review.BadRequest},
		{"429", status(429), true, review.RateLimited},
		{"429 rate", refusing(429, "rate_limit_exceeded"), true, review.RateLimited},
		{"429 quota", refusing(429, "insufficient_quota"), false, review.Quota}, {"429 billing", refusing(429, "billing_hard_limit_reached"),
			false, review.Quota},
		{"500", status(500), true, review.Server}, {"503", status(503), true, review.Server}, {"529", status(529), true, review.Server},
		{"400", status(400), false, review.BadRequest}, {"401", status(401), false, review.Auth}, {"403", status(403), false, review.Auth},
		{"404", status(404), false, review.BadRequest}, {"413", status(413), false, review.BadRequest},
		{"422", status(422), false, review.BadRequest},
		{"hang", hanging, false, review.LoneTimeout}, {"empty", saying(""), false, review.Empty},
	} {
		for retries := range 4 {
			t.Run(tc.name+"/"+strconv.Itoa(retries), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					s := w.serve("fast", tc.h)
					g := w.gate(review.Options{Retries: retries, Breaker: review.Breaker{Failures: 50}}, "fast")
					v := check(t, g, c)
					want := 1
					if tc.again {
						want += retries
					}
					require.Equal(t, string(tc.kind), v.Meta["failure"])
					require.Equal(t, want, s.asked())
					require.Equal(t, strconv.Itoa(want), v.Meta["attempts"])
					counted := 0
					if tc.kind.Unavailable() {
						counted = want
					}
					require.Equal(t, counted, g.State().Models[0].Failures)
				})
			})
		}
	}
}

// A request that succeeds when it is sent again is a judgement like any other.
func TestRetrySucceeds(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	for _, h := range []handler{reset, status(408), status(429), status(502)} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.serve("fast", first(1, h, saying(approves)))
			began := time.Now()
			v := check(t, w.gate(review.Options{Retries: 1}, "fast"), c)
			require.Equal(t, sentinel.Allow, v.Outcome)
			require.False(t, v.Degraded)
			require.Equal(t, "2", v.Meta["attempts"])
			require.NotContains(t, v.Meta, "failover")
			require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
			require.Less(t, time.Since(began), 150*time.Millisecond)
		})
	}
}

// An unjudgeable failure is not undone by the model being down a moment later.
func TestRetryThatFindsTheModelDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", first(1, status(409), status(500)))
		v := check(t, w.gate(review.Options{Retries: 1}, "fast"), call(t, proposal{skill: "self.read"}))
		require.Equal(t, "request", v.Meta["failure"])
		require.Equal(t, sentinel.Ask, v.Outcome)
	})
}

// A breaker that opens ends the retries, and the failure that opened it is the
// one on record.
func TestBreakerEndsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", status(500))
		g := w.gate(review.Options{Retries: 5, Breaker: review.Breaker{Failures: 2}}, "fast")
		v := check(t, g, call(t, proposal{skill: "self.read"}))
		require.Equal(t, "server", v.Meta["failure"])
		require.Equal(t, "2", v.Meta["attempts"])
		require.Equal(t, 2, s.asked())
		require.Equal(t, "open", breaker(g))
	})
}

// The timeout is of the whole review: a chain of models that hang, each asked
// again, ends with it, and each has its share.
func TestTimeoutIsOfTheReview(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	const whole = 30 * time.Second
	for _, tc := range []struct {
		names    []string
		handlers []handler
		outcome  sentinel.Outcome
		model    string
		took     time.Duration
	}{
		{[]string{"a", "b"}, []handler{hanging, slow(14*time.Second, saying(approves))}, sentinel.Allow, "b", 29 * time.Second},
		{[]string{"a", "b", "c"}, []handler{hanging, hanging, slow(9*time.Second, saying(rejects))}, sentinel.Deny, "c", 29 * time.Second},
		// what one leaves the next has
		{[]string{"a", "b"}, []handler{status(401), slow(29*time.Second, saying(approves))}, sentinel.Allow, "b", 29 * time.Second},
		{[]string{"a", "b", "c"}, []handler{hanging, hanging, hanging}, sentinel.Ask, "a", whole},
		{[]string{"a"}, []handler{slow(29*time.Second, status(500))}, sentinel.Allow, "a", 29 * time.Second}, // degraded: no time to ask again
		{[]string{"a"}, []handler{slow(29*time.Second, saying("prose "+approves))}, sentinel.Ask, "a", whole},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			for i, name := range tc.names {
				w.serve(name, tc.handlers[i])
			}
			began := time.Now()
			v := check(t, w.gate(review.Options{Timeout: whole, Retries: 5}, tc.names...), c)
			require.Equal(t, tc.outcome, v.Outcome, v.Reason)
			require.Equal(t, tc.model, v.Meta["model"])
			require.LessOrEqual(t, time.Since(began), whole)
			require.InDelta(t, tc.took, time.Since(began), float64(time.Second))
		})
	}
}

// A timeout of a request that had little time left says nothing of the model:
// otherwise who makes calls wait could make an outage of it, and an outage lets
// reads through.
func TestLateRequestsAreNoOutage(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				slow(6*time.Second, saying("prose "+approves))(rw, r, n)
				return
			}
			hanging(rw, r, n)
		})
		g := w.gate(review.Options{Timeout: 10 * time.Second, Retries: 1}, "fast")
		require.Equal(t, "prose", check(t, g, c).Meta["failure"])
		require.Equal(t, 2, s.asked(), "asked again, with four seconds left")
		v := check(t, g, c)
		require.Equal(t, "lone_timeout", v.Meta["failure"])
		require.Equal(t, sentinel.Ask, v.Outcome)
		require.Equal(t, "timeout", check(t, g, users(t, c, "bob")[0]).Meta["failure"], "two that had their time are no chance")
	})
}

// A caller that gives up between two attempts has given up.
func TestCancellationBetweenRetries(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", status(429, "Retry-After", "2"))
		g := w.gate(review.Options{Retries: 3}, "fast")
		ctx, cancel := context.WithCancel(t.Context())
		done := checking(ctx, g, c)
		time.Sleep(time.Second)
		cancel()
		r := <-done
		require.ErrorIs(t, r.err, context.Canceled)
		require.Equal(t, sentinel.Verdict{}, r.v)
		require.Equal(t, 1, s.asked())
		require.Zero(t, g.State().Stats.Unjudged)
	})
}
