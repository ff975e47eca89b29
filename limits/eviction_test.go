package limits_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/limits"
)

// However many agents are dispatched, their turns' ends leave nothing behind
// but the conversations' windows, and those go by themselves.
func TestEndTurnDropsItsAgents(t *testing.T) {
	c := newClock()
	m := limits.NewMemory(limits.MemoryOptions{Now: c.Now, MaxKeys: 40})
	l, err := limits.New(limits.Config{}, m)
	require.NoError(t, err)
	for i := range 5000 {
		p := limits.Proposal{ID: fmt.Sprint("call", i), User: "u", Conversation: fmt.Sprint("c", i/50), Turn: fmt.Sprint("t", i/10),
			Agent: fmt.Sprint("g", i)}
		v, err := l.Reserve(t.Context(), p)
		require.NoError(t, err, i)
		require.True(t, v.OK)
		_, err = l.ReserveAgent(t.Context(), p)
		require.NoError(t, err)
		if i%10 == 9 {
			require.NoError(t, l.EndTurn(t.Context(), p))
			buckets, _ := m.Len()
			require.LessOrEqual(t, buckets, 26, "a window for each conversation of the last five minutes")
			c.Shift(time.Minute)
		}
	}
}

// EndTurn leaves the agents of other turns and conversations as they were.
// EndConversation drops what turns without an end left.
func TestEndsReachNoFurther(t *testing.T) {
	b := newLimiter(t, limits.Config{})
	for _, p := range []limits.Proposal{proposal("1", "a"), proposal("2", "a"), proposal("12", "a")} {
		require.Equal(t, 1, b.reserve(p).Used)
	}
	require.NoError(t, b.EndTurn(t.Context(), proposal("1", "")))
	require.Equal(t, 1, b.reserve(proposal("1", "a")).Used)
	require.Equal(t, 2, b.reserve(proposal("2", "a")).Used)
	require.Equal(t, 2, b.reserve(proposal("12", "a")).Used)
	require.NoError(t, b.EndConversation(t.Context(), proposal("", "")))
	require.Equal(t, 1, b.reserve(proposal("2", "a")).Used)
}

// full is a store of four keys: two conversations with two buckets each.
func full(t *testing.T) (*limits.Memory, *testclock.Clock, func(id, key string) (limits.Taken, error)) {
	t.Helper()
	c := newClock()
	m := limits.NewMemory(limits.MemoryOptions{Now: c.Now, MaxKeys: 4, EvictIdle: time.Minute})
	take := func(id, key string) (limits.Taken, error) {
		return m.Take(t.Context(), id, []limits.Bucket{{Key: key, Max: 1}})
	}
	for _, key := range []string{"old/agent", "old/turn", "busy/agent", "busy/turn"} {
		got, err := take("1", key)
		require.NoError(t, err)
		require.True(t, got.OK)
		c.Shift(time.Second)
	}
	return m, c, take
}

// A full store makes room out of what has been idle the longest.
func TestFullStoreEvictsTheIdle(t *testing.T) {
	m, c, take := full(t)
	c.Shift(time.Minute)
	_, err := take("2", "busy/turn")
	require.NoError(t, err)
	got, err := take("1", "new/agent")
	require.NoError(t, err)
	require.True(t, got.OK)
	requireBuckets(t, m, 4)
	got, err = take("2", "old/turn")
	require.NoError(t, err)
	require.False(t, got.OK, "one was needed and one went: the oldest")
}

// No limit is lifted within a turn. New keys that flood a busy conversation don't
// lift it, nor does an agent's silence, nor one more bucket.
func TestFullStoreLiftsNoLimit(t *testing.T) {
	t.Run("busy", func(t *testing.T) {
		_, _, take := full(t)
		for i := range 100 {
			_, err := take("1", fmt.Sprint("flood", i, "/agent"))
			require.ErrorIs(t, err, limits.ErrFull)
		}
		for _, key := range []string{"old/agent", "old/turn", "busy/agent", "busy/turn"} {
			got, err := take("2", key)
			require.NoError(t, err)
			require.False(t, got.OK, key)
		}
	})
	t.Run("a silent agent of a busy turn", func(t *testing.T) {
		_, c, take := full(t)
		for range 3 {
			c.Shift(30 * time.Second)
			_, err := take("2", "busy/turn")
			require.NoError(t, err)
		}
		for i := range 2 {
			got, err := take("1", fmt.Sprint("new", i, "/agent"))
			require.NoError(t, err)
			require.True(t, got.OK)
		}
		_, err := take("1", "third/agent")
		require.ErrorIs(t, err, limits.ErrFull, "the idle ones are gone")
		got, err := take("2", "busy/agent")
		require.NoError(t, err)
		require.False(t, got.OK)
	})
	t.Run("one more of one's own", func(t *testing.T) {
		_, c, take := full(t)
		c.Shift(30 * time.Second)
		_, err := take("2", "busy/turn")
		require.NoError(t, err)
		c.Shift(time.Hour)
		_, err = take("2", "busy/turn")
		require.NoError(t, err)
		_, err = take("1", "old/third")
		require.ErrorIs(t, err, limits.ErrFull)
		got, err := take("2", "old/agent")
		require.NoError(t, err)
		require.False(t, got.OK)
	})
}

// The store never evicts windows: that would be a way round a conversation's limit.
func TestFullStoreKeepsWindows(t *testing.T) {
	c := newClock()
	m := limits.NewMemory(limits.MemoryOptions{Now: c.Now, MaxKeys: 1, EvictIdle: time.Minute})
	_, err := m.Take(t.Context(), "1", []limits.Bucket{{Key: "a/calls", Max: 1, Window: time.Hour}})
	require.NoError(t, err)
	c.Shift(30 * time.Minute)
	_, err = m.Take(t.Context(), "1", []limits.Bucket{{Key: "b/calls", Max: 1}})
	require.ErrorIs(t, err, limits.ErrFull)
}
