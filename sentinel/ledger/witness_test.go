package ledger

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// cosigner is a witness as C2SP's tlog-cosignature describes it.
type cosigner struct {
	name string
	key  ed25519.PrivateKey
}

func newCosigner(t testing.TB, name string) cosigner {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	return cosigner{name, key}
}

func (c cosigner) hash() []byte {
	sum := sha256.Sum256(append([]byte(c.name+"\n\x04"), c.key.Public().(ed25519.PublicKey)...))
	return sum[:4]
}

func (c cosigner) vkey() string {
	data := append([]byte{4}, c.key.Public().(ed25519.PublicKey)...)
	return fmt.Sprintf("%s+%x+%s", c.name, c.hash(), base64.StdEncoding.EncodeToString(data))
}

// cosign returns the line that goes under a head.
func (c cosigner) cosign(text string, at uint64) string {
	sig := ed25519.Sign(c.key, []byte(fmt.Sprintf("cosignature/v1\ntime %d\n", at)+text))
	blob := append(binary.BigEndian.AppendUint64(c.hash(), at), sig...)
	return "\u2014 " + c.name + " " + base64.StdEncoding.EncodeToString(blob) + "\n"
}

// A witness's cosignature over a head counts, and no other does.
func TestCosignatures(t *testing.T) {
	signer := newSigner(t)
	path, newest := written(t, signer)
	h, err := PeekHead(newest)
	require.NoError(t, err)
	c, other := newCosigner(t, "witness.example/w1"), newCosigner(t, "witness.example/w1")
	w, err := ParseWitness(c.vkey() + "\n")
	require.NoError(t, err)
	cosigned, err := AddCosignatures(newest, other.cosign(h.formatSignedText(), 7)+c.cosign(h.formatSignedText(), 1_780_000_000))
	require.NoError(t, err)
	at, err := w.CosignedAt(cosigned)
	require.NoError(t, err)
	require.EqualValues(t, 1_780_000_000, at.Unix())
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{cosigned}, Witnesses: []*Witness{w}})
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1, 13}, []int64{int64(report.External), int64(report.Cosigned), report.RollbackExcluded})

	_, err = Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{newest}, Witnesses: []*Witness{w}})
	require.ErrorContains(t, err, "witness witness.example/w1 has not cosigned it")
	h.Size++
	for name, lines := range map[string]string{
		"another text": c.cosign(h.formatSignedText(), 1), "another key": other.cosign(h.formatSignedText(), 1),
	} {
		bad, err := AddCosignatures(newest, lines)
		require.NoError(t, err, name)
		_, err = w.CosignedAt(bad)
		require.ErrorIs(t, err, ErrHead, name)
	}
	for _, lines := range []string{"", "no signature\n", "\u2014 x y", "\u2014 x y\n", string(newest)} {
		_, err = AddCosignatures(newest, lines)
		require.ErrorIs(t, err, ErrHead, lines)
	}
	for _, key := range []string{"", "x", "x+1+AA", signer.PublicKey(), other.name + "+00000000+" + c.vkey()[len(c.name)+10:]} {
		_, err := ParseWitness(key)
		require.Error(t, err, key)
	}
}
