package pause_test

import (
	"context"
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

// stall keeps the writer of a store busy until release is called.
func (r *rig) stall(t *testing.T) (release func()) {
	t.Helper()
	in, out, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- r.st.Submit(context.Background(), func(*store.Tx) error { close(in); <-out; return nil })
	}()
	<-in
	return func() {
		close(out)
		require.NoError(t, <-ended)
	}
}

func (r *rig) kinds(t *testing.T) (out []string) {
	t.Helper()
	list, err := r.lg.List(t.Context(), ledger.Query{})
	require.NoError(t, err)
	for _, e := range list {
		out = append(out, e.Kind)
	}
	return out
}

// While the disk stalls, every pause is in force at once, here and in other
// processes. All are written down after the stall.
func TestDiskStalls(t *testing.T) {
	dir, key := t.TempDir(), signer(t)
	synctest.Test(t, func(t *testing.T) {
		s := &table{at: map[string]string{}}
		a, b := s.process(t, filepath.Join(dir, "a.db"), key), s.process(t, filepath.Join(dir, "b.db"), key)
		defer a.end(t)
		defer b.end(t)
		goOnA, goOnB := a.stall(t), b.stall(t)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		done := make(chan error, 2)
		for _, user := range []string{"ann", "bob"} {
			go func() { _, err := a.Pause(ctx, pause.Target{User: user}, "uid:1"); done <- err }()
			synctest.Wait()
			require.True(t, a.paused(user, "email.send"), "before any time has passed")
		}
		later()
		require.True(t, b.paused("ann", "email.send"))
		require.True(t, b.paused("bob", "email.send"))
		_, err := b.Lift(ctx, pause.Target{User: "ann"}, "uid:1") // it waits for the disk as well
		require.Error(t, err)
		require.True(t, b.paused("ann", "email.send"))
		for range 2 {
			require.ErrorIs(t, <-done, pause.ErrNotWritten, "it is told in time")
		}
		_, err = a.Pause(ctx, pause.Target{All: true}, "uid:1")
		require.ErrorIs(t, err, pause.ErrNotWritten)
		later()
		require.True(t, b.paused("eve", "email.send"), "told of while this one's disk stalls too")

		goOnA()
		goOnB()
		synctest.Wait()
		for _, r := range []*rig{a, b} {
			require.Equal(t, []string{pause.RecordPaused, pause.RecordPaused, pause.RecordPaused}, r.kinds(t))
		}
	})
}

// A pause that is asked for again during the writing of its lift outlives the
// lift. That holds here, elsewhere and on disk.
func TestPausedAgainDuringALift(t *testing.T) {
	dir, key := t.TempDir(), signer(t)
	synctest.Test(t, func(t *testing.T) {
		s := &table{at: map[string]string{}}
		a, b := s.process(t, filepath.Join(dir, "a.db"), key), s.process(t, filepath.Join(dir, "b.db"), key)
		defer b.end(t)
		ann := pause.Target{User: "ann"}
		_, err := a.Pause(t.Context(), ann, "uid:1")
		require.NoError(t, err)
		goOn := a.stall(t)
		lifted, again := make(chan error, 1), make(chan error, 1)
		go func() { _, err := a.Lift(context.Background(), ann, "uid:1"); lifted <- err }()
		synctest.Wait()
		go func() { _, err := a.Pause(context.Background(), ann, "uid:2"); again <- err }()
		synctest.Wait()
		goOn()
		require.NoError(t, <-lifted)
		require.True(t, a.paused("ann", "email.send"))
		require.NoError(t, <-again)
		later()
		later()
		require.True(t, a.paused("ann", "email.send"))
		require.True(t, b.paused("ann", "email.send"))
		require.Equal(t, []string{pause.RecordPaused, pause.RecordLifted, pause.RecordPaused}, a.kinds(t))
		a.end(t)
		s.set(func() { clear(s.at) })
		a = s.process(t, filepath.Join(dir, "a.db"), key)
		defer a.end(t)
		require.True(t, a.paused("ann", "email.send"), "on disk")
	})
}

// A pause that was lifted before it was written down leaves both on record.
func TestLiftedBeforeItWasWritten(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "v.db"), signer(t))
	goOn := r.stall(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Pause(ctx, pause.Target{All: true}, "uid:1")
	require.ErrorIs(t, err, pause.ErrNotWritten)
	goOn()
	ok, err := r.Lift(t.Context(), pause.Target{All: true}, "uid:1")
	require.NoError(t, err)
	require.True(t, ok)
	r.Close()
	require.Equal(t, []string{pause.RecordPaused, pause.RecordLifted}, r.kinds(t))
	require.Empty(t, r.List())
}

// The Switch ignores what it read from the table before something was done here.
// Such an answer would bring back a lifted pause, or lift one that has begun.
func TestStaleAnswer(t *testing.T) {
	dir, key := t.TempDir(), signer(t)
	synctest.Test(t, func(t *testing.T) {
		s := &table{at: map[string]string{}}
		a := s.process(t, filepath.Join(dir, "a.db"), key)
		defer a.end(t)
		ann := pause.Target{User: "ann"}
		during := func(f func() error) {
			done := make(chan error, 1)
			var once sync.Once
			s.set(func() { s.read = func() { once.Do(func() { done <- f() }) } })
			later()
			require.NoError(t, <-done)
		}
		_, err := a.Pause(t.Context(), ann, "uid:1")
		require.NoError(t, err)
		during(func() error {
			_, err := a.Lift(context.Background(), ann, "uid:1")
			return err
		})
		later()
		require.False(t, a.paused("ann", "email.send"))
		require.Equal(t, []string{pause.RecordPaused, pause.RecordLifted}, a.kinds(t))

		// Another process's end, later than this pause's beginning by a clock
		// that is ahead, was replaced in the table by the pause.
		ahead := time.Now().Add(time.Hour).Format(time.RFC3339Nano)
		s.set(func() { s.at["user/ann"] = `{"since":"` + ahead + `","ended":"` + ahead + `"}` })
		during(func() error {
			_, err := a.Pause(context.Background(), ann, "uid:1")
			return err
		})
		later()
		require.True(t, a.paused("ann", "email.send"))
	})
}

// Clocks that differ, or go back, don't lift a pause that began after an end. Nor
// do they keep one that has ended.
func TestClocksThatDiffer(t *testing.T) {
	dir, key := t.TempDir(), signer(t)
	synctest.Test(t, func(t *testing.T) {
		s := &table{at: map[string]string{}}
		slow := time.Duration(0)
		a := s.process(t, filepath.Join(dir, "a.db"), key)
		b := s.processWith(t, filepath.Join(dir, "b.db"), key, pause.Options{
			Every: time.Second, Now: func() time.Time { return time.Now().Add(-slow) },
		})
		defer a.end(t)
		defer b.end(t)
		ann := pause.Target{User: "ann"}
		_, err := a.Pause(t.Context(), ann, "uid:1")
		require.NoError(t, err)
		later()
		slow = time.Hour
		ok, err := b.Lift(t.Context(), ann, "uid:1") // an hour before it began, by b's clock
		require.NoError(t, err)
		require.True(t, ok)
		later()
		require.False(t, a.paused("ann", "email.send"), "lifted by a clock that is behind")
		later()
		require.False(t, b.paused("ann", "email.send"))
		end := ""
		s.set(func() { end = s.at["user/ann"] })

		_, err = b.Pause(t.Context(), ann, "uid:1") // an hour before it ended, by b's clock
		require.NoError(t, err)
		s.set(func() { s.at["user/ann"] = end }) // the table was put back from a copy
		later()
		later()
		require.True(t, b.paused("ann", "email.send"), "begun by a clock that is behind")
		require.True(t, a.paused("ann", "email.send"))
	})
}

// With what a Switch does by itself, another process has heard of a pause
// within a second.
func TestToldWithinASecond(t *testing.T) {
	dir, key := t.TempDir(), signer(t)
	synctest.Test(t, func(t *testing.T) {
		s := &table{at: map[string]string{}}
		a := s.processWith(t, filepath.Join(dir, "a.db"), key, pause.Options{})
		defer a.end(t)
		b := s.processWith(t, filepath.Join(dir, "b.db"), key, pause.Options{})
		defer b.end(t)
		for range 3 {
			time.Sleep(170 * time.Millisecond)
			_, err := a.Pause(t.Context(), pause.Target{All: true}, "uid:1")
			require.NoError(t, err)
			time.Sleep(time.Second - time.Millisecond)
			synctest.Wait()
			require.True(t, b.paused("ann", "email.send"))
			_, err = a.Lift(t.Context(), pause.Target{All: true}, "uid:1")
			require.NoError(t, err)
			time.Sleep(time.Second - time.Millisecond)
			synctest.Wait()
			require.False(t, b.paused("ann", "email.send"))
		}
	})
}
