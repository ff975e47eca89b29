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

// What the ledger grew from is proved between any two heads, and no other head is taken for one of them.
func TestConsistencyHolds(t *testing.T) {
	st, l, s := open(t)
	var heads [][]byte
	for i := range 13 {
		require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
			_, err := l.AppendTx(tx, entry(i))
			return err
		}))
		head, err := l.ExportHead(t.Context())
		require.NoError(t, err)
		heads = append(heads, head)
	}
	for i, older := range heads {
		for j, newer := range heads {
			c, err := l.ProveConsistency(t.Context(), older, newer, s.PublicKey())
			if i > j {
				require.ErrorIs(t, err, ErrNotFound)
				continue
			}
			require.NoError(t, err)
			from, to, err := CheckConsistency(c, s.PublicKey())
			require.NoError(t, err)
			require.Equal(t, []int64{int64(i) + 1, int64(j) + 1}, []int64{from.Size, to.Size})
			if i == j {
				continue
			}
			for name, change := range map[string]func(*Consistency){
				"turned round":  func(c *Consistency) { c.Older, c.Newer = c.Newer, c.Older },
				"another older": func(c *Consistency) { c.Older = string(heads[j]) },
				"a hash less":   func(c *Consistency) { c.Hashes = c.Hashes[1:] },
				"a hash more":   func(c *Consistency) { c.Hashes = append(c.Hashes, make([]byte, 32)) },
				"a bit":         func(c *Consistency) { c.Hashes[0] = bytes.Clone(c.Hashes[0]); c.Hashes[0][0] ^= 1 },
				"short":         func(c *Consistency) { c.Hashes[0] = c.Hashes[0][1:] },
			} {
				bad := c
				bad.Hashes = append([][]byte(nil), c.Hashes...)
				change(&bad)
				_, _, err := CheckConsistency(bad, s.PublicKey())
				require.Error(t, err, "%s, %d to %d", name, i, j)
			}
		}
	}
}

// A leaf is read back whole, and nothing else is read as one.
func TestParseLeaf(t *testing.T) {
	st, l, _ := open(t)
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := l.AppendTx(tx, entry(3))
		return err
	}))
	want, err := l.List(t.Context(), Query{})
	require.NoError(t, err)
	p, err := l.Prove(t.Context(), 0)
	require.NoError(t, err)
	got, err := ParseLeaf(p.Leaf)
	require.NoError(t, err)
	require.Equal(t, want[0], got)
	for n := range p.Leaf {
		_, err := ParseLeaf(p.Leaf[:n])
		require.ErrorIs(t, err, ErrProof)
	}
	_, err = ParseLeaf(append(bytes.Clone(p.Leaf), 0))
	require.ErrorIs(t, err, ErrProof)
}
