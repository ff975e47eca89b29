package ledger

import "golang.org/x/mod/sumdb/tlog"

// edge is the right edge of a tree: the roots of the complete subtrees that it
// falls into. The largest is first, and there is one for each bit that is set in
// its size. It is all that is needed to append, so an append reads nothing.
type edge struct {
	size   int64
	hashes []tlog.Hash
}

// add appends a leaf hash and calls stored for every hash that becomes known. The
// order is that of tlog's storage: the leaf first, then the subtrees that it
// completes.
func (e *edge) add(leaf tlog.Hash, stored func(tlog.Hash)) {
	h := leaf
	stored(h)
	for m := e.size; m&1 == 1; m >>= 1 {
		last := len(e.hashes) - 1
		h = tlog.NodeHash(e.hashes[last], h)
		e.hashes = e.hashes[:last]
		stored(h)
	}
	e.hashes = append(e.hashes, h)
	e.size++
}

// computeRoot returns the hash of the tree; size must not be 0.
func (e *edge) computeRoot() tlog.Hash {
	last := len(e.hashes) - 1
	h := e.hashes[last]
	for i := last - 1; i >= 0; i-- {
		h = tlog.NodeHash(e.hashes[i], h)
	}
	return h
}

// copyTo makes dst equal to e without sharing memory.
func (e *edge) copyTo(dst *edge) {
	dst.size, dst.hashes = e.size, append(dst.hashes[:0], e.hashes...)
}

// listEdgeIndexes lists where tlog stores the hashes of the right edge of a tree of
// that size. The largest subtree is first.
func listEdgeIndexes(size int64) []int64 {
	var out []int64
	for level := 62; level >= 0; level-- {
		if size>>level&1 == 1 {
			out = append(out, tlog.StoredHashIndex(level, size>>level-1))
		}
	}
	return out
}
