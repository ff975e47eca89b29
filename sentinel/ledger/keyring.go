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

// keyRecord begins the id of such a record, so that the index on ids finds all of them.
const keyRecord = "key-rotated-"

// maxHandovers bounds what is read of a chain of keys.
const maxHandovers = 1000

// keyBody is the body of a record of KindKeyRotated.
type keyBody struct {
	V    int    `json:"v"`
	From string `json:"from"`
	To   string `json:"to"`
	By   string `json:"by,omitempty"`
}

// handover is a record of KindKeyRotated, and the head that both keys signed.
type handover struct {
	index  int64
	body   keyBody
	signed []byte
}

// keySpan is one key, and the sizes of the heads that it signs.
type keySpan struct {
	verifier note.Verifier
	key      string
	from, to int64
}

// Keyring is a public key that is trusted, and those that are linked to it. A key is linked where a record
// says that it hands over to the next, and both have signed the head over that record.
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
		h, ok := readHandover(rec)
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

// readHandover reads a record of KindKeyRotated.
func readHandover(rec Record) (h handover, ok bool) {
	h.index = rec.Index
	ok = rec.Kind == KindKeyRotated && json.Unmarshal(rec.Body, &h.body) == nil
	return h, ok
}

// newKeyring links keys to the one that is trusted. broken are the records of handovers whose head doesn't bear
// both signatures.
func newKeyring(publicKey string, list []handover) (ring *Keyring, broken []int64, err error) {
	publicKey = strings.TrimSpace(publicKey)
	trusted, err := note.NewVerifier(publicKey)
	if err != nil {
		return nil, nil, errors.New("ledger public key is not a note key: use the content of ledger.pub")
	}
	sizes := make([]int64, len(list)) // of the heads; 0 is a link that doesn't hold
	for i, h := range list {
		sizes[i] = h.checkSignatures(trusted.Name())
		if sizes[i] == 0 {
			broken = append(broken, h.index)
		}
	}
	ring = &Keyring{[]keySpan{{trusted, publicKey, 0, math.MaxInt64}}}
	for i, h := range list { // forwards from the trusted key
		last := &ring.spans[len(ring.spans)-1]
		if sizes[i] > 0 && h.body.From == last.key && sizes[i] >= last.from {
			last.to = sizes[i]
			ring.spans = append(ring.spans, newSpan(h.body.To, sizes[i], math.MaxInt64))
		}
	}
	for i, h := range slices.Backward(list) { // and backwards
		first := &ring.spans[0]
		if sizes[i] > 0 && h.body.To == first.key && sizes[i] <= first.to {
			first.from = sizes[i]
			ring.spans = slices.Insert(ring.spans, 0, newSpan(h.body.From, 0, sizes[i]))
		}
	}
	return ring, broken, nil
}

// newSpan is of a key that checkSignatures has read.
func newSpan(key string, from, to int64) keySpan {
	v, _ := note.NewVerifier(key)
	return keySpan{v, key, from, to}
}

// checkSignatures returns the size of the handover's head, 0 where it doesn't bear the signatures of both keys.
func (h handover) checkSignatures(origin string) int64 {
	if h.body.From == h.body.To {
		return 0
	}
	var size int64
	for _, key := range []string{h.body.From, h.body.To} {
		v, err := note.NewVerifier(key)
		if err != nil || v.Name() != origin {
			return 0
		}
		head, err := openSignedHead(h.signed, v)
		if err != nil || head.Size <= h.index {
			return 0
		}
		size = head.Size
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
		if s.from <= h.Size && h.Size <= s.to {
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
	for _, s := range k.spans {
		if s.from <= size && size <= s.to {
			list = append(list, s.verifier)
		}
	}
	n, err := note.Open(signed, note.VerifierList(list...))
	if err != nil || len(n.UnverifiedSigs) > 0 || len(n.Sigs) != len(list) {
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

// origin is the name that all keys have.
func (k *Keyring) origin() string { return k.spans[0].verifier.Name() }

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

const sqlHandovers = "SELECT " + sqlColumns + " FROM ledger_records WHERE id >= ? AND id < ? ORDER BY idx LIMIT ?"

// readHandovers reads the records of handovers, and the heads over them. They are claims until they are checked.
func readHandovers(ctx context.Context, query queryFunc) (out []handover, err error) {
	rows, err := query(ctx, sqlHandovers, keyRecord, keyRecord+"~", maxHandovers+1)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var rec Record
		if err := scanRecord(rows, &rec); err != nil {
			return nil, err
		}
		h, _ := readHandover(rec) // one that is none doesn't bear signatures either
		out = append(out, h)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].signed, err = readHeadOver(ctx, query, out[i].index); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readHeadOver reads the first head that covers a record, nil where there is none.
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

// proveHandovers proves every record of KindKeyRotated under the head that both keys signed.
func (r *Reader) proveHandovers(ctx context.Context) ([]Proof, error) {
	list, err := readHandovers(ctx, r.r.Query)
	if err != nil {
		return nil, err
	}
	var out []Proof
	for _, h := range list {
		head, err := PeekHead(h.signed)
		if err != nil {
			return nil, fmt.Errorf("%w: the head over record %d is none", ErrTampered, h.index)
		}
		p, err := r.proveUnder(ctx, h.signed, head, h.index)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
