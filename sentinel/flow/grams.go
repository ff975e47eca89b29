package flow

import (
	"encoding/binary"
	"math/bits"
)

// The lengths in bytes of the runs that are looked up: the least piece of a secret that
// counts, a part of a passage, and a passage.
const (
	gram       = 4
	minPart    = 10
	minPassage = 30
)

// gramSet knows each run of one length that stands in the pieces, and the piece that has it
// first. Two long runs may share a place by chance: then more counts, and never less.
type gramSet struct {
	size  int
	shift int
	keys  []uint32 // 0 is none
	first []int32
}

// newGramSet returns a set for so many runs at most.
func newGramSet(size, runs int) *gramSet {
	width := max(4, bits.Len(uint(2*runs)))
	return &gramSet{size: size, shift: 32 - width, keys: make([]uint32, 1<<width), first: make([]int32, 1<<width)}
}

// locate returns the key of the run at the beginning of b, and where it is looked for first.
// The key of a short run is the run itself.
func (g *gramSet) locate(b []byte) (key, slot uint32) {
	if g.size == gram {
		key = binary.LittleEndian.Uint32(b)
		return key, key * 2654435761 >> g.shift
	}
	var h uint64
	for i := 0; i+8 <= g.size; i += 8 {
		h = mixBits(h ^ binary.LittleEndian.Uint64(b[i:]))
	}
	h = mixBits(h ^ binary.LittleEndian.Uint64(b[g.size-8:]))
	return uint32(h>>32) | 1, uint32(h) >> g.shift //nolint:gosec // both halves are wanted
}

func mixBits(h uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// addPiece adds the runs of a piece.
func (g *gramSet) addPiece(text []byte, piece int) {
	mask := uint32(len(g.keys) - 1) //nolint:gosec // below 1<<32
	for i := 0; i+g.size <= len(text); i++ {
		key, slot := g.locate(text[i:])
		for ; g.keys[slot] != 0 && g.keys[slot] != key; slot = (slot + 1) & mask {
		}
		if g.keys[slot] == 0 {
			g.keys[slot], g.first[slot] = key, int32(piece) //nolint:gosec // pieces are fewer than bytes
		}
	}
}

// find returns the first piece that has the run at the beginning of b, plus one; 0 is none.
func (g *gramSet) find(b []byte) int32 {
	if len(b) < g.size {
		return 0
	}
	mask := uint32(len(g.keys) - 1) //nolint:gosec // below 1<<32
	key, slot := g.locate(b)
	for ; g.keys[slot] != 0; slot = (slot + 1) & mask {
		if g.keys[slot] == key {
			return g.first[slot] + 1
		}
	}
	return 0
}

// index finds runs in some pieces of what goes out: those in which a source's data counts. A set is
// made where it is needed.
type index struct {
	out      *outgoing
	skip     []bool // texts of this call that don't count; nil where all do
	from, to int    // among the pieces
	sets     map[int]*gramSet
	steps    *int
}

// setOf returns the set of runs of one length.
func (x *index) setOf(size int) *gramSet {
	if g := x.sets[size]; g != nil {
		return g
	}
	bytes := 0
	for _, p := range x.out.pieces[x.from:x.to] {
		bytes += int(p.to - p.from)
	}
	g := newGramSet(size, bytes)
	for i := x.from; i < x.to; i++ {
		if p := x.out.pieces[i]; x.hasPiece(p) {
			g.addPiece(x.out.buf[p.from:p.to], i)
		}
	}
	*x.steps -= bytes
	x.sets[size] = g
	return g
}

func (x *index) hasPiece(p piece) bool { return x.skip == nil || p.text < 0 || !x.skip[p.text] }
