package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"modernc.org/sqlite"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// ErrNoLedger is returned by Verify for a database without a ledger.
var ErrNoLedger = errors.New("no ledger in this database")

// VerifyOptions says what to verify against.
type VerifyOptions struct {
	// PublicKey is the content of ledger.pub. Required, and worth only as much
	// as the place it comes from: not from beside the database.
	PublicKey string
	// Heads are signed heads that were kept elsewhere (ExportHead).
	Heads [][]byte
	// SignatureEvery checks the signature of every k-th stored head and of the
	// newest. The roots in all of them are compared anyway. If zero, all.
	SignatureEvery int64
}

// Verify checks the ledger in a database file with nothing but that file and the
// public key. Another process may write to the file meanwhile. Verify makes every
// leaf again from the columns, and compares the root at every stored head.
//
// The error is nil when everything agrees. It is an ErrTampered when something
// does not, and the report says what. ErrHead: a head in the options is not one by
// this key. ErrNoLedger: there is none. Any other error kept the file from being
// read.
func Verify(ctx context.Context, path string, opts VerifyOptions) (Report, error) {
	v, err := newVerification(opts)
	if err != nil {
		return Report{}, err
	}
	r, err := store.OpenReader(ctx, path)
	if err != nil {
		return Report{}, asTampered(err)
	}
	err = r.Snapshot(ctx, func(tx *sql.Tx) error { return v.verifyAll(ctx, tx) })
	err = asTampered(errors.Join(err, r.Close()))
	v.report.addCaveats()
	if err == nil {
		err = v.report.asTamperedError()
	}
	return v.report, err
}

// asTampered makes an ErrTampered of what SQLite says about contradicting pages.
func asTampered(err error) error {
	var se *sqlite.Error
	if errors.As(err, &se) && se.Code()&0xff == 11 { // SQLITE_CORRUPT
		return fmt.Errorf("%w: database file is damaged: %w", ErrTampered, err)
	}
	return err
}

// verification is one run of Verify.
type verification struct {
	report   Report
	verifier note.Verifier
	every    int64
	external map[int64][]Head
	largest  int64 // size of the largest external head

	tree   edge
	stored *hashStream
	heads  *headStream
	// suspects are records whose hash is not the stored one, since the last
	// head that agreed. Which of the two was changed, the next head tells.
	suspects []suspect
	treeBad  int64 // index of the first stored hash that differs, or -1
	stop     bool
}

func newVerification(opts VerifyOptions) (*verification, error) {
	verifier, err := note.NewVerifier(strings.TrimSpace(opts.PublicKey))
	if err != nil {
		return nil, errors.New("ledger public key is not a note key: use the content of ledger.pub")
	}
	v := &verification{verifier: verifier, every: max(opts.SignatureEvery, 1), external: map[int64][]Head{}, treeBad: -1}
	for i, signed := range opts.Heads {
		h, err := openSignedHead(signed, verifier)
		if err != nil {
			return nil, fmt.Errorf("head %d of those given: %w", i+1, err)
		}
		v.external[h.Size] = append(v.external[h.Size], h)
		v.largest = max(v.largest, h.Size)
	}
	return v, nil
}

// verifyAll reads one snapshot of the database from start to end.
func (v *verification) verifyAll(ctx context.Context, tx *sql.Tx) error {
	if err := v.checkSchema(ctx, tx); err != nil || v.stop {
		return err
	}
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM ledger_records`).Scan(&v.report.Records); err != nil {
		return err
	}
	var err error
	if v.stored, err = newHashStream(ctx, tx); err != nil {
		return err
	}
	defer v.stored.close()
	if v.heads, err = newHeadStream(ctx, tx); err != nil {
		return err
	}
	defer v.heads.close()
	if err := v.walkRecords(ctx, tx); err != nil {
		return err
	}
	if err := v.checkEnd(); err != nil {
		return err
	}
	return v.checkIndexes(ctx, tx)
}

// checkSchema compares tables, indexes and triggers with those the ledger makes.
func (v *verification) checkSchema(ctx context.Context, tx *sql.Tx) (err error) {
	rows, err := tx.QueryContext(ctx, `SELECT name, ifnull(sql, '') FROM sqlite_schema
WHERE tbl_name LIKE 'ledger\_%' ESCAPE '\' OR name LIKE 'ledger\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := map[string]bool{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		found[name] = true
		if want, ok := expected[name]; !ok || want != text {
			v.report.add(BadSchema, 0, 0, "database has a table, index, view or trigger on the ledger that is not its own")
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(found) == 0 {
		return ErrNoLedger
	}
	if len(found) < len(expected) && v.report.OK() {
		v.report.add(BadSchema, 0, 0, "a table or an index of the ledger is missing")
	}
	v.stop = !v.report.OK() // what a foreign table shows proves nothing
	return nil
}

// walkRecords reads the records in order until the end or a head that disagrees.
func (v *verification) walkRecords(ctx context.Context, tx *sql.Tx) (err error) {
	rows, err := tx.QueryContext(ctx, "SELECT "+sqlColumns+" FROM ledger_records ORDER BY idx")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() && !v.stop {
		var rec Record
		n := v.tree.size
		if scanRecord(rows, &rec) != nil {
			v.stopWithProblem(Changed, n, n+1, "a column has another type than it was written with")
			return nil
		}
		switch {
		case rec.Index < n:
			v.stopWithProblem(Inserted, n, n+1, "a record stands before the first place")
			return nil
		case rec.Index > n:
			v.stopWithProblem(Removed, n, rec.Index, "gone from between its neighbours")
			return nil
		}
		if err := v.addRecordToTree(rec); err != nil {
			return err
		}
	}
	return rows.Err()
}

// stopWithProblem reports a problem and ends the reading.
func (v *verification) stopWithProblem(kind string, from, to int64, detail string) {
	v.report.add(kind, from, to, detail)
	v.stop = true
}

// addRecordToTree adds one record to the tree and checks the heads that end with it.
func (v *verification) addRecordToTree(rec Record) error {
	if v.tree.size == 0 {
		v.report.First = rec.Time
	}
	v.report.Last = rec.Time
	leafHash := tlog.RecordHash(appendLeaf(nil, &rec))
	isLeaf := true
	var failed error
	v.tree.add(leafHash, func(h tlog.Hash) {
		stored, at, err := v.stored.next()
		failed = errors.Join(failed, err)
		if stored != h && v.treeBad < 0 {
			v.treeBad = at
		}
		if stored != h && isLeaf && len(v.suspects) < maxSuspects {
			v.suspects = append(v.suspects, suspect{rec: rec, stored: stored})
		}
		isLeaf = false
	})
	if failed != nil {
		return failed
	}
	return v.checkHeads()
}

// checkHeads compares the tree with all heads of its present size.
func (v *verification) checkHeads() error {
	size := v.tree.size
	root := v.tree.computeRoot()
	for _, h := range v.external[size] {
		if h.Root != root {
			v.blameRecord(Fork, "these are not the records that a head kept elsewhere covers")
			return nil
		}
		v.report.External++
		v.report.RollbackExcluded = size
	}
	signed, ok, err := v.heads.findHeadOfSize(size)
	if err != nil || !ok {
		return err
	}
	h, checked, ok := v.readStoredHead(signed, size)
	if !ok {
		v.stopWithProblem(BadHead, 0, 0, fmt.Sprintf("head of size %d is not signed by this key", size))
		return nil
	}
	if h.Root != root {
		v.blameRecord(Changed, "not what the signed head covers")
		return nil
	}
	v.report.Heads++
	if checked { // one that was only compared proves nothing by itself
		v.report.Newest, v.report.Proved = &h, size
		v.suspects = v.suspects[:0]
	}
	return nil
}

// readStoredHead reads a stored head, and checks its signature if it is its turn.
func (v *verification) readStoredHead(signed []byte, size int64) (h Head, checked, ok bool) {
	if v.heads.count%v.every == 0 || size == v.heads.newest {
		v.report.Signatures++
		h, err := openSignedHead(signed, v.verifier)
		return h, true, err == nil && h.Size == size
	}
	text, _, found := strings.Cut(string(signed), "\n\n")
	h, err := parseHeadText(text + "\n")
	return h, false, found && err == nil && h.Size == size && h.Origin == v.verifier.Name()
}

// blameRecord names the record that makes a head disagree, as closely as the
// stored hashes allow.
func (v *verification) blameRecord(kind, detail string) {
	from, to := v.report.Proved, v.tree.size
	if len(v.suspects) > 0 {
		what, why := classifySuspects(v.suspects)
		i := v.suspects[0].rec.Index
		v.stopWithProblem(what, i, i+1, why)
	}
	if len(v.suspects) == 0 || kind == Fork {
		v.stopWithProblem(kind, from, to, detail)
	}
}

// checkEnd checks what must hold when all records were read.
func (v *verification) checkEnd() error {
	defer v.checkRollback()
	if v.stop {
		return nil
	}
	n := v.tree.size
	beyond := v.heads.newest
	v.report.Unsigned = n - v.report.Proved
	switch {
	case beyond > n:
		v.report.add(Removed, n, beyond, "covered by the newest head, and gone from the end")
	case v.report.Unsigned > 0:
		v.report.add(Inserted, v.report.Proved, n, "covered by no signed head: put in, or the head was taken out")
	}
	extra, err := v.stored.hasMore()
	if err != nil {
		return err
	}
	// Only now: had a record been changed, a head would have said so.
	if v.treeBad >= 0 {
		v.report.add(BadTree, 0, 0, fmt.Sprintf("stored hash %d is not the tree's", v.treeBad))
	} else if extra && beyond <= n {
		v.report.add(BadTree, 0, 0, "hashes are stored for records that do not exist")
	}
	if v.heads.skipped {
		v.report.add(BadHead, 0, 0, "a head is stored under a size that it cannot have")
	}
	return nil
}

// checkRollback reports records that a head kept elsewhere covers and that are
// gone.
func (v *verification) checkRollback() {
	if v.largest > v.report.Records {
		v.report.add(Rollback, v.report.Records, v.largest, "covered by a head kept elsewhere, and gone: a cut tail or an older copy")
	}
}

// checkIndexes has SQLite compare its indexes, which queries go by, with the rows.
func (v *verification) checkIndexes(ctx context.Context, tx *sql.Tx) (err error) {
	for _, table := range []string{"ledger_records", "ledger_heads", "ledger_hashes"} {
		var answer string
		if err := tx.QueryRowContext(ctx, "PRAGMA integrity_check("+table+")").Scan(&answer); err != nil {
			return err
		}
		if answer != "ok" {
			v.report.add(BadIndex, 0, 0, "an index or a column of "+table+" disagrees with its rows")
		}
	}
	return nil
}
