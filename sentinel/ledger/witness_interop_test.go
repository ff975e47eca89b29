package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	formats "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// Cosignatures that two other implementations of C2SP's tlog-cosignature make are verified here, with the keys as they
// write them, and the heads that they are under stay those of the ledger.
func TestCosignaturesOfOthers(t *testing.T) {
	signer := newSigner(t)
	_, head := written(t, signer)
	text, _, _ := strings.Cut(string(head), "\n\n")
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	one, err := torchwood.NewCosignatureSigner("witness.example/one", private)
	require.NoError(t, err)
	skey, vkey, err := note.GenerateKey(rand.Reader, "witness.example/two")
	require.NoError(t, err)
	two, err := formats.NewSignerForCosignatureV1(skey)
	require.NoError(t, err)
	public, err := formats.VKeyToCosignatureV1(vkey)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		signer note.Signer
		key    string
	}{"torchwood": {one, one.Verifier().String()}, "transparency-dev": {two, public}} {
		t.Run(name, func(t *testing.T) {
			signed, err := note.Sign(&note.Note{Text: text + "\n"}, c.signer)
			require.NoError(t, err)
			_, lines, _ := strings.Cut(string(signed), "\n\n")
			cosigned, err := AddCosignatures(head, lines)
			require.NoError(t, err)
			w, err := ParseWitness(c.key)
			require.NoError(t, err)
			at, err := w.CosignedAt(cosigned)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), at, time.Hour)
			h, err := ParseHead(cosigned, signer.PublicKey())
			require.NoError(t, err)
			require.EqualValues(t, 13, h.Size)
			changed := bytes.Replace(cosigned, []byte("\ntime 2"), []byte("\ntime 1"), 1)
			_, err = w.CosignedAt(changed)
			require.ErrorIs(t, err, ErrHead)
		})
	}
}
