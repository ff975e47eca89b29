package review_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Callers who come while an answer is being kept read what no goroutine writes any
// more. The race detector sees it if they don't.
func TestKeptAnswersAreReadByMany(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, keeping(nil), s.URL)
	for range 20 {
		c := another(t, call(t, proposal{skill: "self.read"}))
		wrong := make(chan sentinel.Verdict, 600)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for range 100 {
					if v, err := g.Check(t.Context(), c); err != nil || v.Outcome != sentinel.Allow {
						wrong <- v
					}
				}
			})
		}
		wg.Wait()
		require.Empty(t, wrong)
	}
}

// A judgement made ahead is for one call, also where that call came while it was
// being made.
func TestAheadIsForOneCall(t *testing.T) {
	c := call(t, proposal{skill: "others.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.serve("fast", slow(time.Second, saying(approves)))
		g := w.gate(keeping(time.Now), "fast")
		ahead := make(chan struct{})
		go func() { defer close(ahead); g.Prejudge(t.Context(), c) }()
		synctest.Wait()
		joined := make(chan sentinel.Verdict, 1)
		go func() {
			v, _ := g.Check(t.Context(), c)
			joined <- v
		}()
		<-ahead
		require.Equal(t, "ahead", (<-joined).Meta["from"])
		require.Empty(t, check(t, g, c).Meta["from"], "the next is asked about")
		require.Equal(t, 2, s.asked())
	})
}

// Calls of one turn that make the model hang are no outage. They may be checked, foreseen, or
// all calls of one answer.
func TestOneTurnIsNoOutage(t *testing.T) {
	create := call(t, proposal{skill: "self.create"})
	next := another(t, create)
	crowd := []sentinel.Call{}
	for range 8 {
		crowd = append(crowd, another(t, create))
	}
	for name, test := range map[string]func(t *testing.T, g *review.Gate){
		"twice": func(t *testing.T, g *review.Gate) {
			for range 3 {
				require.Equal(t, "lone_timeout", check(t, g, create).Meta["failure"])
			}
		},
		"foreseen": func(t *testing.T, g *review.Gate) {
			g.Prejudge(t.Context(), next)
			g.Prejudge(t.Context(), create)
			require.Equal(t, "lone_timeout", check(t, g, create).Meta["failure"])
		},
		"many": func(t *testing.T, g *review.Gate) {
			var wg sync.WaitGroup
			for _, c := range crowd {
				wg.Go(func() { g.Prejudge(t.Context(), c) })
			}
			wg.Wait()
			require.Equal(t, "closed", breaker(g))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				server := w.serve("fast", hanging)
				test(t, w.gate(review.Options{Timeout: soon}, "fast"))
				require.Positive(t, server.asked())
			})
		})
	}
}

// However often one user's calls make the model hang, the others' are reviewed.
func TestOneUserIsNoOutageForOthers(t *testing.T) {
	mallory := call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: "mallory"}})
	alice := call(t, proposal{skill: "self.create", grant: sentinel.GrantOptions{User: "alice"}})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			if n <= 8 {
				hanging(rw, r, n)
				return
			}
			say(rw, rejects)
		})
		g := w.gate(review.Options{}, "fast")
		for range 8 {
			require.Contains(t, check(t, g, another(t, mallory)).Meta["failure"], "timeout")
		}
		require.Equal(t, "closed", breaker(g))
		require.Equal(t, review.CodeRejected, check(t, g, alice).Code)
	})
}

// While a breaker isn't closed, what was judged ahead isn't given.
func TestNothingAheadWhileDegraded(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			say(w, approves)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	o := keeping(nil)
	o.Breaker = review.Breaker{Failures: 1, OpenFor: time.Hour}
	g := gate(t, o, s.URL)
	c := call(t, proposal{skill: "others.irreversible"})
	g.Prejudge(t.Context(), c)
	check(t, g, call(t, proposal{skill: "self.read"}))
	require.Equal(t, "open", breaker(g))
	require.Equal(t, sentinel.Ask, check(t, g, c).Outcome)
}

// How a stronger model answers is marked as well. A verdict that is given again asks for no
// second opinion.
func TestSecondOpinionsAreTold(t *testing.T) {
	first := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, rejects) })
	second := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, rejects) })
	o := keeping(nil)
	o.Escalate.To = []*llm.Client{client(t, llm.Config{Name: "strong", BaseURL: second.URL, Schemaless: llm.ViaJSONObject})}
	g := gate(t, o, first.URL)
	c := call(t, proposal{skill: "self.read"})
	require.Equal(t, "json_object", check(t, g, c).Meta["second_answer"])
	require.Equal(t, "cache", check(t, g, c).Meta["from"])
	require.Equal(t, uint64(1), g.State().Stats.Escalated)
}

// A prompt of characters that people can't see is none.
func TestUnseenPrompt(t *testing.T) {
	_, err := review.New(review.Options{Mode: review.Off, Prompt: "\u200b \u2060\n"})
	require.ErrorContains(t, err, "sentinel.prompt")
}
