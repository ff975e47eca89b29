package records_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// A rotation whose record is durable and whose files were not changed yet is finished, with one record.
func TestRotationGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := records.Source{
		Database: filepath.Join(dir, "v.db"), Keys: filepath.Join(dir, "keys"), PublicKey: filepath.Join(dir, "keys", "ledger.pub"),
	}
	_, err := records.RotateKey(t.Context(), s, "ann")
	requireAdvice(t, err, "no such database", "--db FILE")
	k, err := keys.LoadOrCreate(s.Keys)
	require.NoError(t, err)
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	st, err := store.Open(t.Context(), store.Options{Path: s.Database})
	require.NoError(t, err)
	l, err := ledger.Open(t.Context(), st, signer, ledger.Options{})
	require.NoError(t, err)
	_, err = records.RotateKey(t.Context(), s, "ann")
	requireAdvice(t, err, "is in use", "stop the server")
	skey, err := k.NextLedger()
	require.NoError(t, err)
	next, err := ledger.NewSigner(skey)
	require.NoError(t, err)
	require.NoError(t, l.RotateKey(t.Context(), next, "ann")) // and here it is killed
	require.NoError(t, st.Close())

	done, err := records.RotateKey(t.Context(), s, "ann")
	require.NoError(t, err)
	require.Equal(t, []string{signer.PublicKey(), next.PublicKey()}, []string{done.Old, done.New})
	_, err = records.RotateKey(t.Context(), s, "bob") // and once more, as a whole
	require.NoError(t, err)
	for _, file := range []string{s.PublicKey, done.Kept} {
		s.PublicKey = file
		v, err := s.Verify(t.Context(), records.VerifyOptions{Deep: true})
		require.NoError(t, err)
		require.NoError(t, v.Err())
		require.Equal(t, []int{2, 3}, []int{int(v.Records), len(v.Keys)})
		proof, err := records.Prove(t.Context(), s, "key-rotated-")
		require.Error(t, err, "several begin so")
		require.Nil(t, proof.Record)
		_, err = s.NewestHead(t.Context())
		require.NoError(t, err)
	}
}
