package ledger

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// rotated makes a closed ledger whose key was rotated twice: records 0 to 4 under the first key, 5 hands over,
// 6 to 8 under the second, 9 hands over, 10 under the third. heads are those exported after 4, 8 and 10.
func rotated(t testing.TB) (path string, signers [3]*Signer, heads [3][]byte) {
	t.Helper()
	signers = [3]*Signer{newSigner(t), newSigner(t), newSigner(t)}
	path = filepath.Join(t.TempDir(), "ledger.db")
	st := openStore(t, path)
	l, err := Open(t.Context(), st, signers[0], Options{})
	require.NoError(t, err)
	export := func(i int) {
		heads[i], err = l.ExportHead(t.Context())
		require.NoError(t, err)
	}
	appendGroups(t, st, l, 0, 5)
	export(0)
	require.NoError(t, l.RotateKey(t.Context(), signers[1], "ann"))
	appendGroups(t, st, l, 6, 3)
	export(1)
	require.NoError(t, l.RotateKey(t.Context(), signers[2], "bob"))
	appendGroups(t, st, l, 10, 1)
	export(2)
	require.NoError(t, st.Close())
	return path, signers, heads
}

// Each key of a chain verifies the whole ledger, heads of every time with it, and names its successors.
func TestRotatedKeysVerify(t *testing.T) {
	path, signers, heads := rotated(t)
	want := []string{signers[0].PublicKey(), signers[1].PublicKey(), signers[2].PublicKey()}
	for _, s := range signers {
		report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: s.PublicKey(), Heads: heads[:]})
		require.NoError(t, err)
		require.Equal(t, []int64{11, 11, 3}, []int64{report.Records, report.Proved, int64(report.External)})
		require.Equal(t, want, report.Keys)
	}
	// A reader opens with the newest key alone: older ones sign no more.
	st, err := store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	_, err = Open(t.Context(), st, signers[1], Options{})
	require.ErrorIs(t, err, ErrHead)
	require.ErrorContains(t, err, NameKey(signers[2].PublicKey()))
	l, err := Open(t.Context(), st, signers[2], Options{})
	require.NoError(t, err)
	for _, s := range signers { // an auditor with an old key checks proofs under the newest head
		p, err := l.Prove(t.Context(), 2)
		require.NoError(t, err)
		_, err = CheckProof(p, s.PublicKey())
		require.NoError(t, err)
		c, err := l.ProveConsistency(t.Context(), heads[0], heads[2], s.PublicKey())
		require.NoError(t, err)
		_, _, err = CheckConsistency(c, s.PublicKey())
		require.NoError(t, err)
		p.Keys = p.Keys[:1]
		_, err = CheckProof(p, s.PublicKey())
		require.Equal(t, s == signers[2], err == nil, "a link is missing")
	}
	known, err := l.KnowsKey(t.Context(), signers[0].PublicKey())
	require.NoError(t, err)
	require.True(t, known)
	known, err = l.KnowsKey(t.Context(), newSigner(t).PublicKey())
	require.NoError(t, err)
	require.False(t, known)
	require.ErrorContains(t, l.RotateKey(t.Context(), signers[2], "eve"), "another key")
	require.ErrorIs(t, l.RotateKey(t.Context(), signers[1], "eve"), ErrDuplicate)
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := l.AppendTx(tx, entry(11))
		return err
	}), "a rotation that failed leaves the key as it was")
	head, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	_, err = ParseHead(head, signers[2].PublicKey())
	require.NoError(t, err)
}

// A key that no record leads to is named, whoever put it in place, and so is a handover that the old key didn't sign.
func TestReplacedKeyIsNamed(t *testing.T) {
	path, signers, heads := rotated(t)
	stranger := newSigner(t)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: stranger.PublicKey()})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, BadHead, report.Problems[0].Kind)
	require.Contains(t, report.Problems[0].Detail, NameKey(stranger.PublicKey()))
	require.Contains(t, report.Problems[0].Detail, NameKey(signers[0].PublicKey()))
	_, err = Verify(t.Context(), path, VerifyOptions{PublicKey: stranger.PublicKey(), Heads: heads[:1]})
	require.ErrorIs(t, err, ErrTampered)

	// The thief of nothing but the file signs a handover to a key of theirs.
	st, err := store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	l, err := Open(t.Context(), st, signers[2], Options{})
	require.NoError(t, err)
	require.NoError(t, l.RotateKey(t.Context(), stranger, "eve"))
	forged, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	h, err := PeekHead(forged)
	require.NoError(t, err)
	require.NoError(t, st.Close())
	alone, err := h.signAsNote(stranger)
	require.NoError(t, err)
	tamperArgs(t, path, `UPDATE ledger_heads SET note = ? WHERE size = 12`, alone)
	for _, s := range signers {
		report, err = Verify(t.Context(), path, VerifyOptions{PublicKey: s.PublicKey()})
		require.ErrorIs(t, err, ErrTampered)
		require.Equal(t, []any{BadKey, int64(11)}, []any{report.Problems[0].Kind, report.Problems[0].From})
	}
}

// Nothing may be added under a stored head, not even a signature that no key of ours has made.
func TestStoredHeadTakesNoAddition(t *testing.T) {
	signer := newSigner(t)
	path, newest := written(t, signer)
	n, err := note.Open(newest, note.VerifierList(signer.verifier))
	require.NoError(t, err)
	both, err := note.Sign(n, newSigner(t).signer)
	require.NoError(t, err)
	tamperArgs(t, path, `UPDATE ledger_heads SET note = ? WHERE size = 13`, both)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey()})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, BadHead, report.Problems[0].Kind)
	_, err = Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{both}})
	require.NotErrorIs(t, err, ErrHead, "a head from elsewhere may bear cosignatures")
}

// A rotation whose group was lost leaves the key as it was.
func TestRotationIsUndone(t *testing.T) {
	st, l, s := open(t)
	appendGroups(t, st, l, 0, 1)
	next := newSigner(t)
	broken := true
	st.OnSeal(func(*store.Tx) error {
		if broken {
			return context.DeadlineExceeded
		}
		return nil
	})
	require.ErrorIs(t, l.RotateKey(t.Context(), next, "ann"), store.ErrUnavailable)
	broken = false
	appendGroups(t, st, l, 1, 1)
	head, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	_, err = ParseHead(head, s.PublicKey())
	require.NoError(t, err)
	require.NoError(t, l.RotateKey(t.Context(), next, "ann"))
}
