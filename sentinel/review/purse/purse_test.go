package purse_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/review/purse"
)

// The review learns of its budget in its own words: room that is in flight, and the
// budget that is spent.
func TestPurse(t *testing.T) {
	account, err := limits.NewAccount("review", limits.Allowances{User: limits.Allowance{Tokens: 100}},
		limits.NewMemory(limits.MemoryOptions{}))
	require.NoError(t, err)
	p := purse.New(account)
	s := func(id string, tokens int64) review.Spending {
		return review.Spending{ID: id, User: "ann", Conversation: "c", Calls: 1, Tokens: tokens}
	}
	room, err := p.Hold(t.Context(), s("1", 80))
	require.NoError(t, err)
	require.True(t, room.OK)
	room, err = p.Hold(t.Context(), s("2", 80))
	require.NoError(t, err)
	require.Equal(t, []any{false, true, "user.tokens"}, []any{room.OK, room.InFlight, room.Budget})
	require.NoError(t, p.Spend(t.Context(), s("1", 10)))
	room, err = p.Hold(t.Context(), s("2", 80))
	require.NoError(t, err)
	require.True(t, room.OK, "what the first question left")
	require.NoError(t, p.Spend(t.Context(), s("2", 90)))
	room, err = p.Hold(t.Context(), s("3", 1))
	require.NoError(t, err)
	require.Equal(t, []any{false, false}, []any{room.OK, room.InFlight})
	require.Positive(t, room.RetryAfter)
}
