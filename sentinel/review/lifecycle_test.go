package review_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Who waits for what was begun ahead, and not brought to an end, asks himself.
func TestWhoWaitsForAnEndedForesightAsks(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", slow(time.Second, saying(approves)))
		g := w.gate(review.Options{}, "fast")
		ahead, cancel := context.WithCancel(t.Context())
		go g.Prejudge(ahead, c)
		synctest.Wait()
		waits := make(chan result, 1)
		go func() {
			v, err := g.Check(t.Context(), c)
			waits <- result{v, err}
		}()
		synctest.Wait()
		require.Equal(t, 1, s.asked(), "it waits")
		cancel()
		r := <-waits
		require.NoError(t, r.err)
		require.Equal(t, sentinel.Allow, r.v.Outcome)
		require.Equal(t, sentinel.Judged, r.v.State)
		require.Empty(t, r.v.Meta["from"])
		require.Equal(t, 2, s.asked())
	})
}

// Without a schedule, and without models, no canaries are run, and that
// goes on until it is ended.
func TestNoScheduleIsWaitedOut(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	for name, g := range map[string]*review.Gate{"no schedule": gate(t, review.Options{}, s.URL),
		"no models": gate(t, review.Options{Mode: review.Off})} {
		every := time.Duration(0)
		if name == "no models" {
			every = time.Hour
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			began := time.Now()
			require.NoError(t, g.RunCanaries(ctx, every))
			require.Equal(t, 24*time.Hour, time.Since(began), name)
		})
	}
	require.Empty(t, s.requests())
}

// The observer is told that a call goes ahead without a judgement.
func TestObserverIsToldOfDegradation(t *testing.T) {
	down := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) })
	for skill, degraded := range map[string]bool{"self.read": true, "self.modify": false} {
		seen := &watch{}
		v := check(t, gate(t, review.Options{Observer: seen}, down.URL), call(t, proposal{skill: skill}))
		require.Equal(t, degraded, v.Degraded)
		require.Equal(t, degraded, seen.reviews[0].Degraded)
		require.Equal(t, review.Server, seen.reviews[0].Failure)
	}
}

// A request that was sent too late to be answered is no sign of an outage. That holds for a
// call of another turn, too.
func TestLateRequestsOfAnotherTurnAreNoOutage(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				slow(6*time.Second, saying("prose "+approves))(rw, r, n)
				return
			}
			hanging(rw, r, n)
		})
		g := w.gate(review.Options{Timeout: 10 * time.Second}, "fast")
		require.Equal(t, "prose", check(t, g, c).Meta["failure"])
		v := check(t, g, users(t, c, "bob")[0])
		require.Equal(t, "lone_timeout", v.Meta["failure"], "of the repair, with four of ten seconds, nothing is said")
		require.Equal(t, sentinel.Ask, v.Outcome)
	})
}

// A grant of no skills is told as one, and a long request that just fits as it is. One that is
// a byte longer isn't, for a call that does more than read.
func TestScopeOfNoneAndLongRequests(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{}, s.URL)
	check(t, g, call(t, proposal{skill: "self.modify", scope: []string{}}))
	_, user := lastMessages(t, s)
	require.Contains(t, user, `"scope":[],`)
	for size, fits := range map[int]bool{8 << 10: true, 8<<10 + 1: false} {
		text := strings.Repeat("x", size)
		for _, o := range []sentinel.GrantOptions{{Request: &text}, {Mission: text}} {
			v := check(t, g, call(t, proposal{skill: "self.modify", grant: o}))
			require.Equal(t, fits, v.Meta["failure"] == "", size)
			v = check(t, g, call(t, proposal{skill: "self.read", grant: o}))
			require.Empty(t, v.Meta["failure"], "of a read it may be cut")
		}
	}
}

// Where one model has passed and another has not, only that is asked again soon.
func TestOnlyWhoHasNotPassedIsAskedAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		fast := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, _ int) { say(rw, right([]byte(r.Header.Get("Body")))) })
		hung := w.serve("hung", hanging)
		g := w.gate(review.Options{Timeout: time.Minute}, "fast", "hung")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.RunCanaries(ctx, 6*time.Hour) }()
		time.Sleep(13 * time.Minute)
		require.Equal(t, []int{6, 2}, []int{fast.asked(), hung.asked()})
		cancel()
		require.NoError(t, <-done)
	})
}

// The log tells when a model that was wrong passes again. The observer is told which verdict
// is of one that is wrong, the first or the second.
func TestCanaryMarksAreTold(t *testing.T) {
	wrong := true
	var log bytes.Buffer
	seen := &watch{}
	good := canaryServer(t, func(b []byte, _ int) string { return right(b) })
	bad := canaryServer(t, func(b []byte, _ int) string {
		if wrong {
			return approves
		}
		return right(b)
	})
	g, err := review.New(review.Options{Models: []*llm.Client{client(t, llm.Config{Name: "good", BaseURL: good.URL})}, Observer: seen,
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
		Escalate: review.Escalate{To: []*llm.Client{client(t, llm.Config{Name: "bad", BaseURL: bad.URL})}}})
	require.NoError(t, err)
	for _, tc := range []struct {
		wrong bool
		says  string
	}{{true, "CANARY FAILED"}, {false, "its mark is taken off"}, {false, "passes its canaries\" model=bad"}} {
		wrong = tc.wrong
		log.Reset()
		_, err = g.AskCanaries(t.Context(), review.CanaryOptions{Models: []string{"bad"}})
		require.NoError(t, err)
		require.Contains(t, log.String(), tc.says)
		check(t, g, call(t, proposal{skill: "self.irreversible"}))
		require.Equal(t, tc.wrong, seen.reviews[len(seen.reviews)-1].CanaryFailed)
	}
}

// later is a purse that has room again at a time that it knows.
type later struct{ broke }

func (later) Hold(context.Context, review.Spending) (review.Room, error) {
	return review.Room{Budget: "user.calls", RetryAfter: 7 * time.Minute}, nil
}

// When there is room again is told to whom a call is put off.
func TestSpentBudgetTellsWhenThereIsRoom(t *testing.T) {
	o := review.Options{Purse: later{}, Unjudgeable: sentinel.OutageTable{"read": sentinel.Defer}}
	v := check(t, gate(t, o, "http://127.0.0.1:1/v1"), call(t, proposal{skill: "self.read"}))
	require.Equal(t, sentinel.Defer, v.Outcome)
	require.Equal(t, "budget", v.Meta["failure"])
	require.Equal(t, 7*time.Minute, v.RetryAfter)
}

// How another model of the chain would answer is no mark of this verdict. A breaker that is
// closed and made once more is no news.
func TestMarksAreOfWhoAnswered(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	seen := &watch{}
	g, err := review.New(review.Options{Observer: seen, Models: []*llm.Client{client(t, llm.Config{Name: "fast", BaseURL: s.URL}),
		client(t, llm.Config{Name: "primary", BaseURL: s.URL, Schemaless: llm.ViaJSONObject})}})
	require.NoError(t, err)
	v := check(t, g, call(t, proposal{skill: "self.read"}))
	require.Equal(t, "fast", v.Meta["model"])
	require.NotContains(t, v.Meta, "answer")
	require.NotContains(t, v.Meta, "second_answer")
	g.Renew("fast")
	g.Renew("nobody")
	require.Empty(t, seen.breakers)
}

// Who gives up is told so where answers are kept, too.
func TestGivingUpWhereAnswersAreKept(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		server := w.serve("fast", hanging)
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		v, err := w.gate(keeping(nil), "fast").Check(ctx, c)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, sentinel.Verdict{}, v)
		require.Equal(t, 1, server.asked())
	})
}
