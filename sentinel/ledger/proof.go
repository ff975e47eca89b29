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
}

// Prove returns a proof that the record of this index is in the ledger, under the newest head.
// ErrNotFound: the head covers no such record. ErrTampered: the stored tree has holes.
func (l *Ledger) Prove(ctx context.Context, index int64) (Proof, error) {
	signed, err := l.ExportHead(ctx)
	if err != nil {
		return Proof{}, err
	}
	head, err := openSignedHead(signed, l.signer.verifier)
	if err != nil {
		return Proof{}, err
	}
	if index < 0 || index >= head.Size {
		return Proof{}, ErrNotFound
	}
	found, err := l.readRecords(ctx, " WHERE idx = ?", index)
	if err != nil {
		return Proof{}, err
	}
	if len(found) != 1 {
		return Proof{}, fmt.Errorf("%w: record %d is missing", ErrTampered, index)
	}
	way, err := tlog.ProveRecord(head.Size, index, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return l.readHashes(ctx, indexes)
	}))
	if err != nil {
		return Proof{}, fmt.Errorf("prove record %d: %w", index, err)
	}
	p := Proof{Index: index, Leaf: appendLeaf(nil, &found[0]), Hashes: make([][]byte, len(way)), Head: string(signed)}
	for i := range way {
		p.Hashes[i] = bytes.Clone(way[i][:])
	}
	return p, nil
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
	head, err := ParseHead([]byte(p.Head), publicKey)
	if err != nil {
		return Head{}, err
	}
	body, ok := bytes.CutPrefix(p.Leaf, []byte(leafTag))
	named := ok && len(body) >= 8 && binary.BigEndian.Uint64(body) == uint64(p.Index)
	if !named || p.Index < 0 || p.Index >= head.Size || len(p.Hashes) > maxProof {
		return Head{}, ErrProof
	}
	way := make(tlog.RecordProof, len(p.Hashes))
	for i, h := range p.Hashes {
		if len(h) != tlog.HashSize {
			return Head{}, ErrProof
		}
		copy(way[i][:], h)
	}
	if tlog.CheckRecord(way, head.Size, head.Root, p.Index, tlog.RecordHash(p.Leaf)) != nil {
		return Head{}, ErrProof
	}
	return head, nil
}
