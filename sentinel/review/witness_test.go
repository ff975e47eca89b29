package review_test

import (
	"fmt"
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

// provoked are the ways in which what a call asks about can make a server fail. Each has what
// that is called while no other user has met it, and where one has.
var provoked = []struct {
	name        string
	h           handler
	lone, known string
}{
	{"status 500", status(500), "lone_server", "server"},
	{"status 503 that holds", status(503, "Retry-After", "20"), "lone_server", "server"},
	{"status 429", status(429), "lone_rate_limited", "rate_limited"},
	{"status 429 that holds", status(429, "Retry-After", "20"), "lone_rate_limited", "rate_limited"},
	{"a spent quota", refusing(429, "insufficient_quota"), "lone_quota", "quota"},
	{"a broken connection", reset, "lone_connect", "connect"},
	{"nothing", hanging, "lone_timeout", "timeout"},
}

// failsOver serves a model that fails over self.read, rejects other calls, and
// is right about canaries.
func (w *world) failsOver(h handler) {
	w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
		switch body := r.Header.Get("Body"); {
		case strings.Contains(body, "self.read"):
			h(rw, r, n)
		case strings.Contains(body, "self.create"):
			say(rw, rejects)
		default:
			say(rw, right([]byte(body)))
		}
	})
}

// Whatever one call makes the server do, it is no outage: the call is
// unjudgeable in every conversation and turn of its user, no breaker opens, and
// others are judged meanwhile, also where the server asked for a pause. Where
// canaries are asked that holds for several users as well.
func TestProvokedFailureIsNoOutage(t *testing.T) {
	for _, p := range provoked {
		for _, canaries := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/canaries=%t", p.name, canaries), func(t *testing.T) {
				read, create := call(t, proposal{skill: "self.read"}), call(t, proposal{skill: "self.create"})
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.failsOver(p.h)
					g := w.quiet(review.Options{Timeout: 4 * time.Second, Breaker: review.Breaker{Failures: 2}}, "fast")
					who := []string{"mallory"}
					if canaries {
						defer asking(t, g)()
						synctest.Wait()
						who = []string{"mallory", "eve", "bob"}
					}
					for i := range 24 {
						c := users(t, read, who[i%len(who)])[0]
						v := check(t, g, inConversation(t, c, fmt.Sprintf("c%d", i)))
						require.Equal(t, p.lone, v.Meta["failure"], i)
						require.Equal(t, sentinel.Ask, v.Outcome)
						require.False(t, v.Degraded)
						v = check(t, g, users(t, create, "alice")[0])
						require.Equal(t, review.CodeRejected, v.Code)
						time.Sleep(3 * time.Second)
					}
					require.Equal(t, "closed", breaker(g))
					require.Zero(t, g.State().Stats.Degraded)
				})
			})
		}
	}
}

// inConversation is a call of the same user in a conversation of its own.
func inConversation(t testing.TB, c sentinel.Call, id string) sentinel.Call {
	t.Helper()
	return call(t, proposal{skill: c.Name(), args: c.Args(), grant: sentinel.GrantOptions{User: c.Grant().User(), Conversation: id,
		ID: "g" + id}})
}

// Where canaries are switched off another user's call decides: the second who
// meets a failure has found an outage, and then so has the first.
func TestAnotherUsersFailureIsAnOutage(t *testing.T) {
	for _, p := range provoked {
		t.Run(p.name, func(t *testing.T) {
			read := call(t, proposal{skill: "self.read"})
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.serve("fast", p.h)
				g := w.quiet(review.Options{Timeout: 4 * time.Second}, "fast")
				c := users(t, read, "ann", "bob", "ann")
				require.Equal(t, p.lone, check(t, g, c[0]).Meta["failure"])
				for _, c := range c[1:] {
					v := check(t, g, c)
					require.Equal(t, p.known, v.Meta["failure"])
					require.True(t, v.Degraded)
				}
				time.Sleep(review.DefaultWindow + time.Second)
				require.Equal(t, p.lone, check(t, g, users(t, read, "ann")[0]).Meta["failure"], "bob's is too old")
			})
		})
	}
}

// A question that was asked ahead bears witness to nothing: no call was made yet, and
// a caller who makes a model talk could have many asked.
func TestPrejudgedFailureIsNoWitness(t *testing.T) {
	read := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var asked atomic.Int32
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			asked.Add(1)
			status(500)(rw, r, n)
		})
		g := w.quiet(review.Options{Timeout: 4 * time.Second}, "fast")
		c := users(t, read, "ann", "bob", "cid")
		g.Prejudge(t.Context(), c[0])
		require.Positive(t, asked.Load(), "it was asked")
		require.Equal(t, "lone_server", check(t, g, c[1]).Meta["failure"], "ann's was asked ahead")
		require.Equal(t, "server", check(t, g, c[2]).Meta["failure"], "bob's wasn't")
	})
}

// A failure bears witness to its like alone: one user's broken connection is no
// reason to believe another's status 500.
func TestUnlikeFailuresAreNoOutage(t *testing.T) {
	read := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) { provoked[[]int{5, 0, 2, 6}[n-1]].h(rw, r, n) })
		g := w.quiet(review.Options{Timeout: 4 * time.Second}, "fast")
		for i, c := range users(t, read, "ann", "bob", "cid", "dan") {
			require.Equal(t, provoked[[]int{5, 0, 2, 6}[i]].lone, check(t, g, c).Meta["failure"])
		}
	})
}

// One user alone finds an outage by a canary that is asked at once: the first
// call is unjudgeable, the next are degraded, the breaker opens, and it closes
// when the server is back. Canaries are asked twice in a window at most.
func TestCanaryFindsTheOutage(t *testing.T) {
	for _, i := range []int{0, 2, 4, 5} { // none that holds
		p := provoked[i]
		t.Run(p.name, func(t *testing.T) {
			read := call(t, proposal{skill: "self.read"})
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var down atomic.Bool
				var canaries atomic.Int32
				w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
					if body := r.Header.Get("Body"); !strings.Contains(body, "self.read") {
						canaries.Add(1)
					}
					if down.Load() {
						p.h(rw, r, n)
						return
					}
					say(rw, right([]byte(r.Header.Get("Body"))))
				})
				g := w.quiet(review.Options{Timeout: 4 * time.Second, Breaker: review.Breaker{Failures: 6}}, "fast")
				defer asking(t, g)()
				synctest.Wait()
				down.Store(true)
				require.Equal(t, p.lone, check(t, g, another(t, read)).Meta["failure"])
				synctest.Wait()
				require.Equal(t, int32(7), canaries.Load(), "six at the start, and one at once")
				for range 4 {
					v := check(t, g, another(t, read))
					require.Equal(t, p.known, v.Meta["failure"])
					require.True(t, v.Degraded)
				}
				require.Equal(t, "closed", breaker(g))
				time.Sleep(21 * time.Second)
				require.Equal(t, p.known, check(t, g, another(t, read)).Meta["failure"])
				require.Equal(t, "open", breaker(g))
				require.Equal(t, int32(7), canaries.Load(), "within half a window no other")
				down.Store(false)
				time.Sleep(review.DefaultOpenFor + time.Second)
				require.Empty(t, check(t, g, another(t, read)).Meta["failure"])
			})
		})
	}
}

// limited serves a model that answers so many requests in a minute.
func (w *world) limited(most int) {
	var n atomic.Int32
	var since atomic.Int64
	w.serve("fast", func(rw http.ResponseWriter, r *http.Request, k int) {
		now := time.Now()
		if was := since.Load(); now.Sub(time.Unix(0, was)) >= time.Minute {
			since.Store(now.UnixNano())
			n.Store(0)
		}
		if int(n.Add(1)) > most {
			status(429)(rw, r, k)
			return
		}
		say(rw, right([]byte(r.Header.Get("Body"))))
	})
}

// A limit that one user's flood has used up is no outage, whichever user and whatever canary
// meets it: else a flood would be the way to have one's reads, or another's, go ahead
// unjudged. No breaker counts it.
func TestFloodIsNoOutage(t *testing.T) {
	for _, canaries := range []bool{false, true} {
		t.Run(fmt.Sprintf("canaries=%t", canaries), func(t *testing.T) {
			read := call(t, proposal{skill: "self.read"})
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.limited(40)
				g := w.quiet(review.Options{Breaker: review.Breaker{Failures: 2}}, "fast")
				if canaries {
					defer asking(t, g)()
					synctest.Wait()
				}
				require.Empty(t, check(t, g, users(t, read, "alice")[0]).Meta["failure"])
				for i := range 60 {
					v := check(t, g, inConversation(t, users(t, read, "mallory")[0], fmt.Sprintf("c%d", i)))
					require.Contains(t, []string{"", "lone_rate_limited"}, v.Meta["failure"])
				}
				for range 3 { // also when the flood is over
					synctest.Wait()
					for _, c := range users(t, read, "mallory", "alice", "bob") {
						v := check(t, g, c)
						require.Equal(t, "lone_rate_limited", v.Meta["failure"])
						require.Equal(t, sentinel.Ask, v.Outcome)
					}
				}
				require.Equal(t, "closed", breaker(g))
				require.Zero(t, g.State().Stats.Degraded)
				time.Sleep(time.Minute)
				require.Empty(t, check(t, g, users(t, read, "alice")[0]).Meta["failure"])
			})
		})
	}
}

// A limit that the users' calls have used up together is no one user's doing.
func TestSharedLimitIsAnOutage(t *testing.T) {
	read := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limited(30)
		g := w.quiet(review.Options{}, "fast")
		for range 10 {
			for _, c := range users(t, read, "ann", "bob", "cid") {
				require.Empty(t, check(t, g, c).Meta["failure"])
			}
		}
		c := users(t, read, "ann", "bob")
		require.Equal(t, "lone_rate_limited", check(t, g, c[0]).Meta["failure"])
		require.Equal(t, "rate_limited", check(t, g, c[1]).Meta["failure"])
	})
}

// A pause that a server asked for over one user's call is that user's. One that is known to be
// the server's own is everybody's.
func TestPauseOfOneUser(t *testing.T) {
	create := call(t, proposal{skill: "self.create"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", first(1, status(503, "Retry-After", "20"), saying(rejects)))
		g := w.quiet(review.Options{}, "fast")
		require.Equal(t, "lone_server", check(t, g, users(t, create, "mallory")[0]).Meta["failure"])
		require.Equal(t, "lone_server", check(t, g, users(t, create, "mallory")[0]).Meta["failure"])
		require.Equal(t, 1, s.asked(), "which was not sent")
		require.Zero(t, g.State().Models[0].Paused)
		require.Equal(t, review.CodeRejected, check(t, g, users(t, create, "alice")[0]).Code)
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", status(503, "Retry-After", "20"))
		g := w.quiet(review.Options{}, "fast")
		for i, want := range []string{"lone_server", "server", "server"} {
			v := check(t, g, users(t, create, []string{"ann", "bob", "cid"}[i])[0])
			require.Equal(t, want, v.Meta["failure"])
		}
		require.Equal(t, 2, s.asked())
		require.Positive(t, g.State().Models[0].Paused)
	})
}

// A connection that was refused is believed at once, of one user and with canaries
// or without: nothing in a call brings that about.
func TestRefusedConnectionIsBelieved(t *testing.T) {
	v := check(t, quiet(t, review.Options{}, closedPort(t)), call(t, proposal{skill: "self.read"}))
	require.Equal(t, "connect", v.Meta["failure"])
	require.True(t, v.Degraded)
	v = check(t, quiet(t, review.Options{}, "http://no-such-host.invalid/v1"), call(t, proposal{skill: "self.read"}))
	require.Equal(t, "connect", v.Meta["failure"], "no such host")
	require.True(t, v.Degraded)
}
