package journal

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// After erasing, sealed bytes and wrapped key are in no file, and the others still
// open. An erased value is told from one that never was.
func TestErase(t *testing.T) {
	st, j, _ := open(t)
	large := item(100)
	large.Data = bytes.Repeat([]byte("x"), 20_000) // spread over several pages
	ids := put(t, st, j, item(0), item(1), large, item(3))
	var gone [][]byte
	for _, id := range []int64{ids[1], ids[2]} {
		sealed, wrapped := stored(t, j, id)
		gone = append(gone, sealed, sealed[len(sealed)-16:], wrapped[4:], wrapped[wrappedSize-16:])
	}
	for _, b := range gone {
		require.True(t, bytes.Contains(files(t, st), b[:16]))
	}
	n, err := j.Erase(t.Context(), ids[1], ids[2], 4711)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for _, b := range gone {
		require.False(t, bytes.Contains(files(t, st), b[:16]))
	}
	for i, want := range []error{nil, ErrErased, ErrErased, nil} {
		_, err := j.Get(t.Context(), ids[i])
		require.ErrorIs(t, err, want)
	}
	n, err = j.Erase(t.Context(), ids[1])
	require.NoError(t, err)
	require.Zero(t, n)
}

// However rows come and go, SQLite keeps no copy of an erased key: it never
// moves them. Sizes and order are random, so that pages split and merge.
func TestErasedKeysLeaveNoCopy(t *testing.T) {
	st, j, _ := open(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	live, erased := map[int64][]byte{}, [][]byte{}
	for range 25 {
		items := make([]Item, 60)
		for i := range items {
			items[i] = item(i)
			items[i].Data = make([]byte, rnd.IntN(1500))
		}
		for _, id := range put(t, st, j, items...) {
			_, live[id] = stored(t, j, id)
		}
		var drop []int64
		for id := range live {
			if rnd.IntN(2) == 0 {
				drop = append(drop, id)
			}
		}
		n, err := j.Erase(t.Context(), drop...)
		require.NoError(t, err)
		require.Equal(t, len(drop), n)
		for _, id := range drop {
			erased = append(erased, live[id])
			delete(live, id)
		}
	}
	all := files(t, st)
	for _, b := range erased {
		require.False(t, bytes.Contains(all, b[4:20]), "a wrapped key was left behind")
	}
	for id, b := range live {
		require.True(t, bytes.Contains(all, b[4:20]))
		_, err := j.Get(t.Context(), id)
		require.NoError(t, err)
	}
}

// By user, by conversation and by expiry exactly those values go, in any number.
func TestEraseMany(t *testing.T) {
	st, j, c := open(t)
	items := make([]Item, 1200)
	for i := range items {
		items[i] = item(i)
	}
	put(t, st, j, items...)
	n, err := j.EraseUser(t.Context(), "user-0")
	require.NoError(t, err)
	require.Equal(t, 600, n)
	n, err = j.EraseConversation(t.Context(), "conv-1")
	require.NoError(t, err)
	require.Equal(t, 200, n)
	_, err = j.EraseUser(t.Context(), "")
	require.ErrorIs(t, err, ErrItem)
	_, err = j.EraseConversation(t.Context(), "")
	require.ErrorIs(t, err, ErrItem)

	short := item(1)
	short.Expires = epoch.Add(time.Hour)
	ids := put(t, st, j, short)
	c.Shift(time.Hour)
	_, err = j.Get(t.Context(), ids[0])
	require.ErrorIs(t, err, ErrErased, "expired, not yet purged")
	n, err = j.Purge(t.Context(), c.Now())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	c.Shift(7 * 24 * time.Hour)
	n, err = j.Purge(t.Context(), c.Now())
	require.NoError(t, err)
	require.Equal(t, 400, n)
}

// While a reader holds the log, erasing says that old pages remain.
func TestErasePending(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	st := openStore(t, path)
	j, err := Open(t.Context(), st, SingleKey(testKey), Options{})
	require.NoError(t, err)
	ids := put(t, st, j, item(0), item(1))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	rows, err := st.Reader().Query(t.Context(), `SELECT id FROM journal_values`)
	require.NoError(t, err)
	require.True(t, rows.Next())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	erased := make(chan struct{})
	var n int
	go func() {
		defer close(erased)
		n, err = j.Erase(ctx, ids[0])
	}()
	require.Eventually(t, func() bool { // it has begun to move the log, and the value's page is still read
		now, failed := os.ReadFile(path)
		return failed == nil && !bytes.Equal(before, now)
	}, 4*time.Minute, time.Millisecond)
	_, gone := j.Get(t.Context(), ids[0])
	require.ErrorIs(t, gone, ErrErased)
	cancel()
	<-erased
	require.ErrorIs(t, err, ErrPending)
	require.ErrorIs(t, err, store.ErrBusy, "the reader was in the way")
	require.Equal(t, 1, n)
	require.NoError(t, rows.Close()) //nolint:sqlclosecheck // the reader ends here, in the midst of the test
	_, err = j.Get(t.Context(), ids[0])
	require.ErrorIs(t, err, ErrErased)
	_, err = j.Erase(t.Context(), ids[0])
	require.NoError(t, err)
}
