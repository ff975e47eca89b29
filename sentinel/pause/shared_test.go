package pause_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// table is what processes share, or can't reach.
type table struct {
	mu   sync.Mutex
	at   map[string]string
	away error
	// read is called once an answer to All is made, before it is given.
	read func()
}

func (s *table) do(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away == nil {
		f()
	}
	return s.away
}

func (s *table) Put(_ context.Context, k, v string) error { return s.do(func() { s.at[k] = v }) }
func (s *table) Delete(_ context.Context, k string) error { return s.do(func() { delete(s.at, k) }) }
func (s *table) All(context.Context) (all map[string]string, err error) {
	var told func()
	err = s.do(func() { all, told = maps.Clone(s.at), s.read })
	if told != nil {
		told()
	}
	return all, err
}

func (s *table) set(f func()) { s.mu.Lock(); defer s.mu.Unlock(); f() }

// process returns one of several processes that share the table.
func (s *table) process(t *testing.T, path string, key *ledger.Signer) *rig {
	t.Helper()
	return s.processWith(t, path, key, pause.Options{Every: time.Second})
}

func (s *table) processWith(t *testing.T, path string, key *ledger.Signer, o pause.Options) *rig {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	lg, err := ledger.Open(t.Context(), st, key, ledger.Options{})
	require.NoError(t, err)
	o.Shared = s
	sw, err := pause.Open(t.Context(), st, lg, o)
	require.NoError(t, err)
	return &rig{sw, st, lg}
}

func (r *rig) end(t *testing.T) {
	t.Helper()
	r.Close()
	require.NoError(t, r.st.Close())
}

func (r *rig) paused(user, skill string) bool { _, ok := r.Paused(user, skill); return ok }

// later lets every process read the table once.
func later() {
	time.Sleep(1100 * time.Millisecond) // of the bubble's own time
	synctest.Wait()
}

// What one process pauses or lifts, all do, and each has it on record.
func TestProcessesTellEachOther(t *testing.T) {
	dir, key := t.TempDir(), signer(t)
	synctest.Test(t, func(t *testing.T) {
		s := &table{at: map[string]string{}}
		a, b := s.process(t, filepath.Join(dir, "a.db"), key), s.process(t, filepath.Join(dir, "b.db"), key)
		defer a.end(t)
		defer b.end(t)
		_, err := a.Pause(t.Context(), pause.Target{User: "ann"}, "uid:1")
		require.NoError(t, err)
		later()
		require.True(t, b.paused("ann", "email.send"))
		require.Equal(t, "uid:1", b.List()[0].By)
		require.False(t, b.paused("bob", "email.send"))

		lifted, err := b.Lift(t.Context(), pause.Target{User: "ann"}, "uid:2")
		require.NoError(t, err)
		require.True(t, lifted)
		later()
		require.False(t, a.paused("ann", "email.send"))
		for _, r := range []*rig{a, b} {
			list, err := r.lg.List(t.Context(), ledger.Query{})
			require.NoError(t, err)
			require.Len(t, list, 2)
			require.Equal(t, pause.RecordLifted, list[1].Kind)
			require.Contains(t, string(list[1].Body), "uid:2")
		}
		// Again, in the same moment of the clock: an old end doesn't lift it.
		_, err = a.Pause(t.Context(), pause.Target{User: "ann"}, "uid:1")
		require.NoError(t, err)
		later()
		later()
		require.True(t, a.paused("ann", "email.send"))
		require.True(t, b.paused("ann", "email.send"))

		// Nor does one that is all the table still holds, since a newer pause
		// could not be put there.
		_, err = b.Lift(t.Context(), pause.Target{User: "ann"}, "uid:2")
		require.NoError(t, err)
		later()
		require.False(t, a.paused("ann", "email.send"))
		s.set(func() { s.away = errors.New("away") })
		_, err = a.Pause(t.Context(), pause.Target{User: "ann"}, "uid:1")
		require.ErrorIs(t, err, pause.ErrNotShared)
		s.set(func() { s.away = nil })
		later()
		later()
		require.True(t, a.paused("ann", "email.send"))
		require.True(t, b.paused("ann", "email.send"))
	})
}

// A table that is away, or comes back empty, lifts nothing; what it missed it
// is told.
func TestTableAway(t *testing.T) {
	dir, key := t.TempDir(), signer(t)
	synctest.Test(t, func(t *testing.T) {
		s := &table{at: map[string]string{}}
		a, b := s.process(t, filepath.Join(dir, "a.db"), key), s.process(t, filepath.Join(dir, "b.db"), key)
		_, err := a.Pause(t.Context(), pause.Target{Skill: "email.*"}, "uid:1")
		require.NoError(t, err)
		later()
		gone := errors.New("away")
		s.set(func() { s.away = gone; clear(s.at) })
		later()
		require.True(t, b.paused("bob", "email.send"))

		_, err = b.Pause(t.Context(), pause.Target{All: true}, "uid:1")
		require.ErrorIs(t, err, pause.ErrNotShared)
		require.True(t, b.paused("bob", "files.read"))
		_, err = a.Lift(t.Context(), pause.Target{Skill: "email.*"}, "uid:1")
		require.ErrorIs(t, err, gone)
		require.True(t, a.paused("bob", "email.send"))
		b.end(t)

		s.set(func() { s.away = nil })
		b = s.process(t, filepath.Join(dir, "b.db"), key) // knows of both from its database
		later()
		later()
		require.True(t, a.paused("bob", "files.read"), "told now")
		require.Len(t, b.List(), 2)
		s.set(func() { s.at["user/"], s.at["nonsense"], s.at["skill/tasks.*"] = "{}", "x", "not json" })
		later()
		require.Len(t, a.List(), 2)
		a.end(t)
		b.end(t)
	})
}
