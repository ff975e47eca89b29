package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// KindKeyRotated is the kind of the record by which one signing key hands over to the next.
// Ledger.RotateKey alone writes it.
const KindKeyRotated = "key_rotated"

// The ids of records that lead to other keys begin so: the index on ids finds all of them.
const (
	keyRecord       = "key-rotated-"
	closedRecord    = "ledger-closed-"
	continuedRecord = "ledger-continued-"
)

// maxHandovers bounds what is read of a chain of keys.
const maxHandovers = 1000

// keyBody is the body of a record of KindKeyRotated.
type keyBody struct {
	V    int    `json:"v"`
	From string `json:"from"`
	To   string `json:"to"`
	By   string `json:"by,omitempty"`
}

// handover is a record by which one key leads to another, and the head over it: of KindKeyRotated, of KindClosed
// for those who know the older key, of KindContinued for those who know the newer.
type handover struct {
	kind        string
	index, base int64 // of the record, and of the first of its file
	rotated     keyBody
	closed      closedBody
	continued   continuedBody
	signed      []byte
}

// keySpan is one key, and the sizes of the heads that it signs. Its name is the origin of its file.
type keySpan struct {
	verifier note.Verifier
	key      string
	from, to int64
	// voucher signed the head of the file's first record too: the last key of the file before. nil where there is none, or
	// it isn't known.
	voucher note.Verifier
}

// Keyring is a public key that is trusted, and those that are linked to it. A key is linked where a record
// says that it hands over to the next, and both have signed the head over that record. The key of another file is
// linked where a record under a head of a linked key names it.
type Keyring struct {
	spans []keySpan // the oldest first
}

// NewKeyring makes a keyring of a public key and the proofs of handovers, the oldest first, as Proof.Keys has
// them. ErrProof: a proof doesn't hold. A key that no handover leads to stands alone.
func NewKeyring(publicKey string, handovers []Proof) (*Keyring, error) {
	if len(handovers) > maxHandovers {
		return nil, ErrProof
	}
	list := make([]handover, 0, len(handovers))
	for _, p := range handovers {
		rec, err := ParseLeaf(p.Leaf)
		if err != nil || rec.Index != p.Index {
			return nil, ErrProof
		}
		h, ok := readHandover(rec, p.Base)
		if !ok {
			return nil, ErrProof
		}
		h.signed = []byte(p.Head)
		list = append(list, h)
	}
	ring, _, err := newKeyring(publicKey, list)
	if err != nil {
		return nil, err
	}
	for _, p := range handovers {
		head, err := ring.ParseHead([]byte(p.Head))
		if err != nil {
			continue // a handover between keys that nothing leads to is not believed either
		}
		if err := checkInclusion(p, head); err != nil {
			return nil, err
		}
	}
	return ring, nil
}

// readHandover reads a record that leads to another key. base is the place of its file's first record.
func readHandover(rec Record, base int64) (h handover, ok bool) {
	h.kind, h.index, h.base = rec.Kind, rec.Index, base
	switch rec.Kind {
	case KindKeyRotated:
		ok = json.Unmarshal(rec.Body, &h.rotated) == nil
	case KindClosed:
		ok = json.Unmarshal(rec.Body, &h.closed) == nil
	case KindContinued:
		h.continued, ok = readContinued(&rec)
		ok = ok && rec.Index == base
	}
	return h, ok
}

// newKeyring links keys to the one that is trusted. broken are the records of rotations whose head doesn't bear
// both signatures.
func newKeyring(publicKey string, list []handover) (ring *Keyring, broken []int64, err error) {
	publicKey = strings.TrimSpace(publicKey)
	trusted, err := note.NewVerifier(publicKey)
	if err != nil {
		return nil, nil, errors.New("ledger public key is not a note key: use the content of ledger.pub")
	}
	sizes := make([]int64, len(list)) // of the heads over rotations; 0 is a link that doesn't hold
	for i, h := range list {
		if h.kind != KindKeyRotated {
			continue
		}
		if sizes[i] = h.checkRotation(); sizes[i] == 0 {
			broken = append(broken, h.index)
		}
	}
	ring = &Keyring{[]keySpan{{verifier: trusted, key: publicKey, to: math.MaxInt64}}}
	for i, h := range list { // forwards from the trusted key
		ring.linkNewer(h, sizes[i])
	}
	for i, h := range slices.Backward(list) { // and backwards
		ring.linkOlder(h, sizes[i])
	}
	for _, h := range list {
		ring.noteVoucher(h)
	}
	for _, h := range slices.Backward(list) { // files that aren't there have no records of their own
		if h.kind == KindContinued && ring.trusts(h) {
			ring.addBefore(h.continued.Before)
		}
	}
	return ring, broken, nil
}

// linkNewer adds the key that a handover leads to from the newest. size is that of the head over a rotation.
func (k *Keyring) linkNewer(h handover, size int64) {
	last := &k.spans[len(k.spans)-1]
	switch h.kind {
	case KindKeyRotated:
		if size > 0 && h.rotated.From == last.key && size >= last.from {
			last.to = size
			k.spans = append(k.spans, newSpan(h.rotated.To, size, math.MaxInt64))
		}
	case KindClosed:
		head, err := openSignedHead(h.signed, last.verifier)
		next, verr := note.NewVerifier(h.closed.Key)
		if err == nil && verr == nil && head.Size > h.index-h.base && next.Name() != last.verifier.Name() {
			last.to = head.Size
			k.spans = append(k.spans, newSpan(h.closed.Key, 0, math.MaxInt64))
		}
	case KindContinued: // its head says so, also where the file before could not be closed yet
		end, err := PeekHead([]byte(h.continued.last().Head))
		next, verr := note.NewVerifier(h.continued.Key)
		if err != nil || verr != nil || h.continued.last().Key != last.key || !isSignedBy(h.signed, last.verifier) {
			return
		}
		if _, err := openSignedHead(h.signed, next); err == nil && next.Name() != last.verifier.Name() {
			last.to = end.Size + 1
			k.spans = append(k.spans, newSpan(h.continued.Key, 0, math.MaxInt64))
		}
	}
}

// isSignedBy reports whether a note bears the signature of a key, whatever its text says.
func isSignedBy(signed []byte, v note.Verifier) bool {
	_, err := note.Open(signed, note.VerifierList(v))
	return err == nil
}

// noteVoucher remembers which key has signed the first head of a file beside the file's own.
func (k *Keyring) noteVoucher(h handover) {
	if h.kind != KindContinued {
		return
	}
	v, err := note.NewVerifier(h.continued.last().Key)
	for i := range k.spans {
		if err == nil && k.spans[i].key == h.continued.Key {
			k.spans[i].voucher = v
		}
	}
}

// linkOlder adds the key that a handover leads to from the oldest.
func (k *Keyring) linkOlder(h handover, size int64) {
	first := &k.spans[0]
	switch h.kind {
	case KindKeyRotated:
		if size > 0 && h.rotated.To == first.key && size <= first.to {
			first.from = size
			k.spans = slices.Insert(k.spans, 0, newSpan(h.rotated.From, 0, size))
		}
	case KindContinued:
		if _, err := openSignedHead(h.signed, first.verifier); err == nil {
			k.addBefore([]Before{h.continued.last()})
		}
	}
}

// trusts reports whether a head over a record is signed by a key of the ring.
func (k *Keyring) trusts(h handover) bool {
	head, err := k.ParseHead(h.signed)
	return err == nil && head.Size > h.index-h.base
}

// addBefore puts the keys of earlier files before those of their successors, the newest first. Keys of files that
// are in the ring already are left out.
func (k *Keyring) addBefore(list []Before) {
	for _, f := range slices.Backward(list) {
		h, err := PeekHead([]byte(f.Head))
		v, verr := note.NewVerifier(f.Key)
		if err != nil || verr != nil || v.Name() != h.Origin || k.knows(h.Origin) {
			continue
		}
		// One record more closes the file.
		k.spans = slices.Insert(k.spans, 0, newSpan(f.Key, 0, h.Size+1))
	}
}

// knows reports whether a key of the ring has an origin.
func (k *Keyring) knows(origin string) bool { return k.rankOf(origin) >= 0 }

// rankOf numbers the origins from the oldest on; -1 is one of no key.
func (k *Keyring) rankOf(origin string) int {
	return slices.IndexFunc(k.spans, func(s keySpan) bool { return s.verifier.Name() == origin })
}

// newSpan is of a key that was read before.
func newSpan(key string, from, to int64) keySpan {
	v, _ := note.NewVerifier(key)
	return keySpan{verifier: v, key: key, from: from, to: to}
}

// checkRotation returns the size of a rotation's head, 0 where it doesn't bear the signatures of both keys.
func (h handover) checkRotation() int64 {
	if h.rotated.From == h.rotated.To {
		return 0
	}
	var size int64
	origin := ""
	for _, key := range []string{h.rotated.From, h.rotated.To} {
		v, err := note.NewVerifier(key)
		if err != nil || origin != "" && v.Name() != origin {
			return 0
		}
		head, err := openSignedHead(h.signed, v)
		if err != nil || head.Size <= h.index-h.base {
			return 0
		}
		size, origin = head.Size, v.Name()
	}
	return size
}

// ParseHead reads a head that is signed by the key of its time. ErrHead: it isn't.
func (k *Keyring) ParseHead(signed []byte) (Head, error) {
	h, err := PeekHead(signed)
	if err != nil {
		return Head{}, err
	}
	for _, s := range k.spans {
		if s.verifier.Name() == h.Origin && s.from <= h.Size && h.Size <= s.to {
			if h, err := openSignedHead(signed, s.verifier); err == nil {
				return h, nil
			}
		}
	}
	return Head{}, ErrHead
}

// parseStoredHead is ParseHead for a head of the database, which nothing may be added to: it bears the
// signatures of the keys of its time and no more.
func (k *Keyring) parseStoredHead(signed []byte, size int64) (Head, error) {
	var list []note.Verifier
	peeked, err := PeekHead(signed)
	if err != nil {
		return Head{}, ErrHead
	}
	for _, s := range k.spans {
		if s.verifier.Name() == peeked.Origin && s.from <= size && size <= s.to {
			list = append(list, s.verifier)
			if size == 1 && s.voucher != nil {
				list = append(list, s.voucher)
			}
		}
	}
	n, err := note.Open(signed, note.VerifierList(list...))
	if err != nil || len(list) == 0 || len(n.UnverifiedSigs) > 0 || len(n.Sigs) != len(list) {
		return Head{}, ErrHead
	}
	h, err := parseHeadText(n.Text)
	if err != nil || h.Size != size || h.Origin != list[0].Name() {
		return Head{}, ErrHead
	}
	// The note's form has a single spelling; SumDB's reader takes none other, but for spaces in base64.
	again, err := note.Sign(&note.Note{Text: n.Text, Sigs: n.Sigs})
	if err != nil || string(again) != string(signed) {
		return Head{}, ErrHead
	}
	return h, nil
}

// Keys are the public keys, the oldest first.
func (k *Keyring) Keys() []string {
	out := make([]string, len(k.spans))
	for i, s := range k.spans {
		out[i] = s.key
	}
	return out
}

// SignedBy names the keys that a head says it is signed by, as name+hash. It checks no signature.
func SignedBy(signed []byte) []string {
	var out []string
	_, err := note.Open(signed, note.VerifierList())
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		for _, s := range unverified.Note.UnverifiedSigs {
			out = append(out, fmt.Sprintf("%s+%08x", s.Name, s.Hash))
		}
	}
	return out
}

// NameKey shortens a public key to name+hash, by which people tell keys apart.
func NameKey(publicKey string) string {
	name, rest, _ := strings.Cut(strings.TrimSpace(publicKey), "+")
	hash, _, _ := strings.Cut(rest, "+")
	return name + "+" + hash
}

// queryFunc runs a query, in a snapshot or beside the writer.
type queryFunc func(ctx context.Context, query string, args ...any) (*sql.Rows, error)

// sqlHandovers finds the records that lead to other keys by how their ids begin, and the first of a file.
const sqlHandovers = "SELECT " + sqlColumns + ` FROM ledger_records
WHERE id >= 'key-rotated-' AND id < 'key-rotated-~' OR id >= 'ledger-c' AND id < 'ledger-c~' ORDER BY idx LIMIT ?`

// readHandovers reads the records of handovers of one file, and the heads over them. They are claims until they are
// checked.
func readHandovers(ctx context.Context, query queryFunc, base int64) (out []handover, err error) {
	rows, err := query(ctx, sqlHandovers, maxHandovers+1)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var rec Record
		if err := scanRecord(rows, &rec); err != nil {
			return nil, err
		}
		h, ok := readHandover(rec, base)
		if ok || h.kind == KindKeyRotated { // one that is none doesn't bear signatures either
			out = append(out, h)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].signed, err = readHeadOver(ctx, query, out[i].index-base); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readHeadOver reads the first head that covers a record of the file, nil where there is none.
func readHeadOver(ctx context.Context, query queryFunc, index int64) (signed []byte, err error) {
	rows, err := query(ctx, `SELECT note FROM ledger_heads WHERE size > ? ORDER BY size LIMIT 1`, index)
	if err != nil {
		return nil, fmt.Errorf("read heads: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if rows.Next() {
		if err := rows.Scan(&signed); err != nil {
			return nil, err
		}
	}
	return signed, rows.Err()
}

// Keyring links the ledger's keys to one that is trusted, by its records. ErrTampered: the tree doesn't have
// them. It costs a proof for each handover.
func (r *Reader) Keyring(ctx context.Context, publicKey string) (*Keyring, error) {
	ring, _, err := r.readKeyring(ctx, publicKey)
	return ring, err
}

// readKeyring returns the proofs of the handovers too.
func (r *Reader) readKeyring(ctx context.Context, publicKey string) (*Keyring, []Proof, error) {
	handovers, err := r.proveHandovers(ctx)
	if err != nil {
		return nil, nil, err
	}
	ring, err := NewKeyring(publicKey, handovers)
	if errors.Is(err, ErrProof) {
		err = fmt.Errorf("%w: the record of a key's rotation is not what was signed", ErrTampered)
	}
	return ring, handovers, err
}

// proveHandovers proves every record that leads to another key under the first head over it.
func (r *Reader) proveHandovers(ctx context.Context) ([]Proof, error) {
	parts, err := r.listParts(ctx)
	if err != nil {
		return nil, err
	}
	var out []Proof
	for _, p := range slices.Backward(parts) {
		list, err := readHandovers(ctx, p.r.Query, p.base)
		if err != nil {
			return nil, err
		}
		for _, h := range list {
			head, err := PeekHead(h.signed)
			if err != nil {
				return nil, fmt.Errorf("%w: the head over record %d is none", ErrTampered, h.index)
			}
			proof, err := p.prove(ctx, h.signed, head, h.index)
			if err != nil {
				return nil, err
			}
			out = append(out, proof)
		}
	}
	return out, nil
}
