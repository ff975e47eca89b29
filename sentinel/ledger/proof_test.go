package ledger

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// A proof of each record holds with the public key alone, and no other record's does in its place.
func TestProofsHold(t *testing.T) {
	st, l, s := open(t)
	_, err := l.Prove(t.Context(), 0)
	require.ErrorIs(t, err, ErrNotFound)
	const n = 21
	for i := range n {
		require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
			_, err := l.AppendTx(tx, entry(i))
			return err
		}))
	}
	for i := range int64(n) {
		p, err := l.Prove(t.Context(), i)
		require.NoError(t, err)
		head, err := CheckProof(p, s.PublicKey())
		require.NoError(t, err)
		require.EqualValues(t, n, head.Size)
		require.Contains(t, string(p.Leaf), entry(int(i)).ID)
	}
	for _, index := range []int64{-1, n} {
		_, err := l.Prove(t.Context(), index)
		require.ErrorIs(t, err, ErrNotFound)
	}
}

// A proof that was changed anywhere doesn't hold.
func TestChangedProofsAreFound(t *testing.T) {
	st, l, s := open(t)
	for i := range 9 {
		require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
			_, err := l.AppendTx(tx, entry(i))
			return err
		}))
	}
	good, err := l.Prove(t.Context(), 4)
	require.NoError(t, err)
	other, err := l.Prove(t.Context(), 5)
	require.NoError(t, err)
	for name, change := range map[string]func(*Proof){
		"another index":   func(p *Proof) { p.Index = 5 },
		"negative":        func(p *Proof) { p.Index = -1 },
		"another leaf":    func(p *Proof) { p.Leaf = other.Leaf },
		"another way":     func(p *Proof) { p.Hashes = other.Hashes },
		"a byte of it":    func(p *Proof) { p.Leaf = bytes.Clone(p.Leaf); p.Leaf[len(p.Leaf)-1]++ },
		"no leaf":         func(p *Proof) { p.Leaf = nil },
		"a short hash":    func(p *Proof) { p.Hashes = append([][]byte{{1}}, p.Hashes[1:]...) },
		"a hash too many": func(p *Proof) { p.Hashes = append(p.Hashes[:len(p.Hashes):len(p.Hashes)], p.Hashes[0]) },
		"endless":         func(p *Proof) { p.Hashes = make([][]byte, 100) },
	} {
		p := good
		change(&p)
		_, err := CheckProof(p, s.PublicKey())
		require.ErrorIs(t, err, ErrProof, name)
	}
	_, err = CheckProof(good, newSigner(t).PublicKey())
	require.ErrorIs(t, err, ErrHead)
	good.Head = ""
	_, err = CheckProof(good, s.PublicKey())
	require.ErrorIs(t, err, ErrHead)

	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM ledger_hashes`)
		return err
	}))
	_, err = l.Prove(t.Context(), 4)
	require.ErrorIs(t, err, ErrTampered)
}
