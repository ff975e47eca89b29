package ledger

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// tamper runs SQL on a closed database as an attacker with the file would.
func tamper(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	// Who owns the file takes the guards away and puts them back.
	for _, s := range slices.Concat([]string{dropGuards}, statements) {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	for _, s := range []string{sqlNoUpdate, sqlNoDelete} {
		_, _ = db.Exec(s) // the table may be none any more
	}
	require.NoError(t, db.Close())
}

const dropGuards = "DROP TRIGGER IF EXISTS ledger_records_no_update; DROP TRIGGER IF EXISTS ledger_records_no_delete"

// tamperArgs is tamper for a statement with arguments.
func tamperArgs(t *testing.T, path, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	_, err = db.Exec(statement, args...)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

const renumberDown = `UPDATE ledger_records SET idx = -idx WHERE idx > 5;
UPDATE ledger_records SET idx = -idx - 1 WHERE idx < 0`

const cutTail = `DELETE FROM ledger_records WHERE idx >= 11; DELETE FROM ledger_heads WHERE size > 11;
DELETE FROM ledger_hashes WHERE first >= (SELECT max(first) FROM ledger_hashes WHERE first <= 19);
UPDATE ledger_times SET newest = (SELECT max(time) FROM ledger_records)`

var tampers = []struct {
	name, sql string
	kind      string
	from, to  int64
}{
	{"kind changed", `UPDATE ledger_records SET kind = 'x' WHERE idx = 5`, Changed, 5, 6},
	{"id changed", `UPDATE ledger_records SET id = 'x' WHERE idx = 0`, Changed, 0, 1},
	{"time changed", `UPDATE ledger_records SET time = time + 1 WHERE idx = 5`, Changed, 5, 6},
	{"call changed", `UPDATE ledger_records SET call = 'x' WHERE idx = 5`, Changed, 5, 6},
	{"decision changed", `UPDATE ledger_records SET decision = 'x' WHERE idx = 5`, Changed, 5, 6},
	{"conversation changed", `UPDATE ledger_records SET conversation = '' WHERE idx = 5`, Changed, 5, 6},
	{"user changed", `UPDATE ledger_records SET user = 'x' WHERE idx = 5`, Changed, 5, 6},
	{"agent changed", `UPDATE ledger_records SET agent = 'x' WHERE idx = 5`, Changed, 5, 6},
	{"skill changed", `UPDATE ledger_records SET skill = 'x' WHERE idx = 5`, Changed, 5, 6},
	{"outcome changed", `UPDATE ledger_records SET outcome = 'allow' WHERE idx = 12`, Changed, 12, 13},
	{"gate changed", `UPDATE ledger_records SET gate = 'x' WHERE idx = 5`, Changed, 5, 6},
	{"code changed", `UPDATE ledger_records SET code = 'x' WHERE idx = 5`, Changed, 5, 6},
	{"body changed", `UPDATE ledger_records SET body = CAST('{"n":6}' AS BLOB) WHERE idx = 5`, Changed, 5, 6},
	{"bytes moved between columns", `UPDATE ledger_records SET agent = 'email', skill = '_agentemail.send' WHERE idx = 5`, Changed, 5, 6},
	{"two rows swapped", `UPDATE ledger_records SET idx = -1 WHERE idx = 4; UPDATE ledger_records SET idx = 4 WHERE idx = 8;
UPDATE ledger_records SET idx = 8 WHERE idx = -1`, Swapped, 4, 5},
	{"first row deleted", `DELETE FROM ledger_records WHERE idx = 0`, Removed, 0, 1},
	{"middle row deleted", `DELETE FROM ledger_records WHERE idx = 5`, Removed, 5, 6},
	{"middle row deleted and the rest moved down", `DELETE FROM ledger_records WHERE idx = 5; ` + renumberDown, Removed, 5, 6},
	{"last row deleted", `DELETE FROM ledger_records WHERE idx = 12`, Removed, 12, 13},
	{"row put before the first", `INSERT INTO ledger_records SELECT -1, 'new', time, kind, call, decision, conversation, user, agent,
skill, outcome, gate, code, body FROM ledger_records WHERE idx = 5`, Inserted, 0, 1},
	{"row put into the middle", `UPDATE ledger_records SET idx = -idx WHERE idx >= 5; UPDATE ledger_records SET idx = 1 - idx WHERE idx < 0;
INSERT INTO ledger_records SELECT 5, 'new', time, kind, call, decision, conversation, user, agent,
skill, outcome, gate, code, body FROM ledger_records WHERE idx = 6`, Inserted, 5, 6},
	{"row put at the end", `INSERT INTO ledger_records SELECT 13, 'new', time, kind, call, decision, conversation, user, agent,
skill, outcome, gate, code, body FROM ledger_records WHERE idx = 12`, Inserted, 13, 14},
	{"newest head taken out", `DELETE FROM ledger_heads WHERE size = 13`, Inserted, 12, 13},
	{"all heads taken out", `DELETE FROM ledger_heads`, Inserted, 0, 13},
	{"head moved to another size", `UPDATE ledger_heads SET size = 5 WHERE size = 3`, BadHead, 0, 0},
	{"head of size 0", `INSERT INTO ledger_heads SELECT 0, note FROM ledger_heads WHERE size = 3`, BadHead, 0, 0},
	{"head's text changed", `UPDATE ledger_heads SET note = CAST(replace(CAST(note AS TEXT), 'time 2', 'time 1') AS BLOB) WHERE size = 3`,
		BadHead, 0, 0},
	{"leaf hash changed", `UPDATE ledger_hashes SET hashes = zeroblob(32) WHERE first = 0`, BadTree, 0, 0},
	{"hashes cut", `UPDATE ledger_hashes SET hashes = substr(hashes, 1, 32) WHERE first = 1`, BadTree, 0, 0},
	{"hashes taken out", `DELETE FROM ledger_hashes WHERE first = 1`, BadTree, 0, 0},
	{"hashes added", `INSERT INTO ledger_hashes VALUES (1000, zeroblob(32))`, BadTree, 0, 0},
	{"record and its hash changed", `UPDATE ledger_records SET user = 'x' WHERE idx = 0;
UPDATE ledger_hashes SET hashes = zeroblob(32) WHERE first = 0`, Changed, 0, 1},
	{"trigger added", `CREATE TRIGGER t AFTER INSERT ON ledger_records BEGIN DELETE FROM ledger_records WHERE idx = 0; END`, BadSchema, 0, 0},
	{"table replaced by a view", `ALTER TABLE ledger_records RENAME TO hidden; CREATE VIEW ledger_records AS SELECT * FROM hidden`,
		BadSchema, 0, 0},
	{"index dropped", `DROP INDEX ledger_records_user`, BadSchema, 0, 0},
	{"index of version 2 dropped", `DROP INDEX ledger_records_gate`, BadSchema, 0, 0},
	{"times hide records", `UPDATE ledger_times SET newest = oldest`, BadIndex, 0, 0},
	{"times taken out", `DELETE FROM ledger_times`, BadIndex, 0, 0},
	{"times are no numbers", `DROP TABLE ledger_times; CREATE TABLE ledger_times (start, oldest, newest)`, BadSchema, 0, 0},
}

// Whatever is done to the file without the key, Verify finds it and says where.
func TestVerifyFindsTampering(t *testing.T) {
	signer := newSigner(t)
	original, newest := written(t, signer)
	data, err := os.ReadFile(original)
	require.NoError(t, err)
	for _, tc := range tampers {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "copy.db")
			require.NoError(t, os.WriteFile(path, data, 0o600))
			for _, heads := range [][][]byte{nil, {newest}} {
				report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: heads})
				require.NoError(t, err, "before")
				require.True(t, report.OK())
			}
			tamper(t, path, tc.sql)
			for _, every := range []int64{0, 1000} {
				if every > 0 && tc.kind == BadHead {
					continue // signatures that are not checked prove nothing
				}
				report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), SignatureEvery: every})
				require.ErrorIs(t, err, ErrTampered)
				require.NotEmpty(t, report.Problems)
				if every == 0 { // with fewer signatures it is found, but not as closely
					p := report.Problems[0]
					require.Equal(t, []any{tc.kind, tc.from, tc.to}, []any{p.Kind, p.From, p.To}, p.String())
				}
			}
			_, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{newest}})
			require.ErrorIs(t, err, ErrTampered)
		})
	}
}

// An untouched ledger is proved to its end, and the report says what is not.
func TestVerifyReport(t *testing.T) {
	signer := newSigner(t)
	path, newest := written(t, signer)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey() + "\n"})
	require.NoError(t, err)
	require.Equal(t, []int64{13, 13, 0, 7, 7, 0},
		[]int64{report.Records, report.Proved, report.Unsigned, report.Heads, report.Signatures, report.RollbackExcluded})
	require.Equal(t, epoch, report.First)
	require.Equal(t, entry(12).Time, report.Last)
	require.Contains(t, report.Caveats[0], "no head kept elsewhere was given")

	report, err = Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{newest}, SignatureEvery: 3})
	require.NoError(t, err)
	require.Equal(t, []int64{7, 3, 13, 1}, []int64{report.Heads, report.Signatures, report.RollbackExcluded, int64(report.External)})
	require.EqualValues(t, 13, report.Newest.Size)
	require.NotContains(t, report.Caveats[0], "no head")
}

// A cut tail passes without a head from elsewhere, with a caveat. With one it is
// found, and so is an older copy of the file.
func TestVerifyRollback(t *testing.T) {
	signer := newSigner(t)
	path, newest := written(t, signer)
	tamper(t, path, cutTail)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey()})
	require.NoError(t, err, "%v", report.Problems)
	require.EqualValues(t, 11, report.Records)
	require.Contains(t, report.Caveats[0], "cannot be excluded")

	report, err = Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{newest}})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, []Problem{{Kind: Rollback, From: 11, To: 13, Detail: report.Problems[0].Detail}}, report.Problems)
}

// A single record that is missing at the end is a rollback too, down to one from
// an empty ledger.
func TestVerifyRollbackByOneRecord(t *testing.T) {
	signer := newSigner(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	st, err := store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	l, err := Open(t.Context(), st, signer, Options{})
	require.NoError(t, err)
	for n := range 3 {
		require.NoError(t, st.Checkpoint(t.Context()))
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		appendGroups(t, st, l, n, 1)
		head, err := l.ExportHead(t.Context())
		require.NoError(t, err)
		old := filepath.Join(t.TempDir(), "old.db")
		require.NoError(t, os.WriteFile(old, before, 0o600))
		report, err := Verify(t.Context(), old, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{head}})
		require.ErrorIs(t, err, ErrTampered, "%d records", n)
		require.Len(t, report.Problems, 1)
		p := report.Problems[0]
		require.Equal(t, []any{Rollback, int64(n), int64(n + 1)}, []any{p.Kind, p.From, p.To})
	}
	require.NoError(t, st.Close())
}

// A head whose signature is not looked at, because only some are, must still be
// one of this ledger's.
func TestVerifyOriginOfSampledHeads(t *testing.T) {
	signer := newSigner(t)
	path, _ := written(t, signer)
	tamper(t, path,
		`UPDATE ledger_heads SET note = CAST('other/ledger' || substr(CAST(note AS TEXT), instr(CAST(note AS TEXT), char(10))) AS BLOB) WHERE `+
			`size = 3`)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), SignatureEvery: 1000})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, BadHead, report.Problems[0].Kind)
}

// Heads by another key are never taken. Stored ones are tampering, given ones an
// error of their own, and Open refuses to go on signing.
func TestForeignHeads(t *testing.T) {
	signer, other := newSigner(t), newSigner(t)
	path, newest := written(t, signer)
	h, err := ParseHead(newest, signer.PublicKey())
	require.NoError(t, err)
	forged, err := note.Sign(&note.Note{Text: h.formatSignedText()}, other.signer)
	require.NoError(t, err)

	_, err = Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{forged}})
	require.ErrorIs(t, err, ErrHead)
	_, err = Verify(t.Context(), path, VerifyOptions{PublicKey: other.PublicKey()})
	require.ErrorIs(t, err, ErrTampered)

	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	_, err = db.Exec(`UPDATE ledger_heads SET note = ? WHERE size = 13`, forged)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), SignatureEvery: 1000})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, BadHead, report.Problems[0].Kind)

	_, err = Open(t.Context(), openStore(t, path), signer, Options{})
	require.ErrorIs(t, err, ErrHead)
}

// Another history signed by the same key is told from the one kept elsewhere.
func TestVerifyFork(t *testing.T) {
	signer := newSigner(t)
	_, newest := written(t, signer)
	path := filepath.Join(t.TempDir(), "other.db")
	st := openStore(t, path)
	l, err := Open(t.Context(), st, signer, Options{})
	require.NoError(t, err)
	appendOne(t, st, l, 100, 20)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{newest}})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, Fork, report.Problems[0].Kind)
}

// An index that shows something else than the rows is found: queries go by it.
func TestVerifyIndexes(t *testing.T) {
	signer := newSigner(t)
	path, _ := written(t, signer)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	// The index of users holds "user-0" without its row's other columns; the
	// rows hold "conv-N" before it.
	n := 0
	for i := 0; i+6 < len(data); i++ {
		if string(data[i:i+6]) == "user-0" && (i < 5 || string(data[i-6:i-1]) != "conv-") {
			data[i+5] = '7'
			n++
		}
	}
	require.Positive(t, n)
	copied := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(copied, data, 0o600))
	report, err := Verify(t.Context(), copied, VerifyOptions{PublicKey: signer.PublicKey()})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, BadIndex, report.Problems[0].Kind, "%v", report.Problems)
}

// Without a ledger, a file or a usable key there is an error of its own.
func TestVerifyNothing(t *testing.T) {
	signer := newSigner(t)
	dir := t.TempDir()
	st, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "empty.db")})
	require.NoError(t, err)
	require.NoError(t, st.Close())
	_, err = Verify(t.Context(), st.Path(), VerifyOptions{PublicKey: signer.PublicKey()})
	require.ErrorIs(t, err, ErrNoLedger)
	_, err = Verify(t.Context(), filepath.Join(dir, "none.db"), VerifyOptions{PublicKey: signer.PublicKey()})
	require.ErrorIs(t, err, store.ErrNoFile)
	_, err = Verify(t.Context(), st.Path(), VerifyOptions{PublicKey: "none"})
	require.ErrorContains(t, err, "ledger.pub")
}

// A ledger is verified while another handle has it open for writing.
func TestVerifyAlongside(t *testing.T) {
	signer := newSigner(t)
	path := filepath.Join(t.TempDir(), "live.db")
	st := openStore(t, path)
	l, err := Open(t.Context(), st, signer, Options{})
	require.NoError(t, err)
	for i := range 5 {
		appendOne(t, st, l, i*10, 10)
		report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey()})
		require.NoError(t, err)
		require.EqualValues(t, i*10+10, report.Records)
	}
}
