package sentinel

import (
	"strings"
	"sync"
)

// pieces are the scalars and words of a Trace's arguments, of which an agent could
// have had a value put together. They are gathered once for a Trace, at the first
// value that needs them.
type pieces struct {
	once  sync.Once
	words map[string]int // the entry that has it first
	whole map[string]int // scalars alone
	full  bool
	// The first entries that have any piece, and one that is too long to be kept.
	first, long int
}

const (
	maxPiece    = 256     // bytes of the longest piece: a host's name has at most 253
	maxComposed = 1 << 10 // bytes of the longest value that is put together
	maxPieces   = 1 << 17 // beyond this many nothing is known of any value
)

func (p *pieces) gatherFrom(list []entry) {
	p.words, p.whole = map[string]int{}, map[string]int{}
	p.first, p.long = len(list), len(list)
	add := func(to map[string]int, s string, n int) {
		if s = keepLettersAndDigits(s); s == "" {
			return
		}
		p.first = min(p.first, n)
		if len(s) > maxPiece {
			p.long = min(p.long, n)
			return
		}
		if _, ok := to[s]; !ok {
			to[s] = n
		}
	}
	for n, e := range list {
		if len(e.step.Args) <= len("{}") {
			continue
		}
		for scalar := range strings.SplitSeq(e.step.Asked().text, "\n") {
			add(p.whole, scalar, n)
			add(p.words, scalar, n)
			for w := range strings.FieldsSeq(scalar) {
				add(p.words, w, n)
			}
		}
		if p.full = len(p.words) > maxPieces; p.full {
			return
		}
	}
}
