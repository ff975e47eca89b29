package threads

import (
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
