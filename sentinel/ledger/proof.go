package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrProof is returned by CheckProof for a proof that doesn't hold.
var ErrProof = errors.New("the proof does not hold")

// maxProof is more hashes than any proof has: the height of a tree of 2^63 records.
const maxProof = 63

// Proof shows that one record is in the ledger under a signed head. Who holds the public key
// checks it without the database: see CheckProof.
type Proof struct {
	// Index is the record's place, counted from 0. Base is the place of the first record of its file: in the file's
	// tree it is the leaf Index-Base.
	Index int64 `json:"index"`
	Base  int64 `json:"base,omitempty"`
	// Leaf is the record as it was hashed: see Entry for its fields, and appendLeaf for their order.
	Leaf []byte `json:"leaf"`
	// Hashes are the neighbours on the way from the record to the root.
	Hashes [][]byte `json:"hashes"`
	// Head is the signed head under whose root the record is.
	Head string `json:"head"`
	// Keys prove how each key of the ledger handed over to the next, the oldest first; absent where there was one.
	Keys []Proof `json:"keys,omitempty"`
}

// ProveRecord is Ledger.Prove beside the process that writes. The heads are those of the key, or of one that is
// linked to it. The errors are those of ParseHead too.
func (r *Reader) ProveRecord(ctx context.Context, publicKey string, index int64) (Proof, error) {
	p, err := r.partOf(ctx, index)
	if err != nil {
		return Proof{}, err
	}
	signed, err := p.newestHead(ctx)
	if err != nil {
		return Proof{}, err
	}
	ring, keys, err := r.readKeyring(ctx, publicKey)
	if err != nil {
		return Proof{}, err
	}
	head, err := ring.ParseHead(signed)
	if err != nil {
		return Proof{}, err
	}
	out, err := p.prove(ctx, signed, head, index)
	out.Keys = keys
	return out, err
}

// prove proves a record of the file under a head of the file.
func (p part) prove(ctx context.Context, signed []byte, head Head, index int64) (Proof, error) {
	at := index - p.base
	if at < 0 || at >= head.Size {
		return Proof{}, ErrNotFound
	}
	found, err := p.readRecords(ctx, " WHERE idx = ?", index)
	if err != nil {
		return Proof{}, err
	}
	if len(found) != 1 {
		return Proof{}, fmt.Errorf("%w: record %d is missing", ErrTampered, index)
	}
	way, err := tlog.ProveRecord(head.Size, at, p.hashReader(ctx))
	if err != nil {
		return Proof{}, fmt.Errorf("prove record %d: %w", index, err)
	}
	return Proof{Index: index, Base: p.base, Leaf: appendLeaf(nil, &found[0]), Hashes: hashBytes(way), Head: string(signed)}, nil
}

// hashReader reads the stored tree for package tlog.
func (p part) hashReader(ctx context.Context) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) { return p.readHashes(ctx, indexes) })
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
	// Newer is the newest head of all; where Then is set it is that of the last file.
	Newer string `json:"newer"`
	// Hashes are the hashes of subtrees from which both roots can be computed: those of the older head and of the newer,
	// or of the head with which the older one's file ends.
	Hashes [][]byte `json:"hashes"`
	// Then are the first records of the files that went on since the older head. Each says with which head the file before
	// it ended, and stands under the head with which its own ends, the last under Newer.
	Then []Proof `json:"then,omitempty"`
	// Keys are those of Proof.
	Keys []Proof `json:"keys,omitempty"`
}

// ProveConsistency returns a proof that the newer of two signed heads of the key goes on from the older.
// ErrNotFound: the newer one is the smaller, or a file between them isn't there. ErrTampered: the stored tree has
// holes. Of a ledger that was changed it returns a proof that doesn't hold.
func (r *Reader) ProveConsistency(ctx context.Context, older, newer []byte, publicKey string) (c Consistency, err error) {
	ring, keys, err := r.readKeyring(ctx, publicKey)
	if err != nil {
		return c, err
	}
	from, err := ring.ParseHead(older)
	if err != nil {
		return c, err
	}
	to, err := ring.ParseHead(newer)
	if err != nil {
		return c, err
	}
	c = Consistency{Older: string(older), Newer: string(newer), Keys: keys}
	end := to
	if from.Origin != to.Origin {
		if c.Then, end, err = r.proveLaterFiles(ctx, from, newer, to); err != nil {
			return Consistency{}, err
		}
	}
	if from.Size > end.Size {
		return Consistency{}, ErrNotFound
	}
	p, err := r.partSigned(ctx, from.Origin)
	if err != nil {
		return Consistency{}, err
	}
	way, err := tlog.ProveTree(end.Size, from.Size, p.hashReader(ctx))
	if err != nil {
		return Consistency{}, fmt.Errorf("prove %d records to be among %d: %w", from.Size, end.Size, err)
	}
	c.Hashes = hashBytes(way)
	return c, nil
}

// proveLaterFiles proves the first records of all files behind that of an older head, up to the one of the newer. It
// returns the head with which the older one's file ended.
func (r *Reader) proveLaterFiles(ctx context.Context, older Head, newer []byte, to Head) (then []Proof, end Head, err error) {
	last, err := r.partSigned(ctx, to.Origin)
	if err != nil {
		return nil, end, err
	}
	signed, head := newer, to
	for p := last; ; {
		proof, err := p.prove(ctx, signed, head, p.base)
		if err != nil {
			return nil, end, err
		}
		then = append([]Proof{proof}, then...)
		rec, _ := ParseLeaf(proof.Leaf) // it was encoded just now
		b, ok := readContinued(&rec)
		if !ok {
			return nil, end, ErrNotFound
		}
		signed = []byte(b.last().Head)
		if head, err = PeekHead(signed); err != nil {
			return nil, end, ErrNotFound
		}
		if head.Origin == older.Origin {
			return then, head, nil
		}
		if p, err = r.partSigned(ctx, head.Origin); err != nil {
			return nil, end, err
		}
	}
}

// ProveGrowth returns the hashes that prove the first records to be among those of a head, as package tlog and C2SP's
// tlog-witness have them. There are none from 0 on, and none to the same size. Sizes are those of one file.
func (r *Reader) ProveGrowth(ctx context.Context, from int64, to Head) ([]tlog.Hash, error) {
	switch {
	case from > to.Size || from < 0:
		return nil, ErrNotFound
	case from == 0 || from == to.Size:
		return nil, nil
	}
	p, err := r.partSigned(ctx, to.Origin)
	if err != nil {
		return nil, err
	}
	way, err := tlog.ProveTree(to.Size, from, p.hashReader(ctx))
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
	end, err := checkLaterFiles(ring, c, older, newer)
	if err != nil {
		return Head{}, Head{}, err
	}
	way, ok := readWay(c.Hashes)
	if !ok || older.Size > end.Size || older.Size < 1 ||
		tlog.CheckTree(tlog.TreeProof(way), end.Size, end.Root, older.Size, older.Root) != nil {
		return Head{}, Head{}, ErrProof
	}
	return older, newer, nil
}

// checkLaterFiles follows the files from that of the newer head back to that of the older, and returns the head with
// which the older one's file ended.
func checkLaterFiles(ring *Keyring, c Consistency, older, newer Head) (end Head, err error) {
	end = newer
	signed := c.Newer
	for _, p := range slices.Backward(c.Then) {
		if p.Head != signed || p.Index != p.Base || checkInclusion(p, end) != nil {
			return end, ErrProof
		}
		rec, err := ParseLeaf(p.Leaf)
		if err != nil {
			return end, ErrProof
		}
		b, ok := readContinued(&rec)
		if !ok {
			return end, ErrProof
		}
		signed = b.last().Head
		if end, err = ring.ParseHead([]byte(signed)); err != nil {
			return end, err
		}
	}
	if end.Origin != older.Origin {
		return end, ErrProof
	}
	return end, nil
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

// readHashes reads hashes of the tree by tlog's indexes. Neighbours lie in one row.
func (p part) readHashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	var first int64
	var hashes []byte
	for i, index := range indexes {
		at := (index - first) * tlog.HashSize
		if at < 0 || at+tlog.HashSize > int64(len(hashes)) {
			err := p.r.QueryRow(ctx, sqlHash, index).Scan(&first, &hashes)
			at = (index - first) * tlog.HashSize
			switch {
			case errors.Is(err, sql.ErrNoRows) || err == nil && at+tlog.HashSize > int64(len(hashes)):
				return nil, fmt.Errorf("%w: hash %d of the tree is missing", ErrTampered, index)
			case err != nil:
				return nil, fmt.Errorf("read tree: %w", err)
			}
		}
		copy(out[i][:], hashes[at:])
	}
	return out, nil
}

// ReadTile returns a tile of the tree under a head, as C2SP's tlog-tiles has it: up to 256 hashes of one level.
func (r *Reader) ReadTile(ctx context.Context, of Head, t tlog.Tile) ([]byte, error) {
	p, err := r.partSigned(ctx, of.Origin)
	if err != nil {
		return nil, err
	}
	data, err := tlog.ReadTileData(t, p.hashReader(ctx))
	if err != nil {
		return nil, fmt.Errorf("read tile %s: %w", t.Path(), err)
	}
	return data, nil
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
	at := p.Index - p.Base
	if !named || p.Base < 0 || at < 0 || at >= head.Size || len(p.Hashes) > maxProof {
		return ErrProof
	}
	way, ok := readWay(p.Hashes)
	if !ok || tlog.CheckRecord(tlog.RecordProof(way), head.Size, head.Root, at, tlog.RecordHash(p.Leaf)) != nil {
		return ErrProof
	}
	return nil
}
