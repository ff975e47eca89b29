package review_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// asking runs the canaries of a gate until the test's bubble has no more to do.
func asking(t *testing.T, g *review.Gate) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.RunCanaries(ctx, 6*time.Hour) }()
	return func() { cancel(); require.NoError(t, <-done) }
}

// Where one user works alone with one request, a model that hangs is found out
// by canaries: its timeouts become an outage, the breaker opens, calls no longer
// wait, and when the model is well again it closes by itself.
func TestHangingModelIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var hangs atomic.Bool
		fast := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			if hangs.Load() {
				hanging(rw, r, n)
				return
			}
			say(rw, right([]byte(r.Header.Get("Body"))))
		})
		g := w.gate(review.Options{Timeout: 4 * time.Second}, "fast")
		defer asking(t, g)()
		synctest.Wait()
		c := call(t, proposal{skill: "self.read"})
		hangs.Store(true)
		require.Equal(t, "lone_timeout", check(t, g, c).Meta["failure"])
		require.Equal(t, 7, fast.asked(), "six canaries at the start")
		time.Sleep(time.Second)
		require.Equal(t, "timeout", check(t, g, c).Meta["failure"], "a canary hung meanwhile")
		require.Equal(t, "closed", breaker(g))
		time.Sleep(4 * time.Second)
		require.Equal(t, "open", breaker(g), "and then the others")
		began := time.Now()
		v := check(t, g, c)
		require.Equal(t, "breaker_open", v.Meta["failure"])
		require.Equal(t, review.CodeDegraded, v.Code)
		require.Zero(t, time.Since(began), "no call waits any more")
		require.Equal(t, 6+2+6, fast.asked(), "two calls, and each canary once more")

		hangs.Store(false)
		time.Sleep(review.DefaultOpenFor)
		require.Empty(t, check(t, g, c).Meta["failure"])
		require.Equal(t, "closed", breaker(g))
		require.Equal(t, review.CanaryPassed, g.State().Models[0].Canary, "hanging is no wrong verdict")
	})
}

// A model that hangs over what one user's agents have read and answers its
// canary has no outage: whatever that user does, its breaker stays closed, the
// timeouts stay the user's own, and it is looked at twice in a window.
func TestOneCallsHangingIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var canaries atomic.Int32
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			body := r.Header.Get("Body")
			if strings.Contains(body, "self.read") {
				hanging(rw, r, n)
				return
			}
			canaries.Add(1)
			say(rw, right([]byte(body)))
		})
		g := w.gate(review.Options{Timeout: 4 * time.Second}, "fast")
		defer asking(t, g)()
		synctest.Wait()
		c := call(t, proposal{skill: "self.read"})
		began := time.Now()
		for range 45 {
			require.Equal(t, "lone_timeout", check(t, g, c).Meta["failure"])
		}
		require.Equal(t, 3*time.Minute, time.Since(began))
		require.Equal(t, int32(6+6), canaries.Load(), "two in each window of a minute")
		require.Equal(t, "closed", breaker(g))
		require.Zero(t, g.State().Models[0].Failures)
	})
}

// A model in doubt that is wrong about the canary is asked all of them, and marked.
func TestDoubtFindsWrongVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var bad atomic.Bool
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			body := r.Header.Get("Body")
			switch {
			case strings.Contains(body, "self.read"):
				hanging(rw, r, n)
			case !bad.Load():
				say(rw, right([]byte(body)))
			case right([]byte(body)) == approves:
				say(rw, rejects)
			default:
				say(rw, approves)
			}
		})
		g := w.gate(review.Options{Timeout: 4 * time.Second}, "fast")
		defer asking(t, g)()
		synctest.Wait()
		require.Equal(t, review.CanaryPassed, g.State().Models[0].Canary)
		bad.Store(true)
		check(t, g, call(t, proposal{skill: "self.read"}))
		synctest.Wait()
		require.Equal(t, review.CanaryFailed, g.State().Models[0].Canary)
	})
}

// While canaries are asked, one of them is the probe of a breaker that is
// half-open: a call that makes the model hang keeps no other from it, however
// often it comes, and nothing goes ahead unjudged once the model is back.
func TestCanaryIsTheProbe(t *testing.T) {
	mallory := call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: "mallory"}})
	alice := call(t, proposal{skill: "self.create", grant: sentinel.GrantOptions{User: "alice"}})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var down atomic.Bool
		fast := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			body := r.Header.Get("Body")
			switch {
			case down.Load():
				rw.WriteHeader(http.StatusInternalServerError)
			case strings.Contains(body, "self.read"):
				hanging(rw, r, n)
			case strings.Contains(body, "self.create"):
				say(rw, rejects)
			default:
				say(rw, right([]byte(body)))
			}
		})
		g := w.gate(review.Options{Timeout: 8 * time.Second, Breaker: review.Breaker{Failures: 2}}, "fast")
		defer asking(t, g)()
		synctest.Wait()
		down.Store(true)
		require.Equal(t, "lone_server", check(t, g, another(t, alice)).Meta["failure"])
		synctest.Wait()
		require.Equal(t, "server", check(t, g, another(t, alice)).Meta["failure"], "a canary met it too, and is counted")
		require.Equal(t, "open", breaker(g))

		// Down still: the canary is asked once each time, and calls wait briefly.
		time.Sleep(review.DefaultOpenFor + time.Second)
		before := fast.asked()
		began := time.Now()
		require.Equal(t, "breaker_open", check(t, g, another(t, alice)).Meta["failure"])
		require.Less(t, time.Since(began), time.Second)
		require.Equal(t, before+1, fast.asked())
		require.Equal(t, "open", breaker(g))

		// Back: the first to come.
		down.Store(false)
		time.Sleep(review.DefaultOpenFor + time.Second)
		hung := checking(t.Context(), g, mallory)
		v := check(t, g, another(t, alice))
		require.Equal(t, review.CodeRejected, v.Code)
		require.Equal(t, "closed", breaker(g))
		require.Equal(t, "lone_timeout", (<-hung).v.Meta["failure"])
	})
}

// A probe that hangs is waited for briefly by those who come.
func TestProbeThatHangsIsNotWaitedFor(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", hanging)
		g := w.gate(review.Options{Timeout: 20 * time.Second, Breaker: review.Breaker{Failures: 1, OpenFor: time.Minute}}, "fast")
		defer asking(t, g)()
		time.Sleep(21 * time.Second)
		require.Equal(t, "open", breaker(g), "over the canary at the start")
		time.Sleep(time.Minute)
		began := time.Now()
		require.Equal(t, "breaker_open", check(t, g, c).Meta["failure"])
		require.InDelta(t, 2*time.Second, time.Since(began), float64(400*time.Millisecond))
	})
}

// A canary that is answered and has no judgement is no outage: the calls have the
// canary's own reason, by the column of what is unjudgeable, and another canary
// is asked when the breaker would be tried again, not sooner.
func TestProbeWithoutJudgement(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	for name, k := range map[string]struct {
		answer handler
		want   string
		each   int // requests of one examination
	}{
		"a revoked key": {status(401), "auth", 1},
		"no such model": {status(404), "request", 1},
		"prose":         {saying("yes"), "not_json", 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var mode atomic.Int32
				fast := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
					switch mode.Load() {
					case 0:
						say(rw, right([]byte(r.Header.Get("Body"))))
					case 1:
						rw.WriteHeader(http.StatusInternalServerError)
					default:
						k.answer(rw, r, n)
					}
				})
				g := w.gate(review.Options{Breaker: review.Breaker{Failures: 1}}, "fast")
				defer asking(t, g)()
				synctest.Wait()
				mode.Store(1)
				check(t, g, another(t, c))
				synctest.Wait() // for the canary
				require.Equal(t, "open", breaker(g))
				mode.Store(2)
				for range 3 {
					time.Sleep(review.DefaultOpenFor + time.Second)
					before, began := fast.asked(), time.Now()
					for range 20 {
						v := check(t, g, another(t, c))
						require.Equal(t, k.want, v.Meta["failure"])
						require.Equal(t, sentinel.Ask, v.Outcome)
					}
					require.Zero(t, time.Since(began))
					require.Equal(t, k.each, fast.asked()-before)
				}
				mode.Store(0)
				time.Sleep(review.DefaultOpenFor + time.Second)
				require.Empty(t, check(t, g, another(t, c)).Meta["failure"])
				require.Equal(t, "closed", breaker(g))
			})
		})
	}
}

// A slow model's canary is waited for, so that the first call after an outage is judged. Where
// a filter stops the canary that is drawn, another is asked.
func TestSlowProbeIsWaitedFor(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var down, drawn atomic.Bool
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			body := r.Header.Get("Body")
			switch {
			case down.Load():
				rw.WriteHeader(http.StatusInternalServerError)
			case strings.Contains(body, "self.read"):
				slow(3*time.Second, saying(rejects))(rw, r, n)
			case drawn.CompareAndSwap(true, false):
				say(rw, "")
			default:
				slow(3*time.Second, saying(right([]byte(body))))(rw, r, n)
			}
		})
		g := w.gate(review.Options{Breaker: review.Breaker{Failures: 1}}, "fast")
		defer asking(t, g)()
		time.Sleep(time.Minute)
		down.Store(true)
		check(t, g, another(t, c))
		down.Store(false)
		drawn.Store(true)
		time.Sleep(review.DefaultOpenFor + time.Second)
		require.Equal(t, review.CodeRejected, check(t, g, c).Code)
	})
}

// A canary that was answered acquits the model for a window: a user who makes it
// hang, with however many turns and accounts, the timeouts stay the calls' own.
func TestCanaryAcquits(t *testing.T) {
	var reads []sentinel.Call
	for _, user := range []string{"ann", "bob", "cid"} {
		reads = append(reads, call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: user}}))
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			if body := r.Header.Get("Body"); !strings.Contains(body, "self.read") {
				say(rw, right([]byte(body)))
				return
			}
			hanging(rw, r, n)
		})
		g := w.gate(review.Options{Timeout: 4 * time.Second}, "fast")
		defer asking(t, g)()
		synctest.Wait()
		for i := range 45 {
			require.Equal(t, "lone_timeout", check(t, g, another(t, reads[i%3])).Meta["failure"], i)
		}
		require.Equal(t, "closed", breaker(g))
	})
}

// A canary that is asked for a doubt waits behind no call: neither for a place,
// nor for the rate.
func TestCanaryWaitsBehindNoCall(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var hangs atomic.Bool
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			if hangs.Load() {
				hanging(rw, r, n)
				return
			}
			say(rw, right([]byte(r.Header.Get("Body"))))
		})
		g := w.gate(review.Options{Timeout: 20 * time.Second, Concurrency: 1, Terms: perMinute("fast", 6)}, "fast")
		defer asking(t, g)()
		time.Sleep(2 * time.Minute)
		hangs.Store(true)
		var all []<-chan result
		for range 16 {
			all = append(all, checking(t.Context(), g, c))
		}
		for _, r := range all {
			<-r
		}
		time.Sleep(41 * time.Second)
		require.Equal(t, "open", breaker(g))
	})
}

// A call that came before the breaker opened is no probe, though its turn comes while the
// breaker is half-open.
func TestLateCallIsNoProbe(t *testing.T) {
	mallory := call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: "mallory"}})
	alice := call(t, proposal{skill: "self.create", grant: sentinel.GrantOptions{User: "alice"}})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var down atomic.Bool
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			body := r.Header.Get("Body")
			switch {
			case down.Load():
				time.Sleep(time.Second)
				rw.WriteHeader(http.StatusInternalServerError)
			case strings.Contains(body, "self.read"):
				hanging(rw, r, n)
			case strings.Contains(body, "self.create"):
				say(rw, rejects)
			default:
				say(rw, right([]byte(body)))
			}
		})
		g := w.gate(review.Options{Breaker: review.Breaker{Failures: 1, OpenFor: 2 * time.Second}, Terms: perMinute("fast", 12)}, "fast")
		defer asking(t, g)()
		time.Sleep(time.Minute)
		down.Store(true)
		first := checking(t.Context(), g, alice)
		synctest.Wait()
		waits := checking(t.Context(), g, mallory) // for the rate, while the breaker opens
		<-first
		down.Store(false)
		time.Sleep(5 * time.Second)
		require.Equal(t, review.CodeRejected, check(t, g, another(t, alice)).Code)
		require.Contains(t, (<-waits).v.Meta["failure"], "timeout")
	})
}

// A canary has the time that a call has: what is too slow for the calls of a
// chain is too slow for it.
func TestCanaryHasACallsTime(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var late atomic.Bool
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			if late.Load() {
				time.Sleep(6 * time.Second)
			}
			say(rw, right([]byte(r.Header.Get("Body"))))
		})
		w.serve("second", saying(approves))
		g := w.gate(review.Options{Timeout: 10 * time.Second}, "fast", "second")
		defer asking(t, g)()
		time.Sleep(5 * time.Minute)
		late.Store(true)
		check(t, g, another(t, c))
		time.Sleep(11 * time.Second)
		require.Equal(t, "open", breaker(g))
	})
}

// When no goroutine asks canaries any more a call is the probe again, at once.
func TestProbesWithoutCanaries(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var down atomic.Bool
		fast := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, _ int) {
			if down.Load() {
				rw.WriteHeader(http.StatusInternalServerError)
				return
			}
			say(rw, right([]byte(r.Header.Get("Body"))))
		})
		g := w.gate(review.Options{Breaker: review.Breaker{Failures: 1}}, "fast")
		stop := asking(t, g)
		synctest.Wait()
		stop()
		down.Store(true)
		check(t, g, another(t, c))
		down.Store(false)
		time.Sleep(review.DefaultOpenFor + time.Second)
		before, began := fast.asked(), time.Now()
		require.Empty(t, check(t, g, another(t, c)).Meta["failure"])
		require.Zero(t, time.Since(began))
		require.Equal(t, before+1, fast.asked())
	})
}
