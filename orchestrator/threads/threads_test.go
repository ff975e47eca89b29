package threads

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// What is kept of a user, or of a conversation, goes with a purge, and nothing else does.
func TestForgetTx(t *testing.T) {
	ctx := t.Context()
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "vedette.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	forget := func(user, conversation string) {
		require.NoError(t, st.Submit(ctx, func(tx *store.Tx) error { return ForgetTx(tx, user, conversation) }))
	}
	forget("ann", "") // a database without threads is left as it is
	all, err := Open(ctx, Options{Store: st, Idle: time.Hour, Now: time.Now})
	require.NoError(t, err)
	said := []Said{{"user", "CANARY"}, {"assistant", "yes"}}
	begin := func(owner, user, name string) Thread {
		th, err := all.Find(ctx, owner, user, name)
		require.NoError(t, err)
		require.NoError(t, all.Begin(ctx, th))
		require.NoError(t, all.KeepSaid(ctx, th, said))
		return th
	}
	count := func() (threads, digests int) {
		require.NoError(t, st.Reader().QueryRow(ctx, "SELECT count(*) FROM assistant_threads").Scan(&threads))
		require.NoError(t, st.Reader().QueryRow(ctx, "SELECT count(*) FROM assistant_said").Scan(&digests))
		return threads, digests
	}
	begin("t1", "ann", "c1")
	begin("t1", "ann", "")
	gone := begin("t2", "bob", "c2")
	kept := begin("t2", "bob", "c3")

	forget("", gone.Conversation)
	threads, digests := count()
	require.Equal(t, []int{3, 6}, []int{threads, digests})
	forget("ann", "")
	threads, digests = count()
	require.Equal(t, []int{1, 2}, []int{threads, digests})
	again, err := all.Find(ctx, "t2", "bob", "c3")
	require.NoError(t, err)
	require.Equal(t, kept.Conversation, again.Conversation)
	require.True(t, all.Knows(ctx, again)(said[0]), "another conversation is still known")
}

// A conversation that never opened leaves no row, and one that was not used for as long as its texts are kept goes with its
// digests, named or not. Under its name the token finds the same conversation again.
func TestOldThreadsGo(t *testing.T) {
	ctx := t.Context()
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "vedette.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	now := time.Now()
	all, err := Open(ctx, Options{Store: st, Idle: time.Hour, Keep: 72 * time.Hour, Now: func() time.Time { return now }})
	require.NoError(t, err)
	count := func(table string) (n int) {
		require.NoError(t, st.Reader().QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	begin := func(name string) Thread {
		th, err := all.Find(ctx, "t1", "ann", name)
		require.NoError(t, err)
		require.NoError(t, all.Begin(ctx, th))
		require.NoError(t, all.KeepSaid(ctx, th, []Said{{"user", "hello"}}))
		return th
	}
	_, err = all.Find(ctx, "t1", "ann", "never")
	require.NoError(t, err)
	require.Zero(t, count("assistant_threads"))
	old := begin("c1")
	begin("")
	for n := range 60 {
		begin(fmt.Sprint("more", n))
	}
	now = now.Add(71 * time.Hour)
	used := begin("more7")
	now = now.Add(2 * time.Hour)
	for n := range 4 { // a few with each that begins
		begin(fmt.Sprint("new", n))
	}
	require.Equal(t, 5, count("assistant_threads"))
	require.Equal(t, 5, count("assistant_said"))
	require.Equal(t, used.Conversation, begin("more7").Conversation)
	again, err := all.Find(ctx, "t1", "ann", "c1")
	require.NoError(t, err)
	require.Equal(t, old.Conversation, again.Conversation)
	require.False(t, all.Knows(ctx, again)(Said{"user", "hello"}))
}
