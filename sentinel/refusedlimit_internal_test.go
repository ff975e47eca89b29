package sentinel

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However many conversations propose nonsense, the memory is bounded and no count
// is lost: one that makes room for another is told of, and where that can't be
// written the number stays, though not whose it was.
func TestRefusedLimitIsBounded(t *testing.T) {
	const per = refusedPerMinute + 2 // two are left out of each
	l, now := &refusedLimit{}, time.Unix(1e9, 0)
	told, told2 := 0, 0
	propose := func(from, to int, failing bool) {
		for i := from; i < to; i++ {
			for range per {
				ok, omitted, out := l.take(proposer{"ann", fmt.Sprint("c", i)}, now)
				switch {
				case out.n > 0 && failing:
					l.putBack(out, now)
				case out.n > 0:
					require.Equal(t, 2, out.n)
					told2 += out.n
				}
				if ok {
					told += 1 + omitted
				}
			}
		}
		require.LessOrEqual(t, len(l.by), refusedKeys)
	}
	propose(0, refusedKeys, false)
	require.Equal(t, []int{refusedKeys * refusedPerMinute, 0}, []int{told, told2})
	propose(refusedKeys, refusedKeys+50, false)
	require.Equal(t, 100, told2)
	propose(refusedKeys+50, refusedKeys+100, true)
	require.Equal(t, 100, l.rest)
	for _, s := range l.drain() {
		told2 += s.n
	}
	require.Equal(t, (refusedKeys+100)*per, told+told2)
	require.Empty(t, l.drain(), "once")
	now = now.Add(time.Minute)
	propose(refusedKeys+100, refusedKeys+101, false)
	require.Len(t, l.by, 1, "what is over and told goes without a word")
}
