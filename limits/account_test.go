package limits_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
)

func account(t *testing.T, a limits.Allowances, store limits.MeterStore) *limits.Account {
	t.Helper()
	acc, err := limits.NewAccount("review", a, store)
	require.NoError(t, err)
	return acc
}

func use(id, user, conversation string, calls, tokens, cost int64) limits.Use {
	return limits.Use{ID: id, User: user, Conversation: conversation, Calls: calls, Tokens: tokens, Cost: cost}
}

// Each bound of each level holds and names itself. It leaves room again where what
// was held came to less, or to nothing.
func TestAccountBounds(t *testing.T) {
	one := map[string]limits.Allowance{"calls": {Calls: 100}, "tokens": {Tokens: 100}, "cost": {Cost: 100}}
	for level, put := range map[string]func(a *limits.Allowances, one limits.Allowance){
		"conversation": func(a *limits.Allowances, one limits.Allowance) { a.Conversation = one },
		"user":         func(a *limits.Allowances, one limits.Allowance) { a.User = one },
		"day":          func(a *limits.Allowances, one limits.Allowance) { a.Day = one },
	} {
		for unit, bound := range one {
			t.Run(level+"."+unit, func(t *testing.T) {
				var a limits.Allowances
				put(&a, bound)
				acc := account(t, a, limits.NewMemory(limits.MemoryOptions{}))
				hold := func(id, user, conversation string, n int64) limits.Verdict {
					v, err := acc.Hold(t.Context(), use(id, user, conversation, n, n, n))
					require.NoError(t, err)
					return v
				}
				require.True(t, hold("1", "ann", "c1", 70).OK)
				v := hold("2", "ann", "c1", 40)
				require.Equal(t, limits.Verdict{Code: level + "." + unit, Limit: 100, Used: 70, RetryAfter: v.RetryAfter, InFlight: true}, v)
				require.InDelta(t, 24*time.Hour, v.RetryAfter, float64(time.Minute))
				require.Equal(t, level == "conversation", hold("3", "ann", "c2", 40).OK)
				require.Equal(t, level != "day", hold("4", "bob", "c1", 40).OK, "another's conversation of the same name")
				require.NoError(t, acc.Spend(t.Context(), use("1", "ann", "c1", 60, 60, 60)))
				for _, other := range []limits.Use{use("3", "ann", "c2", 0, 0, 0), use("4", "bob", "c1", 0, 0, 0)} {
					require.NoError(t, acc.Spend(t.Context(), other))
				}
				require.True(t, hold("2", "ann", "c1", 40).OK)
				require.False(t, hold("5", "ann", "c1", 1).OK)
				require.NoError(t, acc.Spend(t.Context(), use("2", "ann", "c1", 0, 0, 0)))
				require.True(t, hold("5", "ann", "c1", 40).OK)
			})
		}
	}
}

// An amount leaves 24 hours after it was held: one alone to the moment.
func TestAccountSlides(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	acc := account(t, limits.Allowances{Day: limits.Allowance{Calls: 2}},
		limits.NewMemory(limits.MemoryOptions{Now: func() time.Time { return now }, IdleTTL: 25 * time.Hour}))
	hold := func(id string) limits.Verdict {
		v, err := acc.Hold(t.Context(), use(id, "ann", "c", 1, 0, 0))
		require.NoError(t, err)
		return v
	}
	require.True(t, hold("1").OK)
	now = now.Add(10 * time.Hour)
	require.True(t, hold("2").OK)
	now = now.Add(14*time.Hour - time.Second)
	require.Equal(t, time.Second, hold("3").RetryAfter)
	now = now.Add(time.Second)
	require.True(t, hold("3").OK)
	require.False(t, hold("4").OK)
}

// brittle is a store that fails at one owner's meters.
type brittle struct {
	*limits.Memory
	at string
}

func (b brittle) Hold(ctx context.Context, id string, m []limits.Meter) (limits.Metered, error) {
	if m[0].Key == b.at {
		return limits.Metered{}, errors.New("broken")
	}
	return b.Memory.Hold(ctx, id, m)
}

// What is refused or can't be counted at one level is held at none.
func TestAccountGivesBack(t *testing.T) {
	a := limits.Allowances{Conversation: limits.Allowance{Calls: 1}, User: limits.Allowance{Calls: 5}, Day: limits.Allowance{Calls: 1}}
	memory := limits.NewMemory(limits.MemoryOptions{})
	acc := account(t, a, memory)
	v, err := acc.Hold(t.Context(), use("1", "ann", "c1", 1, 0, 0))
	require.NoError(t, err)
	require.True(t, v.OK)
	for i := range 10 { // the day is full: neither bob nor his conversation is charged
		v, err := acc.Hold(t.Context(), use(fmt.Sprint("b", i), "bob", "c1", 1, 0, 0))
		require.NoError(t, err)
		require.Equal(t, "day.calls", v.Code)
	}
	_, err = account(t, a, brittle{memory, "~all/review/calls"}).Hold(t.Context(), use("2", "cid", "c1", 1, 0, 0))
	require.ErrorContains(t, err, "broken")
	require.NoError(t, acc.Spend(t.Context(), use("1", "ann", "c1", 0, 0, 0)))
	for _, user := range []string{"bob", "cid"} {
		v, err = acc.Hold(t.Context(), use("3", user, "c1", 1, 0, 0))
		require.NoError(t, err)
		require.True(t, v.OK, user)
		require.NoError(t, acc.Spend(t.Context(), use("3", user, "c1", 0, 0, 0)))
	}
}

// However many hold at once, no more is held than there is.
func TestAccountConcurrently(t *testing.T) {
	acc := account(t, limits.Allowances{User: limits.Allowance{Tokens: 100}, Day: limits.Allowance{Tokens: 150}},
		limits.NewMemory(limits.MemoryOptions{}))
	var wg sync.WaitGroup
	ok := make(chan string, 1000)
	for i := range 300 {
		wg.Go(func() {
			user := []string{"ann", "bob", "cid"}[i%3]
			if v, err := acc.Hold(t.Context(), use(fmt.Sprint(i), user, "c", 1, 10, 0)); err == nil && v.OK {
				ok <- user
			}
		})
	}
	wg.Wait()
	close(ok)
	held := map[string]int{}
	for user := range ok {
		held[user]++
		require.LessOrEqual(t, held[user], 10)
		held["all"]++
	}
	require.LessOrEqual(t, held["all"], 15)
	require.Positive(t, held["all"])
}

// An account without a name, a store or sense is refused, as is work without an id.
func TestAccountIsChecked(t *testing.T) {
	memory := limits.NewMemory(limits.MemoryOptions{})
	for _, name := range []string{"", "a/b", "ü"} {
		_, err := limits.NewAccount(name, limits.Allowances{}, memory)
		require.Error(t, err, name)
	}
	_, err := limits.NewAccount("x", limits.Allowances{}, nil)
	require.Error(t, err)
	_, err = limits.NewAccount("x", limits.Allowances{User: limits.Allowance{Cost: -1}}, memory)
	require.Error(t, err)
	acc := account(t, limits.Allowances{Day: limits.Allowance{Calls: 1}}, memory)
	for _, u := range []limits.Use{use("", "u", "c", 1, 0, 0), use("1", "u", "", 1, 0, 0), use("1", "u", "c", -1, 0, 0)} {
		_, err := acc.Hold(t.Context(), u)
		require.ErrorIs(t, err, limits.ErrProposal)
		require.ErrorIs(t, acc.Spend(t.Context(), u), limits.ErrProposal)
	}
	var none *limits.Account
	_, err = none.Hold(t.Context(), use("1", "u", "c", 1, 0, 0))
	require.Error(t, err)
}
