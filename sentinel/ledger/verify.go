package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
	"modernc.org/sqlite"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// ErrNoLedger is returned by Verify for a database without a ledger.
var ErrNoLedger = errors.New("no ledger in this database")

// VerifyOptions says what to verify against.
type VerifyOptions struct {
	// PublicKey is the content of ledger.pub, or of an older one from before a rotation. Required, and worth only
	// as much as the place it comes from: not from beside the database.
	PublicKey string
	// Heads are signed heads that were kept elsewhere (ExportHead).
	Heads [][]byte
	// Witnesses must all have cosigned each of Heads.
	Witnesses []*Witness
	// SignatureEvery checks the signature of every k-th stored head and of the
	// newest. The roots in all of them are compared anyway. If zero, all.
	SignatureEvery int64
	// SkipIndexes leaves out comparing the indexes, which queries go by, with the rows.
	SkipIndexes bool
	// Derive, if set, says what bodies say of the columns beside them, which is compared.
	Derive DeriveFunc
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
	v.reader = Reader{r: r}
	err = r.Snapshot(ctx, func(tx *sql.Tx) error { return v.verifyAll(ctx, tx) })
	err = asTampered(errors.Join(err, r.Close()))
	v.report.addCaveats(opts)
	if err == nil {
		err = v.report.asTamperedError()
	}
	return v.report, err
}

// HeadError says which of VerifyOptions.Heads can't be used. It wraps ErrHead.
type HeadError struct {
	Index int
	Err   error
}

// Error names the head by its place.
func (e *HeadError) Error() string {
	return fmt.Sprintf("head %d of those given: %v", e.Index+1, e.Err)
}

// Unwrap returns the cause.
func (e *HeadError) Unwrap() error { return e.Err }

// isDamage reports whether SQLite says that pages contradict each other, or are none of its own.
func isDamage(err error) bool {
	const corrupt, notADatabase = 11, 26
	var se *sqlite.Error
	return errors.As(err, &se) && (se.Code()&0xff == corrupt || se.Code()&0xff == notADatabase)
}

// asTampered makes an ErrTampered of damage.
func asTampered(err error) error {
	if isDamage(err) {
		return fmt.Errorf("%w: database file is damaged: %w", ErrTampered, err)
	}
	return err
}

// verification is one run of Verify.
type verification struct {
	report   Report
	options  VerifyOptions
	reader   Reader
	ring     *Keyring
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
	ring, _, err := newKeyring(opts.PublicKey, nil)
	if err != nil {
		return nil, err
	}
	return &verification{
		options: opts, ring: ring, every: max(opts.SignatureEvery, 1), external: map[int64][]Head{}, treeBad: -1,
	}, nil
}

// verifyAll reads one snapshot of the database from start to end.
func (v *verification) verifyAll(ctx context.Context, tx *sql.Tx) error {
	if err := v.checkSchema(ctx, tx); err != nil || v.stop {
		return err
	}
	if err := v.linkKeys(ctx, tx); err != nil {
		return err
	}
	headErr := v.takeHeads() // the records may say why, so it is told after them
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	indexes := v.startIndexCheck(ctx)
	if err := errors.Join(v.walkRecords(ctx, tx), v.checkEnd()); err != nil {
		return err
	}
	if err := indexes(&v.report); err != nil {
		return err
	}
	if v.report.OK() {
		return headErr
	}
	return nil
}

// linkKeys reads which keys the one that was given is linked to.
func (v *verification) linkKeys(ctx context.Context, tx *sql.Tx) error {
	list, err := readHandovers(ctx, tx.QueryContext)
	if err != nil {
		return err
	}
	ring, broken, err := newKeyring(v.options.PublicKey, list)
	if err != nil {
		return err
	}
	for _, index := range broken {
		v.report.add(BadKey, index, index+1, "hands over to another key, and the head over it is not signed by both")
	}
	v.ring, v.report.Keys = ring, ring.Keys()
	return nil
}

// takeHeads reads the heads that were kept elsewhere.
func (v *verification) takeHeads() error {
	for i, signed := range v.options.Heads {
		h, err := v.ring.ParseHead(signed)
		if err != nil {
			return &HeadError{i, fmt.Errorf("%w: it says that %s signed it", err, strings.Join(SignedBy(signed), ", "))}
		}
		for _, w := range v.options.Witnesses {
			if _, err := w.CosignedAt(signed); err != nil {
				return &HeadError{i, err}
			}
			v.report.Cosigned++
		}
		v.external[h.Size] = append(v.external[h.Size], h)
		v.largest = max(v.largest, h.Size)
	}
	return nil
}

// checkSchema compares tables, indexes and triggers with those the ledger makes.
func (v *verification) checkSchema(ctx context.Context, tx *sql.Tx) (err error) {
	rows, err := tx.QueryContext(ctx, `SELECT name, ifnull(sql, '') FROM sqlite_schema
WHERE tbl_name LIKE 'ledger\_%' ESCAPE '\' OR name LIKE 'ledger\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found, guarded := map[string]bool{}, 0
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		if want, ok := guards[name]; ok && want == text {
			guarded++
			continue
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
	if version := readVersion(ctx, tx); version >= guardedVersion && guarded < len(guards) {
		v.report.add(BadSchema, 0, 0, "a trigger that keeps the records from being changed is missing")
	}
	v.stop = !v.report.OK() // what a foreign table shows proves nothing
	return nil
}

// readVersion returns the version of the ledger's tables, 0 where the file says none.
func readVersion(ctx context.Context, tx *sql.Tx) (version int) {
	_ = tx.QueryRowContext(ctx, sqlVersion).Scan(&version) // a file without the table is of no version
	return version
}

// walkRecords reads the records in order until the end or a head that disagrees. They are hashed beside the
// snapshot: records don't change, and those that come meanwhile are left out.
func (v *verification) walkRecords(ctx context.Context, tx *sql.Tx) error {
	var lowest, end int64
	row := tx.QueryRowContext(ctx, `SELECT ifnull(min(idx), 0), ifnull(max(idx) + 1, 0) FROM ledger_records`)
	if err := row.Scan(&lowest, &end); err != nil {
		return err
	}
	if lowest < 0 {
		v.stopWithProblem(Inserted, 0, 1, "a record stands before the first place")
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	chunks := hashChunks(ctx, v.reader.r, end, v.options.Derive)
	defer func() {
		cancel()
		for c := range chunks {
			<-c
		}
	}()
	for c := range chunks {
		if err := v.addChunk(ctx, tx, <-c); err != nil || v.stop {
			return err
		}
	}
	return ctx.Err()
}

// addChunk adds the records of a chunk, and says what is wrong behind them.
func (v *verification) addChunk(ctx context.Context, tx *sql.Tx, c chunk) error {
	if v.tree.size == 0 && len(c.hashes) > 0 {
		v.report.First = timeOf(c.first)
	}
	if len(c.hashes) > 0 {
		v.report.Last = timeOf(c.last)
	}
	for _, h := range c.hashes {
		if err := v.addRecordToTree(ctx, h); err != nil {
			return err
		}
		if v.stop {
			break
		}
	}
	v.addLies(c.lies)
	n := v.tree.size
	switch {
	case v.stop:
	case isDamage(c.err):
		v.stopWithProblem(Changed, n, n+1, "can't be read: the database file is damaged there")
	case c.err != nil:
		return c.err
	case c.short:
		v.stopWithProblem(Changed, n, n+1, "a column has another type than it was written with")
	case c.gap:
		next := n + 1
		if err := tx.QueryRowContext(ctx, `SELECT ifnull(min(idx), 0) FROM ledger_records WHERE idx >= ?`, n).Scan(&next); err != nil {
			return err
		}
		v.stopWithProblem(Removed, n, max(next, n+1), "gone from between its neighbours")
	}
	return nil
}

// maxLies bounds how many columns are named.
const maxLies = 100

// addLies reports columns that aren't what the bodies say.
func (v *verification) addLies(list []Problem) {
	v.report.Problems = append(v.report.Problems, list[:min(len(list), max(0, maxLies-len(v.report.Problems)))]...)
}

// stopWithProblem reports a problem and ends the reading.
func (v *verification) stopWithProblem(kind string, from, to int64, detail string) {
	v.report.add(kind, from, to, detail)
	v.stop = true
}

// addRecordToTree adds one record to the tree and checks the heads that end with it.
func (v *verification) addRecordToTree(ctx context.Context, leafHash tlog.Hash) error {
	isLeaf, n := true, v.tree.size
	var failed error
	v.tree.add(leafHash, func(h tlog.Hash) {
		stored, at, err := v.stored.next()
		if err != nil {
			failed = errors.Join(failed, err)
		}
		if stored != h && v.treeBad < 0 {
			v.treeBad = at
		}
		if stored != h && isLeaf && len(v.suspects) < maxSuspects {
			rec, err := v.reader.readRecords(ctx, " WHERE idx = ?", n)
			if err != nil || len(rec) != 1 {
				failed = errors.Join(failed, err)
				return
			}
			v.suspects = append(v.suspects, suspect{rec: rec[0], stored: stored})
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
	signed, ok, err := v.heads.findHeadOfSize(size)
	kept := v.external[size]
	if err != nil || !ok && len(kept) == 0 {
		return err
	}
	root := v.tree.computeRoot()
	for _, h := range kept {
		if h.Root != root {
			v.blameRecord(Fork, "these are not the records that a head kept elsewhere covers")
			return nil
		}
		v.report.External++
		v.report.RollbackExcluded = size
	}
	if !ok {
		return nil
	}
	h, checked, ok := v.readStoredHead(signed, size)
	if !ok {
		v.stopWithProblem(BadHead, 0, 0, fmt.Sprintf("head of size %d is not signed by %s, and it says that %s signed it", size,
			nameKeys(v.ring), strings.Join(SignedBy(signed), ", ")))
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

// nameKeys names the keys of a keyring.
func nameKeys(ring *Keyring) string {
	names := ring.Keys()
	for i := range names {
		names[i] = NameKey(names[i])
	}
	return strings.Join(names, ", ")
}

// readStoredHead reads a stored head, and checks its signature if it is its turn.
func (v *verification) readStoredHead(signed []byte, size int64) (h Head, checked, ok bool) {
	if v.heads.count%v.every == 0 || size == v.heads.newest {
		v.report.Signatures++
		h, err := v.ring.parseStoredHead(signed, size)
		return h, true, err == nil
	}
	h, err := PeekHead(signed)
	return h, false, err == nil && h.Size == size && h.Origin == v.ring.origin()
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

// startIndexCheck has SQLite compare its indexes, which queries go by, with the rows, beside the reading of the
// records. The function that it returns waits for the end of that and adds what was found.
func (v *verification) startIndexCheck(ctx context.Context) (finish func(*Report) error) {
	if v.options.SkipIndexes {
		return func(*Report) error { return nil }
	}
	type answer struct {
		bad []string
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		a.bad, a.err = checkIndexes(ctx, v.reader.r)
		done <- a
	}()
	return func(r *Report) error {
		a := <-done
		for _, table := range a.bad {
			r.add(BadIndex, 0, 0, "an index or a column of "+table+" disagrees with its rows")
		}
		return a.err
	}
}

// checkIndexes returns the tables whose indexes or columns disagree with their rows.
func checkIndexes(ctx context.Context, r *store.Reader) (bad []string, err error) {
	for _, table := range []string{"ledger_records", "ledger_heads", "ledger_hashes"} {
		var said string
		if err := r.QueryRow(ctx, "PRAGMA integrity_check("+table+")").Scan(&said); err != nil {
			return bad, err
		}
		if said != "ok" {
			bad = append(bad, table)
		}
	}
	return bad, nil
}
