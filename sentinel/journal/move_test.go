package journal

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// meanwhile is a store.Mover without tables, which does something while the next file is made.
type meanwhile func()

func (meanwhile) Owns(string) bool  { return false }
func (meanwhile) Stays(string) bool { return false }
func (m meanwhile) CopyAhead(context.Context, *store.Move) error {
	m()
	return nil
}
func (meanwhile) Finish(*store.Move) error { return nil }
func (meanwhile) Moved(_, _ store.File)    {}
func (meanwhile) Abandoned()               {}

// Values that are kept move to the next file under their numbers. What has expired stays behind, what is erased on
// the way is erased there too, and once the file before it is cleaned it holds none of them, sealed or not.
func TestValuesMoveOn(t *testing.T) {
	st, j, clock := open(t)
	short := item(6)
	short.Expires = clock.Now().Add(time.Minute)
	ids := put(t, st, j, item(0), item(1), item(2), item(3), item(4), item(5), short)
	_, err := j.Erase(t.Context(), ids[0])
	require.NoError(t, err)
	clock.Shift(time.Hour)
	st.OnMove(meanwhile(func() {
		_, err := j.Erase(t.Context(), ids[2])
		require.NoError(t, err)
		ids = append(ids, put(t, st, j, item(7))...)
		last := put(t, st, j, item(8))
		_, err = j.Erase(t.Context(), last...) // the newest number of all is of an erased value
		require.NoError(t, err)
		ids = append(ids, last...)
	}))
	sealed := files(t, st)
	to, err := st.Succeed(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 2, to.Number)
	require.Nil(t, j.gone)
	for i, id := range ids {
		v, err := j.Get(t.Context(), id)
		switch i {
		case 0, 2, 6, 8:
			require.ErrorIs(t, err, ErrErased, i)
		default:
			require.NoError(t, err)
			require.Equal(t, item(i).Data, v.Data)
		}
	}
	_, err = j.Get(t.Context(), 99)
	require.ErrorIs(t, err, ErrNotFound)
	require.Greater(t, put(t, st, j, item(9))[0], ids[len(ids)-1], "no number is given out twice")

	require.NoError(t, j.Cut(t.Context()), "also cleans the file before")
	raw, err := os.ReadFile(st.Path())
	require.NoError(t, err)
	kept, err := j.querySealedRows(t.Context(), sqlSelect)
	require.NoError(t, err)
	for _, row := range kept {
		if row.ID <= ids[5] {
			require.True(t, bytes.Contains(sealed, row.wrapped))
		}
		require.False(t, bytes.Contains(raw, row.wrapped))
		require.False(t, bytes.Contains(raw, row.sealed))
	}
	r, err := OpenReader(t.Context(), st.Path(), SingleKey(testKey), clock.Now)
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

// A move that comes to nothing forgets what it noted, and a later one begins with nothing.
func TestAbandonedMove(t *testing.T) {
	st, j, _ := open(t)
	ids := put(t, st, j, item(0), item(1))
	ctx, cancel := context.WithCancel(t.Context())
	failing := true
	st.OnMove(meanwhile(func() {
		if failing {
			cancel()
		}
	}))
	_, err := st.Succeed(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, j.gone)
	_, err = j.Erase(t.Context(), ids[0])
	require.NoError(t, err)
	failing = false
	_, err = st.Succeed(t.Context(), nil)
	require.NoError(t, err)
	_, err = j.Get(t.Context(), ids[0])
	require.ErrorIs(t, err, ErrErased)
	_, err = j.Get(t.Context(), ids[1])
	require.NoError(t, err)
}
