package sentinel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever comes and goes, the counts are those of the calls that wait, within
// every bound, and nothing is left of those that ended.
func TestPendingCounts(t *testing.T) {
	most := PendingLimits{User: 4, Conversation: 2, Process: 9}
	dice := rand.New(rand.NewPCG(7, 7))
	var l pendingCount
	var leave []func()
	for range 20_000 {
		if dice.IntN(2) == 0 && len(leave) > 0 {
			i := dice.IntN(len(leave))
			leave[i]()
			leave[i]() // once is enough
			leave[i] = leave[len(leave)-1]
			leave = leave[:len(leave)-1]
			continue
		}
		g := Grant{o: GrantOptions{User: fmt.Sprint(dice.IntN(5)), Conversation: fmt.Sprint(dice.IntN(4))}}
		fn, full := l.countIn(g, most, false)
		require.Equal(t, fn == nil, full != "")
		if fn != nil {
			leave = append(leave, fn)
		}
		require.Equal(t, len(leave), l.all)
		require.LessOrEqual(t, l.all, most.Process)
		for user, n := range l.users {
			require.True(t, n > 0 && n <= most.User, user)
		}
		for conversation, n := range l.conversations {
			require.True(t, n > 0 && n <= most.Conversation, conversation)
		}
	}
	for _, fn := range leave {
		fn()
	}
	require.Zero(t, l.all)
	require.Empty(t, l.users)
	require.Empty(t, l.conversations)
}
