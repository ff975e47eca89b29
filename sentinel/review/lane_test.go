package review_test

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

func perMinute(name string, n int) map[string]review.Terms {
	return map[string]review.Terms{name: {RequestsPerMinute: n}}
}

// Requests wait for the rate, and none is sent before its time.
func TestRate(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", saying(approves))
		g := w.gate(review.Options{Terms: perMinute("fast", 120)}, "fast")
		began := time.Now()
		var all []<-chan result
		for range 20 {
			all = append(all, checking(t.Context(), g, c))
		}
		time.Sleep(5*time.Second - time.Millisecond)
		synctest.Wait()
		require.Equal(t, 2+9, s.asked(), "two at once, and one each half second")
		for _, r := range all {
			require.Equal(t, sentinel.Allow, (<-r).v.Outcome)
		}
		require.Equal(t, 9*time.Second, time.Since(began))
	})
}

// What can't be sent in time is busy: unjudgeable, because a user who makes many
// calls could bring it about. No breaker counts it, and the next model is asked.
func TestBusy(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", saying(approves))
		w.serve("primary", saying(rejects))
		o := review.Options{Terms: perMinute("fast", 1), Unjudgeable: sentinel.OutageTable{"read": sentinel.Defer}}
		g := w.gate(o, "fast")
		require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
		began := time.Now()
		for range 8 {
			v := check(t, g, c)
			require.Equal(t, "busy", v.Meta["failure"])
			require.Equal(t, review.CodeUnjudgeable, v.Code)
			require.Equal(t, sentinel.Defer, v.Outcome)
			require.Equal(t, time.Minute, v.RetryAfter, "the rate knows when")
			require.Equal(t, "0", v.Meta["attempts"])
		}
		require.Zero(t, time.Since(began), "no call waits for what can't come")
		require.Equal(t, 1, s.asked())
		require.Equal(t, review.ModelState{Model: "fast", Breaker: "closed", LastFailure: review.Busy}, g.State().Models[0])
		time.Sleep(time.Minute)
		require.Equal(t, sentinel.Allow, check(t, g, c).Outcome, "who did not wait took nothing of the rate")

		g = w.gate(o, "fast", "primary")
		check(t, g, c)
		v := check(t, g, c)
		require.Equal(t, "primary", v.Meta["model"])
		require.Equal(t, "fast=busy", v.Meta["failover"])
	})
}

// So many requests are with a model at a time and no more; the others wait, and
// all are judged.
func TestConcurrency(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var now, most atomic.Int32
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			if k := now.Add(1); k > most.Load() {
				most.Store(k)
			}
			time.Sleep(time.Second)
			now.Add(-1)
			say(rw, approves)
		})
		g := w.gate(review.Options{Concurrency: 3}, "fast")
		began := time.Now()
		var all []<-chan result
		for range 30 {
			all = append(all, checking(t.Context(), g, c))
		}
		synctest.Wait()
		require.Equal(t, 3, g.State().Models[0].UnderWay)
		for _, r := range all {
			require.Equal(t, sentinel.Allow, (<-r).v.Outcome)
		}
		require.Equal(t, int32(3), most.Load())
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Zero(t, g.State().Models[0].UnderWay)
	})
}

// A call without room waits half of the model's turn, so that time is left for an answer. Then
// it is busy. A caller that gives up while it waits is no failure.
func TestNoRoomInTime(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", hanging)
		g := w.gate(review.Options{Concurrency: 1, Timeout: 20 * time.Second}, "fast")
		holder := checking(t.Context(), g, c)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		quitter := checking(ctx, g, c)
		time.AfterFunc(5*time.Second, cancel)
		short, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		hasty := checking(short, g, c)
		began := time.Now()
		require.Equal(t, "busy", check(t, g, c).Meta["failure"])
		require.Equal(t, 10*time.Second, time.Since(began))
		require.ErrorIs(t, (<-hasty).err, context.DeadlineExceeded)
		require.ErrorIs(t, (<-quitter).err, context.Canceled)
		require.Equal(t, "lone_timeout", (<-holder).v.Meta["failure"])
		require.Equal(t, map[review.Failure]uint64{review.Busy: 1, review.LoneTimeout: 1}, g.State().Stats.Failures)
		require.Zero(t, g.State().Models[0].Failures)
	})
}

// A model that asked for a pause isn't asked before its end, by any call.
func TestRetryAfterHoldsForAll(t *testing.T) {
	read, modify := call(t, proposal{skill: "self.read"}), call(t, proposal{skill: "self.modify"})
	for code, kind := range map[int]string{429: "rate_limited", 503: "server"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			s := w.serve("fast", first(1, status(code, "Retry-After", "20"), saying(approves)))
			w.serve("primary", saying(rejects))
			o := review.Options{Retries: 5, Unavailable: sentinel.OutageTable{"modify": sentinel.Defer}}
			g := w.gate(o, "fast")
			require.Equal(t, "1", check(t, g, read).Meta["attempts"], "too long to be waited for")
			time.Sleep(5 * time.Second)
			for range 10 {
				v := check(t, g, modify)
				require.Equal(t, kind, v.Meta["failure"])
				require.Equal(t, sentinel.Defer, v.Outcome)
				require.Equal(t, 15*time.Second, v.RetryAfter)
				require.Equal(t, "0", v.Meta["attempts"])
			}
			require.Equal(t, 1, s.asked())
			require.Equal(t, 1, g.State().Models[0].Failures, "who isn't asked doesn't fail")
			require.Equal(t, 15*time.Second, g.State().Models[0].Paused)
			time.Sleep(15 * time.Second)
			require.Equal(t, sentinel.Allow, check(t, g, modify).Outcome)
			require.Zero(t, g.State().Models[0].Paused)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", status(429, "Retry-After", "20"))
		w.serve("primary", saying(rejects))
		g, began := w.gate(review.Options{}, "fast", "primary"), time.Now()
		for range 2 {
			require.Equal(t, "fast=rate_limited", check(t, g, modify).Meta["failover"])
		}
		require.Zero(t, time.Since(began), "the next model comes at once")
	})
}

// A server is heeded for as long as a breaker would stay open, and not longer:
// who can make it say so can't keep everybody from it for an hour.
func TestLongPauseIsCut(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", first(1, status(429, "Retry-After", "3600"), saying(approves)))
		g := w.gate(review.Options{Breaker: review.Breaker{OpenFor: 10 * time.Second}}, "fast")
		require.Equal(t, "rate_limited", check(t, g, c).Meta["failure"])
		time.Sleep(7 * time.Second) // more is left than is waited for
		require.Equal(t, "rate_limited", check(t, g, c).Meta["failure"])
		require.Equal(t, 1, s.asked())
		time.Sleep(3 * time.Second)
		require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
	})
}

// A pause that begins while a call waits for its place holds for that call too.
func TestPauseReachesThoseWhoWait(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", first(1, slow(time.Second, status(429, "Retry-After", "20")), saying(approves)))
		g := w.gate(review.Options{Concurrency: 1}, "fast")
		one, two := checking(t.Context(), g, c), checking(t.Context(), g, c)
		sent := map[string]int{(<-one).v.Meta["attempts"]: 1, (<-two).v.Meta["attempts"]: 1}
		require.Equal(t, map[string]int{"0": 1, "1": 1}, sent)
		require.Equal(t, 1, s.asked())
		require.Equal(t, map[review.Failure]uint64{review.RateLimited: 2}, g.State().Stats.Failures)
	})
}

// A short pause is waited for: by the call that was told, if it may try again,
// and by those that come meanwhile.
func TestShortPauseIsWaitedFor(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	for retries, want := range []string{"rate_limited", ""} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			var times []time.Duration
			began := time.Now()
			w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
				times = append(times, time.Since(began)) // one at a time: the calls are spread
				first(1, status(429, "Retry-After-Ms", "1500"), saying(approves))(rw, r, n)
			})
			g := w.gate(review.Options{Retries: retries}, "fast")
			told := checking(t.Context(), g, c)
			time.Sleep(500 * time.Millisecond)
			later := checking(t.Context(), g, c)
			require.Equal(t, want, (<-told).v.Meta["failure"])
			require.Equal(t, sentinel.Allow, (<-later).v.Outcome)
			require.Len(t, times, 2+retries)
			for _, at := range times[1:] {
				require.GreaterOrEqual(t, at, 1500*time.Millisecond)
				require.Less(t, at, 2*time.Second)
			}
		})
	}
}

// A pause that a refusal of the request asks for holds for no call: what brought
// it about may be the call.
func TestRefusalsPauseNobody(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	for _, code := range []int{400, 401, 404, 413, 422} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.serve("fast", first(1, status(code, "Retry-After", "20"), saying(approves)))
			g := w.gate(review.Options{}, "fast")
			check(t, g, c)
			require.Equal(t, sentinel.Allow, check(t, g, c).Outcome, strconv.Itoa(code))
		})
	}
}

// A breaker that is open isn't waited for, also where everybody else waits.
func TestOpenBreakerDoesNotWait(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", status(500))
		g := w.gate(review.Options{Breaker: review.Breaker{Failures: 1}, Terms: perMinute("fast", 30)}, "fast")
		require.Equal(t, "server", check(t, g, c).Meta["failure"])
		began := time.Now()
		require.Equal(t, "breaker_open", check(t, g, c).Meta["failure"])
		require.Zero(t, time.Since(began))
	})
}

// A thousand calls at once against a slow model are all judged, and nothing is left of them.
func TestManyAtOnce(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", slow(300*time.Millisecond, saying(approves)))
		g := w.gate(review.Options{Concurrency: 100}, "fast")
		began := time.Now()
		var all []<-chan result
		for range 1000 {
			all = append(all, checking(t.Context(), g, c))
		}
		for _, r := range all {
			require.Equal(t, sentinel.Allow, (<-r).v.Outcome)
		}
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Equal(t, review.ModelState{Model: "fast", Breaker: "closed"}, g.State().Models[0])
	})
}

// Users have their turns at the rate too: one who makes a hundred calls keeps
// another waiting for one of them, and who can't be served in time for the
// own calls before it is told at once.
func TestRateIsShared(t *testing.T) {
	ann := call(t, proposal{skill: "self.modify", grant: sentinel.GrantOptions{User: "ann"}})
	bob := call(t, proposal{skill: "self.modify", grant: sentinel.GrantOptions{User: "bob"}})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", saying(approves))
		g := w.gate(review.Options{Terms: perMinute("fast", 60), Timeout: 20 * time.Second}, "fast")
		began := time.Now()
		var all []<-chan result
		for range 100 {
			all = append(all, checking(t.Context(), g, ann))
			synctest.Wait()
		}
		require.Zero(t, time.Since(began))
		require.Equal(t, uint64(89), g.State().Stats.Failures[review.Busy], "no call waits for what can't come")
		require.Equal(t, sentinel.Allow, check(t, g, bob).Outcome)
		require.Equal(t, 3*time.Second, time.Since(began), "after the one under way and the one whose turn it was")
		busy := 0
		for _, r := range all {
			if v := (<-r).v; v.Meta["failure"] == "busy" {
				busy++
			}
		}
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, 11, s.asked(), "one at once and one each second, for half of the turn")
		require.Equal(t, 90, busy)
	})
}
