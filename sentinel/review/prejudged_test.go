package review_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// A call that comes while its question is asked ahead is the one that this was
// for: its verdict says what asking took, a repair and a second opinion too; of
// two that come the other shares it.
func TestCallComesWhileItIsPrejudged(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		fast := w.serve("fast", func(rw http.ResponseWriter, _ *http.Request, n int) {
			time.Sleep(time.Second)
			say(rw, []string{"```json\n" + approves + "\n```", approves}[min(n-1, 1)])
		})
		strong := w.serve("strong", saying(approves))
		g := w.gate(review.Options{}, "fast", "|", "strong")
		var all sync.WaitGroup
		all.Go(func() { g.Prejudge(t.Context(), c) })
		synctest.Wait()
		verdicts := make(chan sentinel.Verdict, 2)
		for range 2 {
			all.Go(func() {
				v, err := g.Check(t.Context(), c)
				if err != nil {
					t.Error(err)
				}
				verdicts <- v
			})
			synctest.Wait()
		}
		all.Wait()
		from := map[string]sentinel.Verdict{}
		for range 2 {
			v := <-verdicts
			from[v.Meta["from"]] = v
		}
		require.Len(t, from, 2)
		require.Equal(t, "3", from["ahead"].Meta["attempts"])
		require.Equal(t, "21 9", from["ahead"].Meta["tokens_in"]+" "+from["ahead"].Meta["tokens_out"])
		require.Equal(t, "fenced", from["ahead"].Meta["repaired"])
		require.Equal(t, "approve", from["ahead"].Meta["second"])
		require.Equal(t, "0", from["shared"].Meta["attempts"])
		require.Empty(t, from["shared"].Meta["repaired"])
		require.Equal(t, []int{2, 1}, []int{fast.asked(), strong.asked()})
		stats := g.State().Stats
		require.Equal(t, uint64(3), stats.Requests)
		require.Equal(t, uint64(1), stats.Escalated)
		require.Equal(t, map[review.Failure]uint64{review.Fenced: 1}, stats.Repaired)
	})
}

// Requests are counted whatever becomes of the question: one that no call came
// for was sent all the same.
func TestRequestsAheadAreCounted(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{}, s.URL)
	g.Prejudge(t.Context(), call(t, proposal{skill: "self.modify"}))
	require.Equal(t, uint64(1), g.State().Stats.Requests)
}

// A failure of a question asked ahead is what it is for the call alone, if the call has come
// by then: in an outage unavailable, and otherwise its own.
func TestFailureOfAPrejudgedCall(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	for _, outage := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.serve("fast", hanging)
			g := w.gate(review.Options{}, "fast")
			want := "lone_timeout"
			if outage {
				want = "timeout"
				for _, user := range []string{"ann", "bob"} {
					check(t, g, call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: user}}))
				}
			}
			go g.Prejudge(t.Context(), c)
			synctest.Wait()
			require.Equal(t, want, check(t, g, c).Meta["failure"])
		})
	}
}

// While a model is away or wrong about its canaries, nothing is asked ahead and nothing that
// was is kept: what another model said instead is for that time.
func TestNothingIsPrejudgedWhileDegraded(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var down atomic.Bool
		down.Store(true)
		w.serve("fast", func(rw http.ResponseWriter, _ *http.Request, _ int) {
			if down.Load() {
				rw.WriteHeader(http.StatusInternalServerError)
				return
			}
			say(rw, rejects)
		})
		second := w.serve("second", saying(approves))
		g := w.gate(review.Options{Breaker: review.Breaker{Failures: 1, OpenFor: time.Minute}}, "fast", "second")
		g.Prejudge(t.Context(), c) // which no breaker counts
		require.Equal(t, 1, second.asked())
		check(t, g, another(t, c))
		require.Equal(t, "open", breaker(g))
		g.Prejudge(t.Context(), c)
		require.Equal(t, 2, second.asked(), "nothing more")
		down.Store(false)
		time.Sleep(time.Minute + time.Second)
		require.Equal(t, sentinel.Deny, check(t, g, another(t, c)).Outcome)
		v := check(t, g, c)
		require.Equal(t, sentinel.Deny, v.Outcome)
		require.Empty(t, v.Meta["from"])
	})
	t.Run("canary", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
		g := gate(t, review.Options{}, s.URL)
		g.Prejudge(t.Context(), c)
		list, err := g.AskCanaries(t.Context(), review.CanaryOptions{})
		require.NoError(t, err)
		require.Equal(t, review.CanaryFailed, list[0].Result)
		require.Empty(t, check(t, g, c).Meta["from"])
		asked := len(s.requests())
		g.Prejudge(t.Context(), c)
		require.Len(t, s.requests(), asked)
	})
}

// What a model said ahead is worth nothing once it has failed its canaries. It stays so if the
// model passes them a moment later, and if it said so just then.
func TestPrejudgedBeforeAFailedCanary(t *testing.T) {
	before, during := call(t, proposal{skill: "self.irreversible"}), call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var wrong atomic.Bool
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, _ int) {
			body := r.Header.Get("Body")
			switch {
			case strings.Contains(body, "self.modify"):
				time.Sleep(5 * time.Second)
				say(rw, approves)
			case wrong.Load():
				say(rw, rejects)
			default:
				say(rw, right([]byte(body)))
			}
		})
		g := w.gate(review.Options{}, "fast")
		g.Prejudge(t.Context(), before)
		go g.Prejudge(t.Context(), during)
		synctest.Wait()
		for _, fails := range []bool{true, false} {
			wrong.Store(fails)
			list, err := g.AskCanaries(t.Context(), review.CanaryOptions{})
			require.NoError(t, err)
			require.Equal(t, fails, list[0].Result == review.CanaryFailed)
			if fails {
				time.Sleep(6 * time.Second)
			}
		}
		require.Empty(t, check(t, g, before).Meta["from"])
		require.Empty(t, check(t, g, during).Meta["from"])
	})
}

// Two desks that foresee the same make one question of it, and it is still for
// the call that comes.
func TestPrejudgedTwice(t *testing.T) {
	c := call(t, proposal{skill: "self.modify"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", slow(time.Second, saying(approves)))
		g := w.gate(review.Options{}, "fast")
		for range 2 {
			go g.Prejudge(t.Context(), c)
			synctest.Wait()
		}
		v := check(t, g, c)
		require.Equal(t, "ahead", v.Meta["from"])
		require.Equal(t, "1", v.Meta["attempts"])
		require.Equal(t, 1, s.asked())
	})
}
