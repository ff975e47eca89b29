package redisstore_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
)

// stored returns what the server holds under the prefix: keys, their lives and
// their contents.
func stored(t *testing.T, c *redis.Client, prefix string) (keys []string, lives map[string]time.Duration, content string) {
	t.Helper()
	lives = map[string]time.Duration{}
	var parts []string
	for it := c.Scan(t.Context(), 0, prefix+":*", 1000).Iterator(); it.Next(t.Context()); {
		k := it.Val()
		if _, twice := lives[k]; twice {
			continue
		}
		life, err := c.PTTL(t.Context(), k).Result()
		require.NoError(t, err)
		dump, err := c.Dump(t.Context(), k).Result()
		require.NoError(t, err)
		keys, lives[k] = append(keys, strings.TrimPrefix(k, prefix+":")), life
		parts = append(parts, fmt.Sprintf("%s %q", k, dump))
	}
	sort.Strings(keys)
	sort.Strings(parts)
	return keys, lives, strings.Join(parts, "\n")
}

// exercise uses all that a limiter asks of a store.
func exercise(t *testing.T, s *redisstore.Store) {
	t.Helper()
	l, err := limits.New(limits.Config{Skill: limits.SkillConfig{Failures: 1}}, s)
	require.NoError(t, err)
	for i := range 3 {
		p := limits.Proposal{ID: fmt.Sprint("call", i), User: "u", Conversation: "c", Turn: "t", Agent: "a", Skill: "email.send"}
		v, err := l.Reserve(t.Context(), p)
		require.NoError(t, err)
		require.True(t, v.OK)
		_, err = l.ReserveAgent(t.Context(), p)
		require.NoError(t, err)
	}
	require.NoError(t, l.Report(t.Context(), "email.send", "call0", false))
	require.NoError(t, s.Settle(t.Context(), "skill/other", "1", limits.Failed,
		limits.Rule{Failures: 2, Window: time.Minute, OpenFor: time.Minute}))
}

// Nothing stays for ever: every key has a time to live, those of windows little
// more than the window.
func TestEveryKeyHasAnEnd(t *testing.T) {
	url, prefix := redistest.Shared(t)
	s, c := open(t, redisstore.Options{URL: url, Prefix: prefix}), client(t, url)
	exercise(t, s)
	keys, lives, _ := stored(t, c, prefix)
	require.Len(t, keys, 7, "three levels, the turn's agents, the index, an open breaker, a failure: %v", keys)
	windows := 0
	for key, life := range lives {
		require.Positive(t, life, key)
		require.LessOrEqual(t, life, redisstore.DefaultIdleTTL+limits.DefaultSkillOpenFor, key)
		if life <= limits.DefaultConversationWindow+2*time.Minute {
			windows++
		}
	}
	require.Equal(t, 2, windows, "the conversation's calls and the failures")
}

// A key that no call asks for lives for the configured time. Asking renews it,
// also where the answer is no.
func TestIdleLifeIsRenewed(t *testing.T) {
	url, prefix := redistest.Shared(t)
	s, c := open(t, redisstore.Options{URL: url, Prefix: prefix, IdleTTL: time.Hour}), client(t, url)
	b := []limits.Bucket{{Key: "c/turn", Max: 1}}
	_, err := s.Take(t.Context(), "1", b)
	require.NoError(t, err)
	key := prefix + ":b:{c}/turn"
	for _, key := range []string{key, prefix + ":i:{c}"} {
		require.NoError(t, c.PExpire(t.Context(), key, time.Minute).Err())
	}
	got, err := s.Take(t.Context(), "2", b)
	require.NoError(t, err)
	require.False(t, got.OK)
	for _, key := range []string{key, prefix + ":i:{c}"} {
		life, err := c.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		require.Greater(t, life, 50*time.Minute, key)
		require.LessOrEqual(t, life, time.Hour, key)
	}
}

// A refused proposal leaves nothing behind, whichever level refused it.
func TestRefusedTakesStoreNothing(t *testing.T) {
	url, prefix := redistest.Shared(t)
	s, c := open(t, redisstore.Options{URL: url, Prefix: prefix}), client(t, url)
	full := limits.Bucket{Key: "c/full", Max: 1}
	_, err := s.Take(t.Context(), "1", []limits.Bucket{full})
	require.NoError(t, err)
	held := func() []string {
		keys, _, _ := stored(t, c, prefix)
		return keys
	}
	before := held()
	a, b := limits.Bucket{Key: "c/a", Max: 9}, limits.Bucket{Key: "c/b", Max: 9, Window: time.Hour}
	for i, ask := range [][]limits.Bucket{{full, a, b}, {a, full, b}, {a, b, full}, {{Key: "c/none", Max: 0}}} {
		got, err := s.Take(t.Context(), "2", ask)
		require.NoError(t, err)
		require.False(t, got.OK, i)
		require.Equal(t, before, held())
	}
	n, err := c.ZCard(t.Context(), prefix+":b:{c}/full").Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// A repeated question, whose first answer was lost, changes no stored byte. That
// holds for a call that opened a breaker too.
func TestRepetitionsChangeNothing(t *testing.T) {
	url, prefix := redistest.Shared(t)
	at := testclock.New(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	s, c := redisstore.WithClock(open(t, redisstore.Options{URL: url, Prefix: prefix}), at.Now), client(t, url)
	rule := limits.Rule{Failures: 2, Window: time.Minute, OpenFor: time.Second}
	buckets := []limits.Bucket{{Key: "c/a", Max: 5}, {Key: "c/b", Max: 5, Window: time.Minute}}
	settle := func(call string, o limits.Outcome) func() error {
		return func() error { return s.Settle(t.Context(), "skill/x", call, o, rule) }
	}
	for i, ask := range []func() error{
		func() error { _, err := s.Take(t.Context(), "1", buckets); return err },
		settle("1", limits.Failed),
		settle("2", limits.Failed), // it opens
		func() error {
			at.Shift(time.Second)
			_, err := s.Admit(t.Context(), "skill/x", "3", rule)
			at.Shift(-time.Second)
			return err
		},
		func() error {
			at.Shift(time.Second)
			err := settle("3", limits.Failed)()
			at.Shift(-time.Second)
			return err
		},
		func() error { return s.Forget(t.Context(), "c") },
	} {
		require.NoError(t, ask())
		_, _, once := stored(t, c, prefix)
		require.NoError(t, ask())
		_, _, twice := stored(t, c, prefix)
		require.Equal(t, once, twice, i)
	}
}

// The index lets go of buckets whose life has ended: one conversation leaves no
// trace.
func TestIndexForgetsWhatIsOver(t *testing.T) {
	url, prefix := redistest.Shared(t)
	at := testclock.New(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	s, c := redisstore.WithClock(open(t, redisstore.Options{URL: url, Prefix: prefix, IdleTTL: time.Hour}), at.Now), client(t, url)
	for i := range 50 {
		_, err := s.Take(t.Context(), "1", []limits.Bucket{{Key: fmt.Sprint("c/turn", i), Max: 1}})
		require.NoError(t, err)
		at.Shift(10 * time.Minute)
	}
	n, err := c.ZCard(t.Context(), prefix+":i:{c}").Result()
	require.NoError(t, err)
	require.EqualValues(t, 6, n, "an hour's turns")
}

// Names that look like a key of another, or like a slot of a cluster, stay
// what they are.
func TestOddNamesStayApart(t *testing.T) {
	s := open(t, redisstore.Options{})
	for _, key := range []string{"c/a", "{c}/a", "c}/a", "}/a", "c/{a}", "c:/a", "c", "i:{c}", "c/a/", "c//a", "é\x00/a"} {
		got, err := s.Take(t.Context(), "1", []limits.Bucket{{Key: key, Max: 1}})
		require.NoError(t, err)
		require.True(t, got.OK, key)
		require.Equal(t, 1, got.Used, key)
	}
	require.NoError(t, s.Forget(t.Context(), "c/a"))
	got, err := s.Take(t.Context(), "2", []limits.Bucket{{Key: "c//a", Max: 1}})
	require.NoError(t, err)
	require.False(t, got.OK)
}

// A meter without amounts leaves nothing behind, of a lifetime or of a window. A
// meter that still holds an amount stays whole.
func TestEmptyMetersLeaveNothing(t *testing.T) {
	url, prefix := redistest.Shared(t)
	s, c := open(t, redisstore.Options{URL: url, Prefix: prefix}), client(t, url)
	meters := func(n int64) []limits.Meter {
		return []limits.Meter{{Key: "c/turn", Max: 100, Amount: n}, {Key: "c/hour", Max: 100, Window: time.Hour, Amount: n}}
	}
	for _, id := range []string{"a", "b"} {
		got, err := s.Hold(t.Context(), id, meters(10))
		require.NoError(t, err)
		require.True(t, got.OK)
	}
	keys, _, _ := stored(t, c, prefix)
	require.Len(t, keys, 5, "times and amounts of two meters, and the index: %v", keys)
	require.NoError(t, s.Spend(t.Context(), "a", meters(0)))
	still, _, _ := stored(t, c, prefix)
	require.Equal(t, keys, still)
	require.NoError(t, s.Spend(t.Context(), "b", meters(0)))
	keys, _, _ = stored(t, c, prefix)
	require.Empty(t, keys)
	got, err := s.Hold(t.Context(), "c", meters(0)) // nor does nothing
	require.NoError(t, err)
	require.True(t, got.OK)
	keys, _, _ = stored(t, c, prefix)
	require.Empty(t, keys)
}
