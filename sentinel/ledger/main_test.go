package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/sentinel/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func newSigner(t testing.TB) *Signer {
	t.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	s, err := NewSigner(skey)
	require.NoError(t, err)
	require.Equal(t, vkey, s.PublicKey())
	return s
}

func openStore(t testing.TB, path string) *store.Store {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func entry(i int) Entry {
	return Entry{
		ID: fmt.Sprintf("rec-%06d", i), Time: epoch.Add(time.Duration(i) * time.Second), Kind: "decision",
		Call: fmt.Sprintf("call-%d", i), Decision: fmt.Sprintf("dec-%d", i), Conversation: fmt.Sprintf("conv-%d", i%3),
		User: fmt.Sprintf("user-%d", i%2), Agent: "email_agent", Skill: "email.send", Outcome: "deny", Gate: "guard",
		Code: "guard.core", Body: fmt.Appendf(nil, `{"n":%d}`, i),
	}
}

// appendGroups appends n records, each in a group of its own.
func appendGroups(t testing.TB, st *store.Store, l *Ledger, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		err := st.Submit(context.Background(), func(tx *store.Tx) error {
			_, err := l.AppendTx(tx, entry(i))
			return err
		})
		require.NoError(t, err)
	}
}

// appendOne appends n records in one group.
func appendOne(t testing.TB, st *store.Store, l *Ledger, from, n int) {
	t.Helper()
	err := st.Submit(context.Background(), func(tx *store.Tx) error {
		for i := from; i < from+n; i++ {
			if _, err := l.AppendTx(tx, entry(i)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// written makes a closed ledger file: records 0-2 in groups of their own, 3-9 in
// one, 10-12 alone again. It returns the head exported after 8 groups' end.
func written(t testing.TB, s *Signer) (path string, newest []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.db")
	st, err := store.Open(context.Background(), store.Options{Path: path})
	require.NoError(t, err)
	l, err := Open(context.Background(), st, s, Options{})
	require.NoError(t, err)
	appendGroups(t, st, l, 0, 3)
	appendOne(t, st, l, 3, 7)
	appendGroups(t, st, l, 10, 3)
	newest, err = l.ExportHead(context.Background())
	require.NoError(t, err)
	require.NoError(t, st.Close())
	return path, newest
}

// rawSigner also gives the encoded key, to hand to another process.
func rawSigner(t testing.TB) (string, *Signer) {
	t.Helper()
	skey, _, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	s, err := NewSigner(skey)
	require.NoError(t, err)
	return skey, s
}
