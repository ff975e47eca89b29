package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lent place is others'; taken back it counts again at once, and the pool gives
// out none until it is below its number.
func TestLend(t *testing.T) {
	p := New(Options{What: "requests", Process: 1, User: 1})
	ann, err := p.Try(Ask{User: "ann"})
	require.NoError(t, err)
	ann.Lend()
	ann.Lend()
	require.Equal(t, 0, p.Stats().Used)
	require.Equal(t, 0, p.Stats().Users)
	bob, err := p.Try(Ask{User: "bob"})
	require.NoError(t, err)
	ann.Reclaim()
	ann.Reclaim()
	require.Equal(t, 2, p.Stats().Used)
	bob.Release()
	_, err = p.Try(Ask{User: "eve"})
	require.ErrorIs(t, err, ErrOverloaded)
	ann.Release()
	ann.Lend()
	ann.Reclaim()
	require.Equal(t, 0, p.Stats().Used)

	lent, err := p.Try(Ask{User: "ann"})
	require.NoError(t, err)
	lent.Lend()
	lent.Release() // its holder left meanwhile
	lent.Reclaim()
	require.Equal(t, 0, p.Stats().Used)
	(*Credit)(nil).Lend()
	(*Credit)(nil).Reclaim()
}

// A place that is lent goes to who waits for one.
func TestLendHandsOn(t *testing.T) {
	p := New(Options{What: "turns", Process: 1, Waiting: 1, UserWaiting: 1})
	first, err := p.Try(Ask{User: "ann"})
	require.NoError(t, err)
	got := make(chan *Credit, 1)
	go func() {
		c, _ := p.Acquire(context.Background(), Ask{User: "bob"})
		got <- c
	}()
	require.Eventually(t, func() bool { return p.Stats().Waiting == 1 }, 4*time.Minute, time.Millisecond)
	first.Lend()
	(<-got).Release()
	first.Reclaim()
	first.Release()
	require.Equal(t, 0, p.Stats().Used)
}

// Whatever is lent, reclaimed and returned in whatever order, the pool counts
// those that are neither lent nor returned, and ends with nothing.
func TestLendCounts(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 6))
	p := New(Options{What: "requests", Process: 5, User: 3})
	type held struct {
		*Credit
		lent bool
	}
	var list []held
	for range 20_000 {
		i := 0
		if len(list) > 0 {
			i = dice.IntN(len(list))
		}
		switch n := dice.IntN(4); {
		case n == 0 || len(list) == 0:
			if c, err := p.Try(Ask{User: fmt.Sprint(dice.IntN(3))}); err == nil {
				list = append(list, held{c, false})
			}
		case n == 1:
			list[i].Lend()
			list[i].lent = true
		case n == 2:
			list[i].Reclaim()
			list[i].lent = false
		default:
			list[i].Release()
			list[i] = list[len(list)-1]
			list = list[:len(list)-1]
		}
		used := 0
		for _, h := range list {
			if !h.lent {
				used++
			}
		}
		require.Equal(t, used, p.Stats().Used)
	}
	for _, h := range list {
		h.Release()
	}
	require.Equal(t, Stats{What: "requests", Process: 5, Refused: p.Stats().Refused}, p.Stats())
	require.Empty(t, p.users)
}

// Where a person is waited for, no pace says when to come again.
func TestHeldHint(t *testing.T) {
	e := New(Options{What: "turns", Process: 1}).Held("requests")
	require.Equal(t, &OverloadedError{What: "requests", Of: OfConversation, RetryAfter: maxRetry, Held: true}, e)
	require.Contains(t, e.Error(), "waits for a person to approve a call")
	require.NotContains(t, New(Options{}).Busy("requests", 1).Error(), "person")
}
