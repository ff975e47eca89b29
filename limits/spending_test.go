package limits_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
)

func spender(t *testing.T, b limits.Budgets) (l *limits.Limiter, shift func(time.Duration)) {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l, err := limits.New(limits.Config{Budgets: b}, limits.NewMemory(limits.MemoryOptions{Now: func() time.Time { return now }}))
	require.NoError(t, err)
	return l, func(d time.Duration) { now = now.Add(d) }
}

// Each level refuses under its own code those who share it, and no others. Each
// forgets when it should.
func TestBudgetLevels(t *testing.T) {
	base := limits.Spending{ID: "1", User: "u", Conversation: "c", Turn: "t", Agent: "a", Tokens: 10, Cost: 10}
	with := func(change func(*limits.Spending)) limits.Spending {
		s := base
		s.ID = "2"
		change(&s)
		return s
	}
	agent := with(func(s *limits.Spending) { s.Agent = "b" })
	turn := with(func(s *limits.Spending) { s.Turn = "t2" })
	conversation := with(func(s *limits.Spending) { s.Conversation = "c2" })
	user := with(func(s *limits.Spending) { s.User = "v" })
	ten := limits.Budget{Tokens: 10}
	for _, row := range []struct {
		code    string
		budgets limits.Budgets
		full    []limits.Spending
		room    []limits.Spending
		retry   time.Duration
	}{
		{limits.CodeAgentTokens, limits.Budgets{Agent: ten}, []limits.Spending{base}, []limits.Spending{agent, turn, conversation, user}, 0},
		{limits.CodeAgentCost, limits.Budgets{Agent: limits.Budget{Cost: 10}}, []limits.Spending{base}, []limits.Spending{agent}, 0},
		{limits.CodeTurnTokens, limits.Budgets{Turn: ten}, []limits.Spending{base, agent}, []limits.Spending{turn, conversation, user}, 0},
		{limits.CodeTurnCost, limits.Budgets{Turn: limits.Budget{Tokens: 1000, Cost: 19}}, []limits.Spending{agent}, []limits.Spending{turn}, 0},
		{limits.CodeConversationTokens, limits.Budgets{Conversation: ten}, []limits.Spending{base, agent, turn},
			[]limits.Spending{conversation, user}, 5 * time.Minute},
		{limits.CodeUserTokens, limits.Budgets{User: ten}, []limits.Spending{base, agent, turn, conversation}, []limits.Spending{user},
			24 * time.Hour},
		{limits.CodeUserCost, limits.Budgets{User: limits.Budget{Cost: 15}}, []limits.Spending{conversation}, []limits.Spending{user},
			24 * time.Hour},
	} {
		t.Run(row.code, func(t *testing.T) {
			for _, s := range row.full {
				l, shift := spender(t, row.budgets)
				v, err := l.Hold(t.Context(), base)
				require.NoError(t, err)
				require.True(t, v.OK)
				require.NoError(t, l.Spend(t.Context(), base))
				s.ID = "2"
				v, err = l.Hold(t.Context(), s)
				require.NoError(t, err)
				require.Equal(t, row.code, v.Code)
				require.Equal(t, row.retry, v.RetryAfter)
				require.False(t, v.InFlight)
				if row.retry > 0 {
					shift(row.retry)
					v, err = l.Hold(t.Context(), s)
					require.NoError(t, err)
					require.True(t, v.OK)
				}
			}
			for _, s := range row.room {
				l, _ := spender(t, row.budgets)
				_, err := l.Hold(t.Context(), base)
				require.NoError(t, err)
				v, err := l.Hold(t.Context(), s)
				require.NoError(t, err)
				require.True(t, v.OK, "%+v", s)
			}
		})
	}
}

// A refusal by the last budget leaves nothing held in the first. What is only held
// may become room. An agent's last question is bounded by all but its own budget.
// A turn's end forgets the turn and its agents.
func TestBudgetSteps(t *testing.T) {
	l, _ := spender(t, limits.Budgets{Agent: limits.Budget{Tokens: 10}, Turn: limits.Budget{Tokens: 30}, User: limits.Budget{Tokens: 25}})
	n := 0
	hold := func(agent string, tokens int64, last bool) limits.Verdict {
		n++
		v, err := l.Hold(t.Context(), limits.Spending{ID: fmt.Sprint(n), User: "u", Conversation: "c", Turn: "t", Agent: agent,
			Tokens: tokens, Last: last})
		require.NoError(t, err)
		return v
	}
	require.True(t, hold("a", 10, false).OK)
	require.True(t, hold("b", 10, false).OK)
	v := hold("c", 10, false)
	require.Equal(t, [2]any{limits.CodeUserTokens, true}, [2]any{v.Code, v.InFlight})
	require.True(t, hold("c", 5, false).OK, "what the user's budget refused is not held in the agent's")
	require.Equal(t, limits.CodeAgentTokens, hold("a", 1, false).Code)
	require.Equal(t, limits.CodeUserTokens, hold("a", 1, true).Code)
	require.NoError(t, l.Spend(t.Context(), limits.Spending{ID: "2", User: "u", Conversation: "c", Turn: "t", Agent: "b", Tokens: 1}))
	require.True(t, hold("a", 9, true).OK)
	require.NoError(t, l.EndTurn(t.Context(), limits.Proposal{User: "u", Conversation: "c", Turn: "t"}))
	require.Equal(t, limits.CodeUserTokens, hold("a", 1, false).Code)
	require.NoError(t, l.Respend(t.Context(), limits.Spending{ID: "before", User: "u2", Conversation: "c", Turn: "t2", Agent: "a",
		Tokens: 29}))
	v, err := l.Hold(t.Context(), limits.Spending{ID: "next", User: "u2", Conversation: "c", Turn: "t2", Tokens: 2})
	require.NoError(t, err)
	require.Equal(t, [2]any{limits.CodeTurnTokens, false}, [2]any{v.Code, v.InFlight})
	for _, bad := range []limits.Spending{{}, {ID: "1", Conversation: "c"}, {ID: "1", Turn: "t"},
		{ID: "1", Conversation: "c", Turn: "t", Tokens: -1}} {
		_, err := l.Hold(t.Context(), bad)
		require.ErrorIs(t, err, limits.ErrProposal)
		require.ErrorIs(t, l.Spend(t.Context(), bad), limits.ErrProposal)
	}
	_, err = limits.New(limits.Config{Budgets: limits.Budgets{Agent: limits.Budget{Tokens: -1}, User: limits.Budget{Cost: -1}}},
		limits.NewMemory(limits.MemoryOptions{}))
	require.ErrorContains(t, err, "limits.agent.tokens: must be between")
	require.ErrorContains(t, err, "limits.user.cost: must be")
}
