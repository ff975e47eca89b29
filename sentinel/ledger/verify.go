package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	// Agents has the signatures of agents checked.
	Agents bool
}

// Verify checks the ledger in a database with nothing but its files and the
// public key. Another process may write to it meanwhile. Verify makes every
// leaf again from the columns, and compares the root at every stored head.
//
// Of a ledger in several files it verifies those that are there, and that each goes on from the one before.
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
	files, err := r.Files(ctx)
	if err == nil {
		err = v.verifyFiles(ctx, files)
	}
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
	ring     *Keyring
	every    int64
	external []Head
	agents   *agentChecks        // nil where they aren't checked
	files    []*fileVerification // the oldest first
}

// fileVerification is the verification of one file.
type fileVerification struct {
	*verification
	part

	origin string           // of its heads
	kept   map[int64][]Head // those that were kept elsewhere, by size
	first  *Record          // where it goes on from another file
	last   *Record
	count  int64 // of its records
	proved int64 // of them, from the first on
	tree   edge
	stored *hashStream
	heads  *headStream
	times  bool // the file has the table of times
	blocks []timesRow
	// suspects are records whose hash is not the stored one, since the last
	// head that agreed. Which of the two was changed, the next head tells.
	suspects []suspect
	treeBad  int64 // index of the first stored hash that differs, or -1
	// end is the size of the tree with which the next file says that this one ended, 0 for none; endRoot is its root.
	end     int64
	endRoot tlog.Hash
	stop    bool
}

func newVerification(opts VerifyOptions) (*verification, error) {
	ring, _, err := newKeyring(opts.PublicKey, nil)
	if err != nil {
		return nil, err
	}
	v := &verification{options: opts, ring: ring, every: max(opts.SignatureEvery, 1)}
	if opts.Agents {
		v.agents = &agentChecks{ended: map[string]int64{}, known: map[certifiedKey]int{}}
	}
	return v, nil
}

// verifyFiles verifies the files, of which the newest comes first.
func (v *verification) verifyFiles(ctx context.Context, files []*store.Reader) error {
	for _, r := range slices.Backward(files) {
		v.files = append(v.files, &fileVerification{verification: v, part: part{r: r}, treeBad: -1})
	}
	if err := v.readLinks(ctx); err != nil {
		return err
	}
	headErr := v.takeHeads() // the records may say why, so it is told after them
	for _, f := range v.files {
		if f.stop { // its schema is another's
			continue
		}
		if err := f.r.Snapshot(ctx, func(tx *sql.Tx) error { return f.verify(ctx, tx) }); err != nil {
			return err
		}
	}
	v.checkLinks()
	v.sumUp()
	if v.report.OK() {
		return headErr
	}
	return nil
}

// readLinks reads which keys the one that was given is linked to, and how the files go on from each other.
func (v *verification) readLinks(ctx context.Context) error {
	var list []handover
	for _, f := range v.files {
		err := f.r.Snapshot(ctx, func(tx *sql.Tx) error {
			if err := f.checkSchema(ctx, tx); err != nil || f.stop {
				return err
			}
			if err := f.readEnds(ctx, tx); err != nil {
				return err
			}
			found, err := readHandovers(ctx, tx.QueryContext, f.base)
			if list = append(list, found...); err != nil || v.agents == nil {
				return err
			}
			return v.agents.readAgentKeys(ctx, tx)
		})
		if err != nil {
			return err
		}
	}
	ring, broken, err := newKeyring(v.options.PublicKey, list)
	if err != nil {
		return err
	}
	for _, index := range broken {
		v.report.add(BadKey, index, index+1, "hands over to another key, and the head over it is not signed by both")
	}
	v.ring, v.report.Keys = ring, ring.Keys()
	if v.agents != nil {
		v.agents.ring = ring
	}
	for i, f := range v.files[1:] {
		if b, ok := f.continues(); ok {
			h, _ := PeekHead([]byte(b.last().Head)) // continues has read it
			v.files[i].end = h.Size
		}
	}
	return nil
}

// readEnds reads the first and the last record of the file.
func (v *fileVerification) readEnds(ctx context.Context, tx *sql.Tx) error {
	for _, end := range []struct {
		order string
		into  **Record
	}{{"", &v.first}, {" DESC", &v.last}} {
		rows, err := tx.QueryContext(ctx, "SELECT "+sqlColumns+" FROM ledger_records ORDER BY idx"+end.order+" LIMIT 1")
		if err != nil {
			return err
		}
		if rows.Next() {
			var rec Record
			if scanRecord(rows, &rec) == nil { // what has other types is found later
				*end.into = &rec
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil { //nolint:sqlclosecheck // in a loop
			return err
		}
	}
	if v.first != nil && v.first.Index > 0 {
		v.base = v.first.Index
	}
	return nil
}

// continues returns what the file says that it goes on from.
func (v *fileVerification) continues() (continuedBody, bool) {
	if v.first == nil {
		return continuedBody{}, false
	}
	return readContinued(v.first)
}

// verify reads one snapshot of the file from start to end.
func (v *fileVerification) verify(ctx context.Context, tx *sql.Tx) error {
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM ledger_records`).Scan(&v.count); err != nil {
		return err
	}
	v.report.Records += v.count
	var err error
	if v.stored, err = newHashStream(ctx, tx); err != nil {
		return err
	}
	defer v.stored.close()
	if v.heads, err = newHeadStream(ctx, tx); err != nil {
		return err
	}
	defer v.heads.close()
	v.origin, v.kept = v.heads.origin, map[int64][]Head{}
	for _, h := range v.external {
		if h.Origin == v.origin {
			v.kept[h.Size] = append(v.kept[h.Size], h)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	indexes := v.startIndexCheck(ctx)
	if err := errors.Join(v.walkRecords(ctx, tx), v.checkEnd()); err != nil {
		return err
	}
	if err := v.checkTimes(ctx, tx); err != nil {
		return err
	}
	return indexes(&v.report)
}

// checkLinks checks that each file goes on from the one before.
func (v *verification) checkLinks() {
	for i, f := range v.files {
		if f.stop || f.count == 0 {
			continue
		}
		b, ok := f.continues()
		if f.base > 0 && !ok {
			continue // walkRecords has told that records are gone before it
		}
		if i > 0 && f.base == 0 {
			v.report.add(BadLink, f.base, f.base+1, "a file of the ledger does not say what it goes on from")
			continue
		}
		if f.base > 0 {
			f.checkLink(b, i)
		}
	}
	newest := v.files[len(v.files)-1]
	if newest.last != nil && newest.last.Kind == KindClosed {
		v.report.Caveats = append(v.report.Caveats, "this is an archive: the ledger goes on in another file, which is not here")
	}
}

// checkLink checks what a file says of those before it.
func (v *fileVerification) checkLink(b continuedBody, i int) {
	bad := func(detail string) { v.report.add(BadLink, v.base, v.base+1, detail) }
	for n, before := range b.Before {
		h, err := v.ring.ParseHead([]byte(before.Head))
		if err != nil {
			bad(fmt.Sprintf("the head with which file %d ended is not signed by its key", before.Number))
			return
		}
		at := slices.IndexFunc(v.files[:i], func(o *fileVerification) bool { return o.base == before.From && (o.base > 0 || n == 0) })
		if at < 0 {
			if i == len(v.files)-1 { // told once
				v.report.Caveats = append(v.report.Caveats, fmt.Sprintf(
					"file %d, with records %d to %d, is not here and was not verified; how it ended is on record", before.Number, before.From,
					before.From+h.Size))
			}
			continue
		}
		if n == len(b.Before)-1 {
			v.checkNeighbour(v.files[at], h, bad)
		}
	}
}

// checkNeighbour checks that a file goes on from the one right before it, which ended with a head.
func (v *fileVerification) checkNeighbour(before *fileVerification, h Head, bad func(string)) {
	if before.stop { // what was wrong there is told
		return
	}
	switch {
	case before.origin != h.Origin || before.count < h.Size || before.endRoot != h.Root:
		bad("the file before it is not the one that it goes on from")
	case before.count == h.Size:
		v.report.Caveats = append(v.report.Caveats,
			fmt.Sprintf("file %d is not closed yet: the next start of the server does that", before.r.File().Number))
	case before.count > h.Size+1 || before.last == nil || before.last.Kind != KindClosed:
		bad("the file before it has records that were added after it was closed")
	default:
		var c closedBody
		if json.Unmarshal(before.last.Body, &c) != nil || keyOrigin(c.Key) != v.origin {
			bad("the file before it was closed for another file than this one")
		}
	}
}

// keyOrigin is the name of a public key, which is the origin of its heads.
func keyOrigin(publicKey string) string {
	name, _, _ := strings.Cut(publicKey, "+")
	return name
}

// sumUp tells what the files came to together.
func (v *verification) sumUp() {
	whole := true
	for _, f := range v.files {
		if whole {
			v.report.Proved += f.proved
		}
		whole = whole && f.proved == f.count
		v.report.Unsigned += f.count - f.proved
	}
	v.checkRollback()
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
		v.external = append(v.external, h)
	}
	return nil
}

// checkSchema compares tables, indexes and triggers with those the ledger makes.
func (v *fileVerification) checkSchema(ctx context.Context, tx *sql.Tx) (err error) {
	rows, err := tx.QueryContext(ctx, `SELECT name, ifnull(sql, '') FROM sqlite_schema
WHERE tbl_name LIKE 'ledger\_%' ESCAPE '\' OR name LIKE 'ledger\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found, guarded := map[string]string{}, 0
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		if want, ok := guards[name]; ok && want == text {
			guarded++
			continue
		}
		found[name] = text
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(found) == 0 {
		return ErrNoLedger
	}
	expected := maps.Clone(expectedAlways)
	if _, v.times = found["ledger_times"]; v.times {
		maps.Copy(expected, expectedSecond)
	} else {
		maps.Copy(expected, expectedFirst)
	}
	before := int64(len(v.report.Problems))
	for name, text := range found {
		if want, ok := expected[name]; !ok || want != text {
			v.report.add(BadSchema, 0, 0, "database has a table, index, view or trigger on the ledger that is not its own")
		}
	}
	if len(found) < len(expected) && int64(len(v.report.Problems)) == before {
		v.report.add(BadSchema, 0, 0, "a table or an index of the ledger is missing")
	}
	if version := readVersion(ctx, tx); version >= guardedVersion && guarded < len(guards) {
		v.report.add(BadSchema, 0, 0, "a trigger that keeps the records from being changed is missing")
	}
	v.stop = int64(len(v.report.Problems)) > before // what a foreign table shows proves nothing
	return nil
}

// readVersion returns the version of the ledger's tables, 0 where the file says none.
func readVersion(ctx context.Context, tx *sql.Tx) (version int) {
	_ = tx.QueryRowContext(ctx, sqlVersion).Scan(&version) // a file without the table is of no version
	return version
}

// walkRecords reads the records in order until the end or a head that disagrees. They are hashed beside the
// snapshot: records don't change, and those that come meanwhile are left out.
func (v *fileVerification) walkRecords(ctx context.Context, tx *sql.Tx) error {
	var lowest, end int64
	row := tx.QueryRowContext(ctx, `SELECT ifnull(min(idx), 0), ifnull(max(idx) + 1, 0) FROM ledger_records`)
	if err := row.Scan(&lowest, &end); err != nil {
		return err
	}
	if lowest < 0 {
		v.stopWithProblem(Inserted, 0, 1, "a record stands before the first place")
		return nil
	}
	if _, ok := v.continues(); lowest > 0 && !ok {
		v.base = 0
	}
	ctx, cancel := context.WithCancel(ctx)
	chunks := hashChunks(ctx, v.r, v.base, end, v.chooseChecks())
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

// chooseChecks returns what is checked of each record beside its hash.
func (v *fileVerification) chooseChecks() rowChecks {
	k := rowChecks{derive: v.options.Derive}
	if v.agents != nil {
		k.agent = func(row []driver.Value, index int64) (bool, string) {
			return v.agents.checkRow(row, index, v.base, v.origin)
		}
	}
	return k
}

// place is where the next record of the tree stands.
func (v *fileVerification) place() int64 { return v.base + v.tree.size }

// addChunk adds the records of a chunk, and says what is wrong behind them.
func (v *fileVerification) addChunk(ctx context.Context, tx *sql.Tx, c chunk) error {
	if v.report.First.IsZero() && len(c.hashes) > 0 {
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
	v.report.AgentSigned += c.signed
	v.blocks = append(v.blocks, c.blocks...)
	n := v.place()
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
func (v *fileVerification) addLies(list []Problem) {
	v.report.Problems = append(v.report.Problems, list[:min(len(list), max(0, maxLies-len(v.report.Problems)))]...)
}

// stopWithProblem reports a problem and ends the reading.
func (v *fileVerification) stopWithProblem(kind string, from, to int64, detail string) {
	v.report.add(kind, from, to, detail)
	v.stop = true
}

// addRecordToTree adds one record to the tree and checks the heads that end with it.
func (v *fileVerification) addRecordToTree(ctx context.Context, leafHash tlog.Hash) error {
	isLeaf, n := true, v.place()
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
			rec, err := v.readRecords(ctx, " WHERE idx = ?", n)
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
func (v *fileVerification) checkHeads() error {
	size := v.tree.size
	signed, ok, err := v.heads.findHeadOfSize(size)
	kept := v.kept[size]
	if err != nil || !ok && len(kept) == 0 && size != v.end {
		return err
	}
	root := v.tree.computeRoot()
	if size == v.end {
		v.endRoot = root
	}
	for _, h := range kept {
		if h.Root != root {
			v.blameRecord(Fork, "these are not the records that a head kept elsewhere covers")
			return nil
		}
		v.report.External++
		v.report.RollbackExcluded = v.base + size
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
		v.report.Newest, v.proved = &h, size
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
func (v *fileVerification) readStoredHead(signed []byte, size int64) (h Head, checked, ok bool) {
	if v.heads.count%v.every == 0 || size == v.heads.newest {
		v.report.Signatures++
		h, err := v.ring.parseStoredHead(signed, size)
		return h, true, err == nil && h.Origin == v.origin
	}
	h, err := PeekHead(signed)
	return h, false, err == nil && h.Size == size && h.Origin == v.origin && v.ring.knows(h.Origin)
}

// blameRecord names the record that makes a head disagree, as closely as the
// stored hashes allow.
func (v *fileVerification) blameRecord(kind, detail string) {
	from, to := v.base+v.proved, v.place()
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
func (v *fileVerification) checkEnd() error {
	if v.stop {
		return nil
	}
	n := v.place()
	beyond := v.base + v.heads.newest
	switch {
	case beyond > n:
		v.report.add(Removed, n, beyond, "covered by the newest head, and gone from the end")
	case v.tree.size > v.proved:
		v.report.add(Inserted, v.base+v.proved, n, "covered by no signed head: put in, or the head was taken out")
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
	const detail = "covered by a head kept elsewhere, and gone: a cut tail or an older copy"
	newest := v.files[len(v.files)-1]
	var gone *Problem
	for _, h := range v.external {
		at := slices.IndexFunc(v.files, func(f *fileVerification) bool { return f.origin == h.Origin || f.origin == "" && f == newest })
		switch {
		case at >= 0 && h.Size > v.files[at].count:
			f := v.files[at]
			gone = widen(gone, f.base+f.count, f.base+h.Size, detail)
		case at < 0 && !v.isBefore(h.Origin): // of a file that goes on from the newest that is here
			from := newest.base + newest.count
			gone = widen(gone, from, from+h.Size, detail)
		}
	}
	if gone != nil {
		v.report.Problems = append(v.report.Problems, *gone)
	}
}

// widen returns a problem of a rollback that covers another span too.
func widen(p *Problem, from, to int64, detail string) *Problem {
	if p == nil {
		return &Problem{Kind: Rollback, From: from, To: to, Detail: detail}
	}
	p.From, p.To = min(p.From, from), max(p.To, to)
	return p
}

// isBefore reports whether an origin is that of a file which one of those here goes on from.
func (v *verification) isBefore(origin string) bool {
	for _, f := range v.files {
		b, _ := f.continues()
		for _, before := range b.Before {
			if h, err := PeekHead([]byte(before.Head)); err == nil && h.Origin == origin {
				return true
			}
		}
	}
	return false
}

// startIndexCheck has SQLite compare its indexes, which queries go by, with the rows, beside the reading of the
// records. The function that it returns waits for the end of that and adds what was found.
func (v *fileVerification) startIndexCheck(ctx context.Context) (finish func(*Report) error) {
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
		a.bad, a.err = checkIndexes(ctx, v.r, v.times)
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
func checkIndexes(ctx context.Context, r *store.Reader, times bool) (bad []string, err error) {
	tables := []string{"ledger_records", "ledger_heads", "ledger_hashes"}
	if times {
		tables = append(tables, "ledger_times")
	}
	for _, table := range tables {
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

// checkTimes compares the table of times, which queries go by, with the records.
func (v *fileVerification) checkTimes(ctx context.Context, tx *sql.Tx) (err error) {
	if v.stop || !v.times {
		return nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT start, oldest, newest FROM ledger_times ORDER BY start`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var found []timesRow
	for rows.Next() {
		var t timesRow
		if err := rows.Scan(&t.start, &t.oldest, &t.newest); err != nil {
			v.report.add(BadIndex, 0, 0, "the table of times has a row that is not its own")
			return nil
		}
		found = append(found, t)
	}
	if rows.Err() == nil && !slices.Equal(found, v.blocks) {
		v.report.add(BadIndex, 0, 0, "the table of times disagrees with the records")
	}
	return rows.Err()
}
