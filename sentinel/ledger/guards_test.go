package ledger

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// A statement that changes or deletes a record is an error, in the program itself and in any other that opens the file.
func TestRecordsAreNotChanged(t *testing.T) {
	s := newSigner(t)
	path, _ := written(t, s)
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	for statement, want := range map[string]string{
		`UPDATE ledger_records SET user = 'x' WHERE idx = 3`: "never changed",
		`UPDATE ledger_records SET body = body`:              "never changed",
		`DELETE FROM ledger_records WHERE idx = 3`:           "never deleted",
		`DELETE FROM ledger_records`:                         "never deleted",
		`UPDATE OR IGNORE ledger_records SET user = 'x'`:     "never changed",
		`INSERT INTO ledger_records SELECT * FROM ledger_records WHERE idx = 3
ON CONFLICT (idx) DO UPDATE SET user = 'x'`: "never changed",
	} {
		_, err := db.Exec(statement)
		require.ErrorContains(t, err, want, statement)
	}
	require.NoError(t, db.Close())
	st := openStore(t, path)
	err = st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM ledger_records WHERE idx = 3`)
		return err
	})
	require.ErrorContains(t, err, "never deleted")
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: s.PublicKey()})
	require.NoError(t, err)
	require.True(t, report.OK())
}

// A ledger of before there were guards verifies as it did, and gets them when it is opened. One whose guards are gone doesn't.
func TestGuardsOfOlderLedgers(t *testing.T) {
	s := newSigner(t)
	path, _ := written(t, s)
	exec := func(statement string) {
		db, err := sql.Open("sqlite", "file:"+path)
		require.NoError(t, err)
		_, err = db.Exec(statement)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	exec(dropGuards)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: s.PublicKey()})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, BadSchema, report.Problems[0].Kind, "they were taken away")
	exec(`UPDATE store_migrations SET version = 2 WHERE name = 'ledger'`)
	report, err = Verify(t.Context(), path, VerifyOptions{PublicKey: s.PublicKey()})
	require.NoError(t, err)
	require.True(t, report.OK(), "it is of before")
	st := openStore(t, path)
	_, err = Open(t.Context(), st, s, Options{})
	require.NoError(t, err)
	require.NoError(t, st.Close())
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	_, err = db.Exec(`DELETE FROM ledger_records`)
	require.ErrorContains(t, err, "never deleted")
	require.NoError(t, db.Close())
}
