package ledger

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// reopen opens a ledger at a path, with a clock.
func reopen(t *testing.T, path string, s *Signer, now func() time.Time) (*store.Store, *Ledger) {
	t.Helper()
	st := openStore(t, path)
	l, err := Open(t.Context(), st, s, Options{Now: now})
	require.NoError(t, err)
	return st, l
}

// copyFile puts a copy of a closed database in place of another.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o600))
}

// differs is the kind of an *AnchorError, "" for none.
func differs(t *testing.T, l *Ledger, heads ...[]byte) string {
	t.Helper()
	_, err := l.CompareHeads(t.Context(), heads)
	if err == nil {
		return ""
	}
	var a *AnchorError
	require.ErrorAs(t, err, &a)
	return a.Kind
}

// An older copy in place of the ledger is behind its anchor, one that went on contradicts it, and a restored backup
// goes on once an operator has said so, on record.
func TestCompareHeads(t *testing.T) {
	signer := newSigner(t)
	at := epoch.Add(time.Hour)
	now := func() time.Time { return at }
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "v.db"), filepath.Join(dir, "backup.db")
	st, l := reopen(t, path, signer, now)
	require.Empty(t, differs(t, l))
	appendGroups(t, st, l, 0, 4)
	small, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	require.NoError(t, st.Close())
	copyFile(t, path, backup)
	at = at.Add(time.Minute)
	st, l = reopen(t, path, signer, now)
	appendGroups(t, st, l, 4, 4)
	large, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	require.Empty(t, differs(t, l, large, small))
	found, err := l.CompareHeads(t.Context(), [][]byte{small, []byte("no head"), large})
	require.NoError(t, err)
	require.EqualValues(t, 8, found.Largest.Size)
	require.NoError(t, st.Close())

	copyFile(t, backup, path)
	st, l = reopen(t, path, signer, now)
	require.Equal(t, Rollback, differs(t, l, small, large))
	require.Empty(t, differs(t, l, small))
	appendGroups(t, st, l, 20, 5) // it went on while the anchor could not be read
	require.Equal(t, Fork, differs(t, l, small, large))

	at = at.Add(time.Minute)
	newest, err := l.AcceptRestored(t.Context(), [][]byte{small, large}, "ann")
	require.NoError(t, err)
	require.EqualValues(t, 8, newest)
	require.Empty(t, differs(t, l, small, large))
	at = at.Add(time.Minute)
	appendGroups(t, st, l, 30, 1)
	after, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	require.NoError(t, st.Close())

	copyFile(t, backup, path) // the same old copy once more: the new heads know
	_, l = reopen(t, path, signer, now)
	require.Equal(t, Rollback, differs(t, l, small, large, after))
}

// A forged head is never taken for one of the ledger's: it is named, and can't be given up for good.
func TestCompareForgedHeads(t *testing.T) {
	signer, thief := newSigner(t), newSigner(t)
	at := epoch.Add(time.Hour)
	st, l := reopen(t, filepath.Join(t.TempDir(), "v.db"), signer, func() time.Time { return at })
	appendGroups(t, st, l, 0, 4)
	head, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	h, err := PeekHead(head)
	require.NoError(t, err)
	h.Size, h.Time = 1<<40, at.Add(1000*time.Hour)
	forged, err := h.signAsNote(thief)
	require.NoError(t, err)
	_, err = l.CompareHeads(t.Context(), [][]byte{head, forged})
	require.ErrorContains(t, err, NameKey(thief.PublicKey()))
	require.Equal(t, BadKey, differs(t, l, head, forged))
	_, err = l.AcceptRestored(t.Context(), [][]byte{head, forged}, "ann")
	require.NoError(t, err)
	require.Equal(t, BadKey, differs(t, l, head, forged), "a head of a time to come gives up nothing")
	require.Empty(t, differs(t, l, head))

	require.ErrorIs(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		e := entry(9)
		e.Kind = KindRestored
		_, err := l.AppendTx(tx, e)
		return err
	}), ErrEntry)
}

// Heads are found in a file that they were appended to, also behind one that was cut off.
func TestSplitHeads(t *testing.T) {
	path, newest := written(t, newSigner(t))
	require.NotEmpty(t, path)
	file := "\n\n" + string(newest) + "\n\n" + string(newest[:len(newest)/2]) + "\n\n" + string(newest) + "\n\nlos"
	require.Equal(t, [][]byte{newest, newest}, SplitHeads([]byte(file)))
	require.Equal(t, [][]byte{newest}, SplitHeads(newest))
	require.Empty(t, SplitHeads(newest[:len(newest)-1]))
	require.Empty(t, SplitHeads(nil))
}
