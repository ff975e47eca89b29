package review_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// broke is a purse without money.
type broke struct{}

func (broke) Hold(context.Context, review.Spending) (review.Room, error) {
	return review.Room{Budget: "day.calls"}, nil
}

func (broke) Spend(context.Context, review.Spending) error { return nil }

// slip is what a purse was told of one request.
type slip struct{ held, spent review.Spending }

// clerk is a purse that keeps everything. Its fail makes it unable to count, before or, where late
// is set, after it has held.
type clerk struct {
	mu    sync.Mutex
	slips []slip
	fail  error
	late  func()
}

func (k *clerk) Hold(ctx context.Context, s review.Spending) (review.Room, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil {
		return review.Room{}, k.fail
	}
	k.slips = append(k.slips, slip{held: s})
	if k.late != nil {
		k.late()
		return review.Room{}, ctx.Err()
	}
	return review.Room{OK: true}, nil
}

func (k *clerk) Spend(ctx context.Context, s review.Spending) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i := range k.slips {
		if k.slips[i].held.ID == s.ID {
			k.slips[i].spent = s
			return nil
		}
	}
	return errors.New("spent without being held")
}

// account is a purse on the store of the limits.
type account struct{ *limits.Account }

func (a account) Hold(ctx context.Context, s review.Spending) (review.Room, error) {
	v, err := a.Account.Hold(ctx, limits.Use(s))
	return review.Room{OK: v.OK, Budget: v.Code, InFlight: v.InFlight, RetryAfter: v.RetryAfter}, err
}

func (a account) Spend(ctx context.Context, s review.Spending) error {
	return a.Account.Spend(ctx, limits.Use(s))
}

func accountOf(t *testing.T, a limits.Allowances) account {
	t.Helper()
	acc, err := limits.NewAccount("review", a, limits.NewMemory(limits.MemoryOptions{}))
	require.NoError(t, err)
	return account{acc}
}

// What a request takes at most is held before it is sent, and what it came to
// is counted after: what the server told, an estimate where it worked and did
// not tell, the request alone where it did nothing, and nothing where it was
// not sent.
func TestEveryRequestIsSettled(t *testing.T) {
	c := call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: "ann"}})
	silent := func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",` +
			`"content":"{\"decision\":\"approve\",\"reason\":\"\"}"}}]}`))
	}
	const guess, none = -1, 0
	for _, tc := range []struct {
		name   string
		h      handler
		calls  int64
		tokens int64
	}{
		{"told", saying(approves), 1, 10}, {"not told", silent, 1, guess}, {"refused", status(400), 1, none}, {"down", status(500), 1, none},
		{"reset", reset, 1, none}, {"silent", hanging, 1, guess}, {"no JSON", func(w http.ResponseWriter, _ *http.Request, _ int) {
			_,
				_ = w.Write([]byte("<html>"))
		}, 1, guess},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, k := newWorld(t), &clerk{}
				w.serve("fast", tc.h)
				terms := map[string]review.Terms{"fast": {Price: review.Price{Input: 1_000_000, Output: 1_000_000}}}
				g := w.gate(review.Options{Purse: k, Terms: terms}, "fast")
				check(t, g, c)
				held, spent := k.slips[0].held, k.slips[0].spent
				require.Equal(t, "ann", held.User)
				require.Equal(t, "c1", held.Conversation)
				require.Equal(t, int64(1), held.Calls)
				require.Equal(t, held.Tokens, held.Cost, "a token is a millionth")
				require.Greater(t, held.Tokens, int64(1000))
				require.Equal(t, held.ID, spent.ID)
				require.Equal(t, tc.calls, spent.Calls)
				require.Equal(t, spent.Tokens, spent.Cost)
				if tc.tokens == guess {
					require.Greater(t, spent.Tokens, int64(300))
					require.Less(t, spent.Tokens, held.Tokens)
					return
				}
				require.Equal(t, tc.tokens, spent.Tokens)
			})
		})
	}
}

// The budget is told of a caller that gives up as of any other. A breaker that refuses gives
// back what was held.
func TestSettledWhateverEnds(t *testing.T) {
	c := call(t, proposal{skill: "self.read"})
	synctest.Test(t, func(t *testing.T) {
		w, k := newWorld(t), &clerk{}
		w.serve("fast", first(1, hanging, status(500)))
		g := w.gate(review.Options{Purse: k, Concurrency: 1, Breaker: review.Breaker{Failures: 1}}, "fast")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Check(ctx, c)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, int64(1), k.slips[0].spent.Calls)
		require.Greater(t, k.slips[0].spent.Tokens, int64(300))
	})
	synctest.Test(t, func(t *testing.T) { // it gives up while the budget is asked, which has held by then
		w, k := newWorld(t), &clerk{}
		s := w.serve("fast", saying(approves))
		ctx, cancel := context.WithCancel(t.Context())
		k.late = cancel
		_, err := w.gate(review.Options{Purse: k}, "fast").Check(ctx, c)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, s.asked())
		require.Equal(t, k.slips[0].held.ID, k.slips[0].spent.ID)
		require.Zero(t, k.slips[0].spent.Calls+k.slips[0].spent.Tokens)
	})
	synctest.Test(t, func(t *testing.T) { // the breaker opens while others wait for their turn
		w, k := newWorld(t), &clerk{}
		s := w.serve("fast", slow(time.Second, status(500)))
		g := w.gate(review.Options{Purse: k, Concurrency: 1, Breaker: review.Breaker{Failures: 1}}, "fast")
		a, b := checking(t.Context(), g, c), checking(t.Context(), g, c)
		kinds := map[string]int{(<-a).v.Meta["failure"]: 1, (<-b).v.Meta["failure"]: 1}
		require.Equal(t, map[string]int{"server": 1, "breaker_open": 1}, kinds)
		require.Equal(t, 1, s.asked())
		require.Len(t, k.slips, 2)
		require.Equal(t, int64(1), k.slips[0].spent.Calls)
		require.NotEmpty(t, k.slips[1].spent.ID)
		require.Zero(t, k.slips[1].spent.Calls+k.slips[1].spent.Tokens)
	})
}

// Many at once never spend more than there is, in calls, tokens or money, at any level. Who
// finds nothing left has a call that can't be judged, and the log tells once.
func TestNoBudgetIsOverspent(t *testing.T) {
	const each = 10 // tokens of a request, 7 and 3
	for _, tc := range []struct {
		budget string
		a      limits.Allowances
		judged int
	}{
		{"conversation.calls", limits.Allowances{Conversation: limits.Allowance{Calls: 7}}, 7},
		{"user.calls", limits.Allowances{User: limits.Allowance{Calls: 8}, Day: limits.Allowance{Calls: 100}}, 8},
		{"day.calls", limits.Allowances{Conversation: limits.Allowance{Calls: 90}, Day: limits.Allowance{Calls: 9}}, 9},
		{"day.tokens", limits.Allowances{Day: limits.Allowance{Tokens: 1800}}, -1},
		{"user.cost", limits.Allowances{User: limits.Allowance{Cost: 1800}}, -1},
	} {
		t.Run(tc.budget, func(t *testing.T) {
			c := call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: "ann"}})
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				s := w.serve("fast", slow(time.Second, saying(approves)))
				var log bytes.Buffer
				terms := map[string]review.Terms{"fast": {Price: review.Price{Input: 1_000_000, Output: 1_000_000}}}
				g := w.gate(review.Options{Evidence: sentinel.EvidenceOptions{Mode: evidence.Off}, Purse: accountOf(t, tc.a), Terms: terms,
					Log: slog.New(slog.NewTextHandler(&log, nil))}, "fast")
				judged := 0
				for range 12 {
					var all []<-chan result
					for range 40 {
						all = append(all, checking(t.Context(), g, c))
					}
					for _, r := range all {
						v := (<-r).v
						if v.Outcome == sentinel.Allow {
							judged++
							continue
						}
						require.Equal(t, "budget", v.Meta["failure"])
						require.Equal(t, review.CodeUnjudgeable, v.Code)
						require.Equal(t, sentinel.Ask, v.Outcome)
						require.Equal(t, "0", v.Meta["attempts"])
					}
				}
				require.Equal(t, judged, s.asked())
				if tc.judged >= 0 {
					require.Equal(t, tc.judged, judged)
				} else {
					require.LessOrEqual(t, judged*each, 1800, "not even by one that was under way")
					require.Greater(t, judged, 20, "what others leave of what they held is used")
				}
				require.Equal(t, uint64(12*40-judged), g.State().Stats.Failures[review.Budget])
				require.Equal(t, "closed", breaker(g))
				require.Equal(t, 1, strings.Count(log.String(), "REVIEW BUDGET SPENT"), log.String())
				require.Contains(t, log.String(), "sentinel.budget."+tc.budget)
				time.Sleep(24 * time.Hour)
				require.Equal(t, sentinel.Allow, check(t, g, c).Outcome, "a day later there is room again")
			})
		})
	}
}

// One user's budget is not another's, nor one conversation's; a model without a
// price goes on where money is spent.
func TestBudgetsAreTheirOwners(t *testing.T) {
	ann := call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: "ann"}})
	bob := call(t, proposal{skill: "self.read", grant: sentinel.GrantOptions{User: "bob"}})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", saying(approves))
		g := w.gate(review.Options{Purse: accountOf(t, limits.Allowances{User: limits.Allowance{Calls: 1}})}, "fast")
		for _, c := range []sentinel.Call{ann, bob} {
			require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
			require.Equal(t, "budget", check(t, g, c).Meta["failure"])
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", saying(approves))
		w.serve("primary", saying(approves))
		o := review.Options{Purse: accountOf(t, limits.Allowances{Day: limits.Allowance{Cost: 1}}),
			Terms: map[string]review.Terms{"fast": {Price: review.Price{Input: 1_000_000}}}}
		v := check(t, w.gate(o, "fast", "primary"), ann)
		require.Equal(t, "primary", v.Meta["model"])
		require.Equal(t, "fast=budget", v.Meta["failover"])
	})
}

// Both opinions are paid from the same budgets.
func TestSecondOpinionIsPaid(t *testing.T) {
	c := call(t, proposal{skill: "self.irreversible"})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", saying(approves))
		w.serve("strong", saying(approves))
		g := w.gate(review.Options{Purse: accountOf(t, limits.Allowances{Conversation: limits.Allowance{Calls: 3}})}, "fast", "|", "strong")
		require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
		v := check(t, g, c)
		require.Equal(t, "budget", v.Meta["second_failure"])
		require.Equal(t, sentinel.Ask, v.Outcome, "an approval alone is not enough")
	})
}

// Where no store can count no model is asked, and the log says it once.
func TestUncounted(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	var log bytes.Buffer
	g, err := review.New(review.Options{Models: []*llm.Client{client(t, llm.Config{BaseURL: s.URL})},
		Purse: &clerk{fail: errors.New("the store is full")}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	for range 5 {
		v := check(t, g, call(t, proposal{skill: "self.read"}))
		require.Equal(t, "budget", v.Meta["failure"])
		require.Equal(t, sentinel.Ask, v.Outcome)
	}
	require.Empty(t, s.requests())
	require.Equal(t, 1, strings.Count(log.String(), "REVIEW BUDGET: it can't be counted"))
}
