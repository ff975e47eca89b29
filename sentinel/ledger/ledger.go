package ledger

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// ErrTampered is returned when the database does not hold what was signed.
var ErrTampered = errors.New("ledger was tampered with")

// ErrDuplicate is returned by AppendTx for an id that is already recorded.
var ErrDuplicate = errors.New("a record with this id exists")

// ErrClosed is returned by Open for a file of the ledger that was closed: another goes on in its place.
var ErrClosed = errors.New("this file of the ledger was closed")

// Options of a ledger; the zero value is all defaults.
type Options struct {
	// Now gives the time written into heads. If nil, time.Now.
	Now func() time.Time
}

// Ledger appends to, and reads, the ledger of one store. All methods are safe
// for concurrent use; AppendTx runs in the store's writer anyway.
type Ledger struct {
	Reader
	store  *store.Store
	signer atomic.Pointer[Signer] // changes with RotateKey
	now    func() time.Time

	// Owned by the store's writer goroutine.
	durable   edge        // as of the last commit
	next      edge        // with what this group appended
	base      int64       // the place of the first record
	leaves    []tlog.Hash // appended in this group, not yet in the tree
	times     []time.Time // of these records
	buf       []byte      // the leaf being encoded
	stored    []byte      // hashes of this group, in storage order
	pending   []byte      // head signed for this group
	successor *Signer     // signs this group's head too, and all later ones
	voucher   *Signer     // signs this group's head too: the last key of the file before
	stale     bool        // a group was lost: look again at what the database holds
	before    []Before    // the files that this one goes on from

	newest   atomic.Pointer[[]byte]
	upcoming atomic.Pointer[upcoming] // while another file is made to go on in place of this one
}

// Open opens the ledger in st, creating its tables when missing. It checks that
// the newest head is signed by signer and fits the stored tree. The error is
// ErrTampered otherwise: Open does not sign what it did not write. ErrHead: the
// head is by another key. Open does not read all records: that is what Verify
// does. There can be one Ledger per store.
func Open(ctx context.Context, st *store.Store, signer *Signer, opts Options) (*Ledger, error) {
	if signer == nil {
		return nil, errors.New("ledger needs a signer")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if err := st.Claim("ledger"); err != nil {
		return nil, err
	}
	l := &Ledger{Reader: Reader{r: st.Reader()}, store: st, now: opts.Now}
	l.signer.Store(signer)
	err := st.Migrate(ctx, "ledger", schema)
	if err == nil {
		err = st.Submit(ctx, l.loadRightEdge)
	}
	if err != nil {
		st.Unclaim("ledger")
		return nil, err
	}
	st.OnMove((*mover)(l))
	st.OnSeal(l.sealGroup)
	st.OnCommit(l.onCommit)
	st.OnRollback(l.onRollback)
	return l, nil
}

// PublicKey is the key that verifies the newest head.
func (l *Ledger) PublicKey() string { return l.signer.Load().public }

// AppendTx appends e in the submission of tx and returns its index, counted
// from 0. ErrEntry: e is not acceptable. ErrDuplicate: its id is taken. The
// index holds only if the submission is committed.
func (l *Ledger) AppendTx(tx *store.Tx, e Entry) (int64, error) {
	if err := e.Validate(); err != nil {
		return 0, err
	}
	if e.Kind == KindKeyRotated || e.Kind == KindRestored || e.Kind == KindContinued || e.Kind == KindClosed ||
		e.Kind == KindAgentKey {
		return 0, fmt.Errorf("%w: kind %s is the ledger's own", ErrEntry, e.Kind)
	}
	return l.appendRecord(tx, e)
}

// SignAs signs e, of which the agent must be the key's, and adds to its body the key, the certificate by the ledger's key and
// the signature. The signature covers all fields and the body before. Nothing may change e afterwards. ErrEntry: the
// body is no JSON object with a member, or the agent is another.
func (l *Ledger) SignAs(k *AgentKey, e *Entry) error {
	n := len(e.Body) - 1
	if e.Agent != k.agent || n < len(`{"":0`) || e.Body[0] != '{' || e.Body[n] != '}' {
		return fmt.Errorf("%w: it can't be signed by agent %q: its body is no object, or it is another agent's", ErrEntry, k.agent)
	}
	cert, err := k.certify(l.signer.Load())
	if err != nil {
		return err
	}
	sig := ed25519.Sign(k.private, agentText(nil, &Record{Entry: *e}))
	body := make([]byte, 0, n+signedLength)
	body = append(append(append(body, e.Body[:n]...), keyPart...), k.public...)
	body = append(append(body, certPart...), cert...)
	body = append(append(body, sigPart...), encodeAgent(sig)...)
	body = append(body, signedEnd...)
	e.Body = body
	return nil
}

func (l *Ledger) appendRecord(tx *store.Tx, e Entry) (int64, error) {
	if l.stale {
		if err := l.loadRightEdge(tx); err != nil {
			return 0, err
		}
	}
	r := Record{Index: l.base + l.durable.size + int64(len(l.leaves)), Entry: e}
	n, err := tx.Exec(sqlInsert, r.Index, e.ID, e.Time.UnixNano(), e.Kind, e.Call, e.Decision, e.Conversation,
		e.User, e.Agent, e.Skill, e.Outcome, e.Gate, e.Code, []byte(e.Body))
	if err != nil {
		return 0, fmt.Errorf("append to ledger: %w", err)
	}
	if n == 0 {
		return 0, ErrDuplicate
	}
	l.buf = appendLeaf(l.buf[:0], &r)
	mark := len(l.leaves)
	tx.OnUndo(func() { l.leaves, l.times = l.leaves[:mark], l.times[:mark] })
	l.leaves, l.times = append(l.leaves, tlog.RecordHash(l.buf)), append(l.times, e.Time)
	return r.Index, nil
}

// sealGroup puts the group's records into the tree and signs its head.
func (l *Ledger) sealGroup(tx *store.Tx) error {
	if len(l.leaves) == 0 {
		return nil
	}
	l.durable.copyTo(&l.next)
	l.stored = l.stored[:0]
	for _, h := range l.leaves {
		l.next.add(h, func(h tlog.Hash) { l.stored = append(l.stored, h[:]...) })
	}
	first := tlog.StoredHashIndex(0, l.durable.size)
	if _, err := tx.Exec(sqlInsertHashes, first, l.stored); err != nil {
		return fmt.Errorf("store tree hashes: %w", err)
	}
	if err := l.putTimes(tx); err != nil {
		return err
	}
	signers := []*Signer{l.signer.Load()}
	for _, also := range []*Signer{l.successor, l.voucher} {
		if also != nil {
			signers = append(signers, also)
		}
	}
	head := Head{Origin: signers[0].signer.Name(), Size: l.next.size, Root: l.next.computeRoot(), Time: l.now()}
	signed, err := head.signAsNote(signers...)
	if err != nil {
		return fmt.Errorf("sign head: %w", err)
	}
	if _, err := tx.Exec(sqlInsertHead, head.Size, signed); err != nil {
		return fmt.Errorf("store head: %w", err)
	}
	l.pending = signed
	return nil
}

// putTimes keeps between which times the group's records lie, by blocks.
func (l *Ledger) putTimes(tx *store.Tx) error {
	var blocks []timesRow
	for i, at := range l.times {
		blocks = addTime(blocks, l.base+l.durable.size+int64(i), l.base, at.UnixNano())
	}
	for _, b := range blocks {
		if _, err := tx.Exec(sqlPutTimes, b.start, b.oldest, b.newest); err != nil {
			return fmt.Errorf("store times: %w", err)
		}
	}
	return nil
}

// onCommit takes over the tree of a group that is durable.
func (l *Ledger) onCommit() {
	if len(l.leaves) == 0 {
		return
	}
	l.next.copyTo(&l.durable)
	l.leaves, l.times = l.leaves[:0], l.times[:0]
	signed := l.pending
	l.newest.Store(&signed)
	if l.successor != nil {
		l.signer.Store(l.successor)
		l.successor = nil
	}
}

// onRollback forgets the group. The disk may have failed in the midst of a commit.
// SQLite may then find the group whole when it opens the file again. So onRollback
// does not rely on what is in memory.
func (l *Ledger) onRollback() {
	l.leaves, l.times, l.pending, l.successor, l.stale = l.leaves[:0], l.times[:0], nil, nil, true
}

// ExportHead returns the newest durable head. Keep the head where an attacker on the
// database cannot write: Verify then finds a rollback up to it. ErrNotFound: nothing
// has been recorded yet.
func (l *Ledger) ExportHead(context.Context) ([]byte, error) {
	p := l.newest.Load()
	if p == nil {
		return nil, fmt.Errorf("%w: ledger is empty", ErrNotFound)
	}
	return append([]byte(nil), *p...), nil
}

// Prove returns a proof that the record of this index is in the ledger, under the newest head of its file.
// ErrNotFound: the head covers no such record, or its file isn't there. ErrTampered: the stored tree has holes.
func (l *Ledger) Prove(ctx context.Context, index int64) (Proof, error) {
	return l.ProveRecord(ctx, l.signer.Load().public, index)
}

// loadRightEdge reads the right edge and holds it against the newest head.
func (l *Ledger) loadRightEdge(tx *store.Tx) error {
	ends, signed, err := readEnds(tx)
	if err != nil {
		return err
	}
	if signed == nil {
		if ends.count > 0 {
			return fmt.Errorf("%w: %d records and no signed head", ErrTampered, ends.count)
		}
		l.durable, l.stale = edge{}, false
		return nil
	}
	signer := l.signer.Load()
	head, err := openSignedHead(signed, signer.verifier)
	if err != nil {
		return fmt.Errorf("newest head: %w: it says that %s signed it, and the key is %s: restore the key folder that belongs to this file, "+
			"or the file that belongs to this key", err, strings.Join(SignedBy(signed), ", "), NameKey(signer.public))
	}
	if head.Size != ends.count {
		return fmt.Errorf("%w: %d records, the newest head has %d", ErrTampered, ends.count, head.Size)
	}
	e := edge{size: head.Size}
	for _, i := range listEdgeIndexes(head.Size) {
		h, err := readStoredHash(tx, i)
		if err != nil {
			return err
		}
		e.hashes = append(e.hashes, h)
	}
	if head.Size == 0 || e.computeRoot() != head.Root {
		return fmt.Errorf("%w: stored tree does not have the root of the newest head", ErrTampered)
	}
	if l.before, err = ends.readBefore(); err != nil {
		return err
	}
	l.base, l.durable, l.stale = ends.base, e, false
	l.newest.Store(&signed)
	return nil
}

// fileEnds are where the records of a file begin and end.
type fileEnds struct {
	base, count int64
	first, last Record
}

// readEnds reads the ends of the file and its newest head, nil if none.
func readEnds(tx *store.Tx) (e fileEnds, signed []byte, err error) {
	for order, into := range map[string]*Record{"ASC": &e.first, "DESC": &e.last} {
		query := "SELECT idx, kind, body FROM ledger_records ORDER BY idx " + order + " LIMIT 1"
		var body []byte
		found, err := tx.QueryRow([]any{&into.Index, &into.Kind, &body}, query)
		if err != nil {
			return e, nil, fmt.Errorf("read ledger: %w", err)
		}
		if into.Body = body; found {
			e.count = 1
		}
	}
	if e.base = e.first.Index; e.count > 0 {
		e.count = e.last.Index + 1 - e.base
	}
	if _, err := tx.QueryRow([]any{&signed}, sqlNewestHead); err != nil {
		return e, nil, fmt.Errorf("read heads: %w", err)
	}
	return e, signed, nil
}

// readBefore reads what the file goes on from. The error is ErrClosed where another file goes on from this one.
func (e fileEnds) readBefore() ([]Before, error) {
	var c closedBody
	if e.last.Kind == KindClosed && json.Unmarshal(e.last.Body, &c) == nil {
		return nil, fmt.Errorf("%w: it goes on in file %d, which is not there: restore it", ErrClosed, c.Number)
	}
	if e.base == 0 {
		return nil, nil
	}
	b, ok := readContinued(&e.first)
	if !ok {
		return nil, fmt.Errorf("%w: it begins at record %d and does not say what it goes on from", ErrTampered, e.base)
	}
	return b.Before, nil
}

// readStoredHash returns one hash of the tree by tlog's index.
func readStoredHash(tx *store.Tx, index int64) (tlog.Hash, error) {
	var first int64
	var hashes []byte
	found, err := tx.QueryRow([]any{&first, &hashes}, sqlHash, index)
	if err != nil {
		return tlog.Hash{}, fmt.Errorf("read tree: %w", err)
	}
	at := (index - first) * tlog.HashSize
	if !found || at+tlog.HashSize > int64(len(hashes)) {
		return tlog.Hash{}, fmt.Errorf("%w: hash %d of the tree is missing", ErrTampered, index)
	}
	return tlog.Hash(hashes[at : at+tlog.HashSize]), nil
}
