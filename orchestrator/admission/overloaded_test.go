package admission

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What was refused is counted, at once or in the queue; who goes on to wait, and
// gets a credit, was not.
func TestRefusedIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{What: "requests", Process: 1, Waiting: 1, UserWaiting: 1, Wait: time.Second})
		first, err := p.Try(Ask{User: "ann"})
		require.NoError(t, err)
		require.Zero(t, p.Stats().Refused)
		for range 10 {
			_, err := p.Try(Ask{User: "ann"})
			_ = overloaded(t, err)
		}
		require.EqualValues(t, 10, p.Stats().Refused)
		_, err = p.Ready(Ask{User: "bob"})
		_ = overloaded(t, err)
		require.EqualValues(t, 10, p.Stats().Refused, "it may wait")
		_, err = p.Acquire(t.Context(), Ask{User: "bob"})
		_ = overloaded(t, err)
		require.EqualValues(t, 11, p.Stats().Refused, "it has waited in vain")
		got := make(chan *Credit)
		go func() { c, _ := p.Acquire(t.Context(), Ask{User: "bob"}); got <- c }()
		synctest.Wait()
		_, err = p.Acquire(t.Context(), Ask{User: "eve"})
		_ = overloaded(t, err)
		require.EqualValues(t, 12, p.Stats().Refused, "the queue is full")
		first.Release()
		c := <-got
		c.Release()
		ready, err := p.Ready(Ask{User: "bob"})
		require.NoError(t, err)
		require.Equal(t, 1, p.Stats().Used)
		ready.Release()
		require.EqualValues(t, 12, p.Stats().Refused)
	})
}

// A credit that nothing was done with goes to the next who waits, and says
// nothing about how long that one's work will take.
func TestUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{What: "questions", Process: 1, Waiting: 9, UserWaiting: 9})
		for range 50 {
			c, err := p.Try(Ask{User: "ann"})
			require.NoError(t, err)
			time.Sleep(10 * time.Second)
			c.Release()
		}
		for range 50 {
			c, err := p.Try(Ask{User: "ann"})
			require.NoError(t, err)
			c.Unused()
			c.Release()
		}
		c, err := p.Try(Ask{User: "ann"})
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, p.Overloaded("bob").RetryAfter)
		got := make(chan *Credit)
		go func() { next, _ := p.Acquire(t.Context(), Ask{User: "bob"}); got <- next }()
		synctest.Wait()
		c.Unused()
		(<-got).Release()
		require.Zero(t, p.Stats().Used)
		var none *Credit
		none.Unused()
	})
}
