package journal

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// A reader opens values beside the process that writes them, and can't tell erased ones from none.
func TestOpenReader(t *testing.T) {
	st, j, c := open(t)
	put(t, st, j, item(0), item(1), item(2), item(3))
	r, err := OpenReader(t.Context(), st.Path(), SingleKey(testKey), c.Now)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	got, err := r.ByCalls(t.Context(), []string{"call-0", "call-1", "call-2"}, []string{"arguments", "result"})
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Len(t, got["call-0"], 2)
	require.Equal(t, item(3).Data, got["call-1"][1].Data)
	put(t, st, j, item(4))
	got, err = r.ByCalls(t.Context(), []string{"call-2"}, []string{"arguments"})
	require.NoError(t, err)
	require.Len(t, got["call-2"], 1)
	got, err = r.ByCalls(t.Context(), []string{"call-2"}, []string{"result"})
	require.NoError(t, err)
	require.Empty(t, got)
	var many []string
	for range 2*maxCallsAtOnce + 1 {
		many = append(many, "none")
	}
	got, err = r.ByCalls(t.Context(), append(many, "call-0"), []string{"arguments"})
	require.NoError(t, err)
	require.Len(t, got, 1)
	c.Shift(defaultRetention)
	got, err = r.ByCalls(t.Context(), []string{"call-0"}, []string{"arguments"})
	require.NoError(t, err)
	require.Empty(t, got)
}

// A reader needs the key and a journal.
func TestOpenReaderNeeds(t *testing.T) {
	st, j, c := open(t)
	put(t, st, j, item(0))
	_, err := OpenReader(t.Context(), st.Path(), SingleKey([32]byte{1}), c.Now)
	require.ErrorIs(t, err, ErrKey)
	_, err = OpenReader(t.Context(), filepath.Join(t.TempDir(), "none.db"), SingleKey(testKey), nil)
	require.ErrorIs(t, err, store.ErrNoFile)
	bare := openStore(t, filepath.Join(t.TempDir(), "bare.db"))
	_, err = OpenReader(t.Context(), bare.Path(), SingleKey(testKey), nil)
	require.ErrorIs(t, err, ErrNoJournal)
}
