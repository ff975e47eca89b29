package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func overloaded(t testing.TB, err error) *OverloadedError {
	t.Helper()
	var e *OverloadedError
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, ErrOverloaded)
	require.GreaterOrEqual(t, e.RetryAfter, minRetry)
	require.LessOrEqual(t, e.RetryAfter, maxRetry)
	return e
}

// One user's flood delays another's requests by one credit each, not by the
// length of the flood; a user's own requests keep their order.
func TestFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{What: "turns", Process: 1, Waiting: 2000, UserWaiting: 2000})
		first, err := p.Try(Ask{User: "flood"})
		require.NoError(t, err)
		var mu sync.Mutex
		var served []string
		ask := func(user, name string) {
			go func() {
				c, err := p.Acquire(t.Context(), Ask{User: user})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				served = append(served, name)
				mu.Unlock()
				time.Sleep(time.Second) // the bubble's clock
				c.Release()
			}()
			synctest.Wait()
		}
		for i := range 1000 {
			ask("flood", fmt.Sprint("f", i))
		}
		for i := range 3 {
			ask("ann", fmt.Sprint("a", i))
		}
		ask("bob", "b0")
		first.Release()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		mu.Lock()
		require.Equal(t, []string{"f0", "a0", "b0", "f1", "a1", "f2", "a2", "f3", "f4"}, served[:9])
		mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, Stats{What: "turns", Process: 1}, p.Stats())
		require.Len(t, served, 1004)
	})
}

// A user's share is a bound of its own: what waits for it holds up nobody else.
func TestUserShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{What: "agents", Process: 4, User: 2, Waiting: 10, UserWaiting: 3})
		var held []*Credit
		for range 2 {
			c, err := p.Try(Ask{User: "ann"})
			require.NoError(t, err)
			held = append(held, c)
		}
		_, err := p.Try(Ask{User: "ann"})
		require.Equal(t, "agents", overloaded(t, err).What)
		require.Equal(t, OfUser, overloaded(t, err).Of)
		got := make(chan *Credit, 3)
		for range 3 {
			go func() {
				c, _ := p.Acquire(t.Context(), Ask{User: "ann"})
				got <- c
			}()
		}
		synctest.Wait()
		_, err = p.Acquire(t.Context(), Ask{User: "ann"})
		require.Equal(t, OfUser, overloaded(t, err).Of)
		for range 2 {
			c, err := p.Try(Ask{User: "bob"})
			require.NoError(t, err)
			held = append(held, c)
		}
		_, err = p.Try(Ask{User: "eve"})
		require.Equal(t, OfProcess, overloaded(t, err).Of)
		for _, c := range held {
			c.Release()
			c.Release() // once is what counts
		}
		for range 3 {
			synctest.Wait()
			(<-got).Release()
		}
		require.Equal(t, Stats{What: "agents", Process: 4, Refused: 3}, p.Stats())
	})
}

// Nobody waits longer than Wait, except for work that was accepted before,
// which no length of a queue keeps out either.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{What: "turns", Process: 1, Waiting: 1, UserWaiting: 1, Wait: 30 * time.Second})
		c, err := p.Acquire(t.Context(), Ask{User: "ann"})
		require.NoError(t, err)
		resumed := make(chan *Credit, 2)
		for range 2 {
			go func() {
				c, _ := p.Acquire(t.Context(), Ask{User: "bob", Accepted: true})
				resumed <- c
			}()
		}
		synctest.Wait()
		begun := time.Now()
		_, err = p.Acquire(t.Context(), Ask{User: "ann"})
		_ = overloaded(t, err)
		require.Zero(t, time.Since(begun), "the queue is full, so there is nothing to wait for")
		time.Sleep(time.Hour)
		c.Release()
		(<-resumed).Release()
		last := <-resumed
		_, err = p.Acquire(t.Context(), Ask{User: "ann"})
		_ = overloaded(t, err)
		require.Equal(t, 30*time.Second, time.Since(begun)-time.Hour)
		last.Release()
		require.Zero(t, p.Stats().Used)
	})
}

// A credit comes back with the life it is tied to, also where that ends while
// the asker waits, and a caller that leaves leaves nothing behind.
func TestLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{What: "turns", Process: 1, Waiting: 5, UserWaiting: 5})
		holder, drop := context.WithCancel(t.Context())
		_, err := p.Try(Ask{User: "ann", Life: holder})
		require.NoError(t, err)
		ctx, leave := context.WithCancel(t.Context())
		life, end := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() { _, err := p.Acquire(ctx, Ask{User: "ann"}); errs <- err }()
		synctest.Wait()
		leave()
		require.ErrorIs(t, <-errs, context.Canceled)
		go func() { _, err := p.Acquire(t.Context(), Ask{User: "bob", Life: life}); errs <- err }()
		synctest.Wait()
		end()
		require.ErrorIs(t, <-errs, context.Canceled)
		require.Equal(t, Stats{What: "turns", Process: 1, Used: 1, Users: 1, Refused: 2}, p.Stats(), "both left the queue")
		drop()
		synctest.Wait()
		require.Equal(t, Stats{What: "turns", Process: 1, Refused: 2}, p.Stats())
		_, err = p.Acquire(ctx, Ask{User: "ann"})
		require.ErrorIs(t, err, context.Canceled)
		_, err = p.Try(Ask{User: "ann", Life: life})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, Stats{What: "turns", Process: 1, Refused: 2}, p.Stats(), "nothing was asked for, or given")
	})
}

// One life that holds a credit and waits for another: its end gives the first
// back, and the waiter either has left by then or is handed it and returns it.
// Which of the two comes first is the scheduler's choice, so bob is counted as
// one who left the queue or as one who was served; nothing else differs.
func TestLifeThatHoldsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{What: "turns", Process: 1, Waiting: 5, UserWaiting: 5})
		life, end := context.WithCancel(t.Context())
		_, err := p.Try(Ask{User: "ann", Life: life})
		require.NoError(t, err)
		errs := make(chan error, 1)
		go func() { _, err := p.Acquire(t.Context(), Ask{User: "bob", Life: life}); errs <- err }()
		synctest.Wait()
		end()
		require.ErrorIs(t, <-errs, context.Canceled)
		synctest.Wait()
		left := p.Stats()
		require.LessOrEqual(t, left.Refused, uint64(1), "bob, unless he was handed the credit")
		require.Equal(t, Stats{What: "turns", Process: 1, Refused: left.Refused}, left)
	})
}

// The hint follows how fast work ends: ten times as slow, ten times as long;
// it grows with those who wait and with the silence since the last end.
func TestRetryAfter(t *testing.T) {
	hint := func(hold time.Duration, slots, waiting int, silence time.Duration) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			p := New(Options{What: "turns", Process: slots, Waiting: 1000, UserWaiting: 1000})
			for range 50 {
				c, err := p.Try(Ask{User: "ann"})
				require.NoError(t, err)
				time.Sleep(hold)
				c.Release()
			}
			for range slots {
				_, err := p.Try(Ask{User: "ann"})
				require.NoError(t, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			for range waiting {
				go func() { _, _ = p.Acquire(ctx, Ask{User: "ann"}) }()
			}
			synctest.Wait()
			time.Sleep(silence)
			_, err := p.Try(Ask{User: "ann"})
			d = overloaded(t, err).RetryAfter
			cancel()
			synctest.Wait()
		})
		return d
	}
	require.Equal(t, time.Second, hint(time.Second, 1, 0, 0))
	require.Equal(t, 10*time.Second, hint(10*time.Second, 1, 0, 0))
	require.Equal(t, 6*time.Second, hint(10*time.Second, 10, 5, 0))
	require.Equal(t, 30*time.Second, hint(10*time.Second, 10, 0, 30*time.Second))
	require.Equal(t, maxRetry, hint(10*time.Second, 1, 500, 0))
	require.Equal(t, maxRetry, hint(time.Second, 1, 5, time.Hour))
	require.Equal(t, minRetry, hint(time.Millisecond, 1, 0, 0))
	busy := New(Options{}).Busy("requests", 3)
	require.Equal(t, 4*firstHold, busy.RetryAfter)
	require.EqualError(t, busy, "too many requests of this conversation; try again in 4s")
}

// Whatever is asked for, given up, ended or given back, in whatever order: the
// bounds hold at every step, nobody waits while there is room for them, and at
// the end every credit is back.
func TestNothingLeaks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		process, user := rapid.IntRange(1, 4).Draw(rt, "process"), rapid.IntRange(1, 3).Draw(rt, "user")
		ops := rapid.SliceOfN(rapid.IntRange(0, 99), 1, 60).Draw(rt, "ops")
		var fault error
		synctest.Test(t, func(t *testing.T) { fault = play(t, process, user, ops) })
		if fault != nil {
			rt.Fatal(fault)
		}
	})
}

func play(t *testing.T, process, user int, ops []int) error {
	p := New(Options{What: "x", Process: process, User: user, Waiting: 6, UserWaiting: 3, Wait: 10 * time.Second})
	var mu sync.Mutex
	var held []*Credit
	var stops []func()
	holding := map[string]int{}
	for _, op := range ops {
		who := fmt.Sprint(op % 3)
		switch op / 20 {
		case 0, 1, 2: // ask; a third of them tied to a life
			ctx, leave := context.WithCancel(t.Context())
			ask := Ask{User: who, Accepted: op%7 == 0}
			if op/20 == 0 {
				ask.Life = ctx
			}
			stops = append(stops, leave)
			go func() {
				if c, err := p.Acquire(ctx, ask); err == nil {
					mu.Lock()
					held = append(held, c)
					mu.Unlock()
				} else if !errors.Is(err, ErrOverloaded) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
		case 3: // one ends
			mu.Lock()
			if len(held) > 0 {
				i := op % len(held)
				held[i].Release()
			}
			mu.Unlock()
		default: // a caller leaves, or a life ends; or time passes
			if len(stops) > 0 {
				stops[op%len(stops)]()
			}
			time.Sleep(time.Duration(op) * 100 * time.Millisecond)
		}
		synctest.Wait()
		p.mu.Lock()
		clear(holding)
		for name, a := range p.users {
			holding[name] = a.used
			if a.used > user || a.used < 0 || a.queue.Len() > 0 && a.used < user && p.used < process {
				p.mu.Unlock()
				return fmt.Errorf("user %s holds %d of %d, and %d wait", name, a.used, user, a.queue.Len())
			}
		}
		bad := p.used > process || p.used < 0
		p.mu.Unlock()
		if bad {
			return fmt.Errorf("%d of %d credits are out", p.used, process)
		}
	}
	for _, stop := range stops {
		stop()
	}
	synctest.Wait()
	for _, c := range held {
		c.Release()
	}
	if s := p.Stats(); s.Used != 0 || s.Waiting != 0 || s.Users != 0 || p.ring.Len() != 0 {
		return fmt.Errorf("left behind: %+v", s)
	}
	return nil
}

// Under real concurrency no more than the bounds are out at any moment.
func TestConcurrent(t *testing.T) {
	p := New(Options{What: "x", Process: 5, User: 3, Waiting: 1 << 20, UserWaiting: 1 << 20})
	var out, most atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 200 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(300))*time.Microsecond)
				c, err := p.Acquire(ctx, Ask{User: fmt.Sprint(i % 4), Life: ctx})
				if err == nil {
					n := out.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					out.Add(-1)
					c.Release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(5))
	require.Positive(t, most.Load())
	require.Eventually(t, func() bool {
		s := p.Stats()
		return s.Used == 0 && s.Waiting == 0 && s.Users == 0
	}, 4*time.Minute, time.Millisecond)
}
