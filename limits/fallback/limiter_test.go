package fallback

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nowhere is an address at which no server listens.
const nowhere = "redis://127.0.0.1:1"

// openServer opens a limits store at an address, reachable or not.
func openServer(t *testing.T, url string, timeout time.Duration) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(redisstore.Options{URL: url, Prefix: "fallback", Timeout: timeout})
	require.NoError(t, err)
	return s
}

// newLimiter returns a Limiter of a process whose limits are on the server at url.
func newLimiter(t *testing.T, url string, cfg limits.Config, askModels bool, log *slog.Logger) *Limiter {
	t.Helper()
	server := openServer(t, url, 500*time.Millisecond)
	shared, err := limits.New(cfg, server)
	require.NoError(t, err)
	own, err := limits.New(cfg, limits.NewMemory(limits.MemoryOptions{}))
	require.NoError(t, err)
	l := New(Options{Shared: shared, Own: own, Server: server, AskModels: askModels, Log: log})
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func newProposal(id string) limits.Proposal {
	return limits.Proposal{ID: id, User: "ann", Conversation: "c", Turn: "t", Agent: "a", Skill: "notes.add"}
}

func newSpending(id string, tokens int64) limits.Spending {
	return limits.Spending{ID: id, User: "ann", Conversation: "c", Turn: "t", Tokens: tokens}
}

// While the store is unreachable this process counts: what it allows comes with the
// store's error, and what it denies is denied.
func TestOwnLimitsBoundCallsWhileAway(t *testing.T) {
	l := newLimiter(t, nowhere, limits.Config{Turn: limits.TurnConfig{Calls: 2, Agents: 1}}, true, nil)
	for i := range 2 {
		_, err := l.Reserve(t.Context(), newProposal(fmt.Sprint(i)))
		require.ErrorIs(t, err, limits.ErrAway)
	}
	v, err := l.Reserve(t.Context(), newProposal("3"))
	require.NoError(t, err)
	require.Equal(t, limits.CodeTurnCalls, v.Code)
	_, err = l.ReserveAgent(t.Context(), newProposal("agent"))
	require.ErrorIs(t, err, limits.ErrAway)
	v, err = l.ReserveAgent(t.Context(), newProposal("another agent"))
	require.NoError(t, err)
	require.Equal(t, limits.CodeTurnAgents, v.Code)

	require.NoError(t, l.EndTurn(t.Context(), newProposal("")), "an unreachable server is no error")
	_, err = l.Reserve(t.Context(), newProposal("4"))
	require.ErrorIs(t, err, limits.ErrAway, "the turn's own counts are gone")
	require.NoError(t, l.EndConversation(t.Context(), newProposal("")))
}

// The process's own breaker hears how calls end while the store is unreachable.
func TestOwnBreakerHearsWhileAway(t *testing.T) {
	l := newLimiter(t, nowhere, limits.Config{Skill: limits.SkillConfig{Failures: 1, OpenFor: time.Hour}}, true, nil)
	_, err := l.Reserve(t.Context(), newProposal("1"))
	require.ErrorIs(t, err, limits.ErrAway)
	require.NoError(t, l.Report(t.Context(), "notes.add", "1", false))
	v, err := l.Reserve(t.Context(), newProposal("2"))
	require.NoError(t, err)
	require.Equal(t, limits.CodeSkillOpen, v.Code)
	require.NoError(t, l.Abandon(t.Context(), "notes.add", "2"))
}

// Questions to models go on during an outage where that is configured, within the
// process's own budget; otherwise none is asked.
func TestHoldWhileAway(t *testing.T) {
	budget := limits.Config{Budgets: limits.Budgets{Turn: limits.Budget{Tokens: 100}}}
	for _, asks := range []bool{true, false} {
		t.Run(fmt.Sprint(asks), func(t *testing.T) {
			l := newLimiter(t, nowhere, budget, asks, nil)
			v, err := l.Hold(t.Context(), newSpending("1", 60))
			if !asks {
				require.ErrorIs(t, err, limits.ErrAway)
				return
			}
			require.NoError(t, err)
			require.True(t, v.OK)
			require.NoError(t, l.Spend(t.Context(), newSpending("1", 60)))
			v, err = l.Hold(t.Context(), newSpending("2", 60))
			require.NoError(t, err)
			require.Equal(t, limits.CodeTurnTokens, v.Code, "spent while away")
		})
	}
}

// The server hears of each spending once it is back, and of no more than fits.
func TestUnsyncedSpendingIsTold(t *testing.T) {
	srv, log := redistest.Start(t), &bytes.Buffer{}
	budget := limits.Config{Budgets: limits.Budgets{Turn: limits.Budget{Tokens: 1000}}}
	l := newLimiter(t, srv.URL(), budget, true,
		slog.New(slog.NewTextHandler(log, nil)))
	l.unsynced.max = 2
	srv.Kill()
	for i := range 3 {
		s := newSpending(fmt.Sprint(i), 100)
		_, err := l.Hold(t.Context(), s)
		require.NoError(t, err)
		require.NoError(t, l.Spend(t.Context(), s))
	}
	require.Equal(t, 2, l.unsynced.queue.Len())
	require.Contains(t, log.String(), "BUDGETS DEGRADED")
	require.Equal(t, 1, strings.Count(log.String(), "budgets will lack the oldest"))
	srv.Restart()
	require.Eventually(t, func() bool { return l.unsynced.syncSome(t.Context(), l.shared) == nil }, 4*time.Minute, time.Millisecond)
	require.Contains(t, log.String(), "knows again")
	require.Equal(t, 200, usedOf(t, srv, budget), "the oldest is lost")
}

// A question that found no room at first and was asked then counts what it came to: the
// store never hears afterwards that it came to nothing.
func TestLaterAmountHolds(t *testing.T) {
	srv := redistest.Start(t)
	budget := limits.Config{Budgets: limits.Budgets{Turn: limits.Budget{Tokens: 100}}}
	l := newLimiter(t, srv.URL(), budget, true, nil)
	hold := func(id string, want bool) {
		v, err := l.Hold(t.Context(), newSpending(id, 60))
		require.NoError(t, err)
		require.Equal(t, want, v.OK, id)
	}
	srv.Kill()
	hold("a", true)
	hold("b", false) // a holds the room
	require.NoError(t, l.Spend(t.Context(), newSpending("a", 20)))
	hold("b", true)
	srv.Restart()
	require.Eventually(t, func() bool { // b is paid as soon as the store answers again
		_, err := l.shared.Hold(t.Context(), newSpending("probe", 0))
		return err == nil
	}, 4*time.Minute, time.Millisecond)
	require.NoError(t, l.Spend(t.Context(), newSpending("b", 30)))
	require.NoError(t, l.unsynced.syncSome(t.Context(), l.shared))
	require.Zero(t, l.Unsynced())
	require.Equal(t, 50, usedOf(t, srv, budget))
}

// An amount that the store was not told goes back to its place, unless a later one of the
// same question is there. A question that is being told is asked again after that.
func TestUntoldAmountGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnsyncedSpending(nil)
		u.release(newSpending("1", 10), false, true)
		u.release(newSpending("2", 20), false, true)
		first, ok := u.takeOldest()
		require.True(t, ok)
		require.Equal(t, 2, u.count(), "one waits and one is being told")
		u.endSending(first, limits.ErrAway)
		again, ok := u.takeOldest()
		require.True(t, ok)
		require.Equal(t, first, again, "the oldest stays the first")
		u.release(newSpending("1", 15), false, true)
		u.endSending(first, limits.ErrAway)
		kept, ok := u.withdraw("1")
		require.True(t, ok)
		require.EqualValues(t, 15, kept.Tokens)
		require.Equal(t, 2, u.count(), "one is in hand")
		u.release(kept, ok, false)

		second, ok := u.takeOldest()
		require.True(t, ok)
		withdrawn := make(chan bool, 1)
		go func() {
			s, ok := u.withdraw("2")
			u.release(s, ok, false)
			withdrawn <- ok
		}()
		synctest.Wait()
		require.Empty(t, withdrawn, "the store is being told of it")
		u.endSending(second, limits.ErrAway)
		require.True(t, <-withdrawn)
		require.Zero(t, u.count())
	})
}

// A question that no store can count never waits for the store, and what waits is told.
func TestMalformedQuestionIsNotKept(t *testing.T) {
	srv := redistest.Start(t)
	budget := limits.Config{Budgets: limits.Budgets{Turn: limits.Budget{Tokens: 1000}}}
	for _, asks := range []bool{true, false} {
		l := newLimiter(t, srv.URL(), budget, asks, nil)
		srv.Kill()
		l.unsynced.release(newSpending(fmt.Sprint(asks), 100), false, true)
		_, err := l.Hold(t.Context(), limits.Spending{ID: "m", User: "ann", Turn: "t"})
		require.ErrorIs(t, err, limits.ErrProposal)
		require.ErrorIs(t, l.Spend(t.Context(), limits.Spending{ID: "m", User: "ann", Turn: "t"}), limits.ErrProposal)
		require.Equal(t, 1, l.Unsynced())
		srv.Restart()
		require.Eventually(t, func() bool { return l.unsynced.syncSome(t.Context(), l.shared) == nil }, 4*time.Minute, time.Millisecond)
		require.Zero(t, l.Unsynced())
	}
	require.Equal(t, 200, usedOf(t, srv, budget))
}

// The end of an outage is logged once whatever ends it, and the next outage begins with no
// loss.
func TestEndOfAnOutageIsLogged(t *testing.T) {
	log := &bytes.Buffer{}
	u := newUnsyncedSpending(slog.New(slog.NewTextHandler(log, nil)))
	u.max = 1
	u.markUnsure("a")
	u.release(newSpending("b", 1), false, true)
	u.release(newSpending("c", 1), false, true) // b is lost
	s, ok := u.withdraw("c")
	require.True(t, u.clearUnsure("a"))
	require.NotContains(t, log.String(), "knows again", "c is in hand")
	u.release(s, ok, false)
	require.Equal(t, 1, strings.Count(log.String(), "knows again"))
	require.Contains(t, log.String(), "not_remembered=1")
	u.release(limits.Spending{}, false, false)
	require.Equal(t, 1, strings.Count(log.String(), "knows again"), "nothing has happened since")
	u.markUnsure("d")
	require.Equal(t, 2, strings.Count(log.String(), "BUDGETS DEGRADED"))
	u.release(newSpending("e", 1), false, true)
	u.release(newSpending("f", 1), false, true)
	require.Equal(t, 2, strings.Count(log.String(), "lack the oldest"), "of this outage")
}

// usedOf returns what the server has counted for the turn of newSpending.
func usedOf(t *testing.T, srv *redistest.Server, budget limits.Config) int {
	t.Helper()
	server := openServer(t, srv.URL(), 20*time.Second)
	shared, err := limits.New(budget, server)
	require.NoError(t, err)
	v, err := shared.Hold(t.Context(), newSpending("look", budget.Budgets.Turn.Tokens+1))
	require.NoError(t, err)
	require.NoError(t, server.Close())
	require.False(t, v.OK)
	return v.Used
}

// In memory this process is all there is: what was spent before a restart is counted
// again, which a server knows already.
func TestRecount(t *testing.T) {
	budget := limits.Config{Budgets: limits.Budgets{Turn: limits.Budget{Tokens: 100}}}
	memory, err := limits.New(budget, limits.NewMemory(limits.MemoryOptions{}))
	require.NoError(t, err)
	alone := New(Options{Shared: memory})
	require.NoError(t, alone.Recount(t.Context(), newSpending("before", 90)))
	v, err := alone.Hold(t.Context(), newSpending("1", 60))
	require.NoError(t, err)
	require.Equal(t, limits.CodeTurnTokens, v.Code)
	require.NoError(t, alone.Close())

	onServer := newLimiter(t, nowhere, budget, true, nil)
	require.NoError(t, onServer.Recount(t.Context(), newSpending("before", 90)))
	v, err = onServer.Hold(t.Context(), newSpending("1", 60))
	require.NoError(t, err)
	require.True(t, v.OK)
	var none *Limiter
	require.NoError(t, none.Close())
}

// The review's account falls back likewise: a question is counted in this process while
// the store is unreachable.
func TestAccountWhileAway(t *testing.T) {
	server := openServer(t, nowhere, 500*time.Millisecond)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	day := limits.Allowances{Day: limits.Allowance{Calls: 1}}
	shared, err := limits.NewAccount("review", day, server)
	require.NoError(t, err)
	own, err := limits.NewAccount("review", day, limits.NewMemory(limits.MemoryOptions{}))
	require.NoError(t, err)
	use := limits.Use{ID: "1", User: "ann", Conversation: "c", Calls: 1}
	_, err = Account{Shared: shared}.Hold(t.Context(), use)
	require.ErrorIs(t, err, limits.ErrAway)
	a := Account{Shared: shared, Own: own}
	v, err := a.Hold(t.Context(), use)
	require.NoError(t, err)
	require.True(t, v.OK)
	require.NoError(t, a.Spend(t.Context(), use))
	use.ID = "2"
	v, err = a.Hold(t.Context(), use)
	require.NoError(t, err)
	require.False(t, v.OK)
}
