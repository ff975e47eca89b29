package review

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// However many come, wait, give up or are too late: never more than the room
// are in, every place comes back, and nothing is left of anybody.
func TestPlacesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(3)
		var in, most, got, busy, left atomic.Int32
		var wg sync.WaitGroup
		for i := range 300 {
			wg.Go(func() {
				time.Sleep(time.Duration(i%7) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%41)*time.Millisecond)
				defer cancel()
				err := p.take(ctx, strconv.Itoa(i%5), time.Now().Add(time.Duration(i%29)*time.Millisecond))
				switch {
				case err == nil:
					got.Add(1)
					now := in.Add(1)
					for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
					}
					time.Sleep(time.Millisecond)
					in.Add(-1)
					p.give()
				case errors.Is(err, errCanceled):
					left.Add(1)
				default:
					busy.Add(1)
				}
			})
		}
		wg.Wait()
		require.Equal(t, int32(300), got.Load()+busy.Load()+left.Load())
		require.Equal(t, int32(3), most.Load())
		for _, n := range []int32{got.Load(), busy.Load(), left.Load()} {
			require.Greater(t, n, int32(10))
		}
		require.Zero(t, p.countTaken())
		require.Empty(t, p.users)
		require.Zero(t, p.turns.Len())
	})
}
