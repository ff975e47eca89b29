package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrProof is returned by CheckProof for a proof that doesn't hold.
var ErrProof = errors.New("the proof does not hold")

// maxProof is more hashes than any proof has: the height of a tree of 2^63 records.
const maxProof = 63

// Proof shows that one record is in the ledger under a signed head. Who holds the public key
// checks it without the database: see CheckProof.
type Proof struct {
	// Index is the record's place, counted from 0.
	Index int64 `json:"index"`
	// Leaf is the record as it was hashed: see Entry for its fields, and appendLeaf for their order.
	Leaf []byte `json:"leaf"`
	// Hashes are the neighbours on the way from the record to the root.
	Hashes [][]byte `json:"hashes"`
	// Head is the signed head under whose root the record is.
	Head string `json:"head"`
	// Keys prove how each key of the ledger handed over to the next, the oldest first; absent where there was one.
	Keys []Proof `json:"keys,omitempty"`
}

// Prove returns a proof that the record of this index is in the ledger, under the newest head.
// ErrNotFound: the head covers no such record. ErrTampered: the stored tree has holes.
func (l *Ledger) Prove(ctx context.Context, index int64) (Proof, error) {
	signed, err := l.ExportHead(ctx)
	if err != nil {
		return Proof{}, err
	}
	return l.ProveUnder(ctx, signed, l.signer.Load().public, index)
}

// ProveUnder returns a proof that the record of this index is in the ledger, under a signed head of the
// key, or of one that is linked to it. The errors are those of ParseHead and of Ledger.Prove.
func (r *Reader) ProveUnder(ctx context.Context, signed []byte, publicKey string, index int64) (Proof, error) {
	ring, keys, err := r.readKeyring(ctx, publicKey)
	if err != nil {
		return Proof{}, err
	}
	head, err := ring.ParseHead(signed)
	if err != nil {
		return Proof{}, err
	}
	p, err := r.proveUnder(ctx, signed, head, index)
	p.Keys = keys
	return p, err
}

func (r *Reader) proveUnder(ctx context.Context, signed []byte, head Head, index int64) (Proof, error) {
	if index < 0 || index >= head.Size {
		return Proof{}, ErrNotFound
	}
	found, err := r.readRecords(ctx, " WHERE idx = ?", index)
	if err != nil {
		return Proof{}, err
	}
	if len(found) != 1 {
		return Proof{}, fmt.Errorf("%w: record %d is missing", ErrTampered, index)
	}
	way, err := tlog.ProveRecord(head.Size, index, r.hashReader(ctx))
	if err != nil {
		return Proof{}, fmt.Errorf("prove record %d: %w", index, err)
	}
	return Proof{Index: index, Leaf: appendLeaf(nil, &found[0]), Hashes: hashBytes(way), Head: string(signed)}, nil
}

// hashReader reads the stored tree for package tlog.
func (r *Reader) hashReader(ctx context.Context) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) { return r.readHashes(ctx, indexes) })
}

func hashBytes(way []tlog.Hash) [][]byte {
	out := make([][]byte, len(way))
	for i := range way {
		out[i] = bytes.Clone(way[i][:])
	}
	return out
}

// Consistency shows that a ledger has only grown since an older head: no record that the older head
// covers was changed, moved or removed. Who holds the public key checks it without the database.
type Consistency struct {
	Older string `json:"older"`
	Newer string `json:"newer"`
	// Hashes are the hashes of subtrees from which both roots can be computed.
	Hashes [][]byte `json:"hashes"`
	// Keys are those of Proof.
	Keys []Proof `json:"keys,omitempty"`
}

// ProveConsistency returns a proof that the newer of two signed heads of the key goes on from the older.
// ErrNotFound: the newer one is the smaller. ErrTampered: the stored tree has holes. Of a ledger that
// was changed it returns a proof that doesn't hold.
func (r *Reader) ProveConsistency(ctx context.Context, older, newer []byte, publicKey string) (Consistency, error) {
	ring, keys, err := r.readKeyring(ctx, publicKey)
	if err != nil {
		return Consistency{}, err
	}
	from, err := ring.ParseHead(older)
	if err != nil {
		return Consistency{}, err
	}
	to, err := ring.ParseHead(newer)
	switch {
	case err != nil:
		return Consistency{}, err
	case from.Size > to.Size:
		return Consistency{}, ErrNotFound
	}
	way, err := tlog.ProveTree(to.Size, from.Size, r.hashReader(ctx))
	if err != nil {
		return Consistency{}, fmt.Errorf("prove %d records to be among %d: %w", from.Size, to.Size, err)
	}
	return Consistency{string(older), string(newer), hashBytes(way), keys}, nil
}

// ProveGrowth returns the hashes that prove the first records to be among those of a head, as package tlog and C2SP's
// tlog-witness have them. There are none from 0 on, and none to the same size.
func (r *Reader) ProveGrowth(ctx context.Context, from int64, to Head) ([]tlog.Hash, error) {
	switch {
	case from > to.Size || from < 0:
		return nil, ErrNotFound
	case from == 0 || from == to.Size:
		return nil, nil
	}
	way, err := tlog.ProveTree(to.Size, from, r.hashReader(ctx))
	if err != nil {
		return nil, fmt.Errorf("prove %d records to be among %d: %w", from, to.Size, err)
	}
	return way, nil
}

// CheckConsistency checks a proof with the ledger's public key and returns both heads. The error is
// ErrHead where a head isn't signed by the key, and otherwise ErrProof.
func CheckConsistency(c Consistency, publicKey string) (older, newer Head, err error) {
	ring, err := NewKeyring(publicKey, c.Keys)
	if err != nil {
		return Head{}, Head{}, err
	}
	if older, err = ring.ParseHead([]byte(c.Older)); err != nil {
		return Head{}, Head{}, err
	}
	if newer, err = ring.ParseHead([]byte(c.Newer)); err != nil {
		return Head{}, Head{}, err
	}
	way, ok := readWay(c.Hashes)
	if !ok || older.Size > newer.Size || older.Size < 1 ||
		tlog.CheckTree(tlog.TreeProof(way), newer.Size, newer.Root, older.Size, older.Root) != nil {
		return Head{}, Head{}, ErrProof
	}
	return older, newer, nil
}

// readWay reads the hashes of a proof; ok is false where they can't be those of one.
func readWay(hashes [][]byte) (way []tlog.Hash, ok bool) {
	if len(hashes) > 2*maxProof {
		return nil, false
	}
	way = make([]tlog.Hash, len(hashes))
	for i, h := range hashes {
		if len(h) != tlog.HashSize {
			return nil, false
		}
		copy(way[i][:], h)
	}
	return way, true
}

// readHashes reads hashes of the tree by tlog's indexes.
func (r *Reader) readHashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		var first int64
		var hashes []byte
		err := r.r.QueryRow(ctx, sqlHash, index).Scan(&first, &hashes)
		at := (index - first) * tlog.HashSize
		switch {
		case errors.Is(err, sql.ErrNoRows) || err == nil && at+tlog.HashSize > int64(len(hashes)):
			return nil, fmt.Errorf("%w: hash %d of the tree is missing", ErrTampered, index)
		case err != nil:
			return nil, fmt.Errorf("read tree: %w", err)
		}
		copy(out[i][:], hashes[at:])
	}
	return out, nil
}

// CheckProof checks a proof with the ledger's public key and returns the head that it stands
// under. The error is ErrHead where the head isn't signed by the key, and otherwise ErrProof.
func CheckProof(p Proof, publicKey string) (Head, error) {
	ring, err := NewKeyring(publicKey, p.Keys)
	if err != nil {
		return Head{}, err
	}
	head, err := ring.ParseHead([]byte(p.Head))
	if err != nil {
		return Head{}, err
	}
	return head, checkInclusion(p, head)
}

// checkInclusion checks that the record of a proof is under a head.
func checkInclusion(p Proof, head Head) error {
	body, isLeaf := bytes.CutPrefix(p.Leaf, []byte(leafTag))
	named := isLeaf && len(body) >= 8 && binary.BigEndian.Uint64(body) == uint64(p.Index)
	if !named || p.Index < 0 || p.Index >= head.Size || len(p.Hashes) > maxProof {
		return ErrProof
	}
	way, ok := readWay(p.Hashes)
	if !ok || tlog.CheckRecord(tlog.RecordProof(way), head.Size, head.Root, p.Index, tlog.RecordHash(p.Leaf)) != nil {
		return ErrProof
	}
	return nil
}
