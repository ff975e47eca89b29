package flow

import (
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/sentinel"
)

// piece is one way to read one text that goes out.
type piece struct {
	from, to  int32
	text      int // its place among the texts of this call; of earlier calls -1
	disguised bool
}

// outgoing is all that this call and those before it send to one destination, as letters and
// digits, in every way to read it.
type outgoing struct {
	buf    []byte
	pieces []piece
	now    int // the bytes of this call stand before the others
	heads  []int32
	prev   []int32
	limit  int
	cut    bool
	// Of this call alone: the words and numbers with the piece that has them.
	words, numbers map[string]int
}

// gram is how many bytes are looked up at a time: the least piece of a secret that counts.
const gram = 4

const (
	headBits = 13
	noPlace  = -1
)

func newOutgoing(in Input) *outgoing {
	o := &outgoing{limit: maxOut, words: map[string]int{}, numbers: map[string]int{}}
	for i, t := range in.Now.Texts {
		o.addText(t.Value, i)
	}
	o.now = len(o.buf)
	o.limit = len(o.buf) + maxBefore
	for i := len(in.Before) - 1; i >= 0; i-- { // the newest first, for the bound
		if b := in.Before[i]; b.sharesDestination(in.Now) {
			for _, t := range b.Texts {
				o.addText(t.Value, -1)
			}
		}
	}
	o.index()
	return o
}

// addText adds every way to read a text.
func (o *outgoing) addText(value string, text int) {
	seen := map[string]bool{}
	o.addReadings(value, text, false, 2, seen)
	if strings.Contains(value, "+") { // a blank in a form
		o.addReadings(strings.ReplaceAll(value, "+", " "), text, false, 2, seen)
	}
	if back := reverseText(value); len(value) >= minEncoded {
		for _, d := range decodeRuns(back) {
			o.addReadings(d, text, true, 0, seen)
		}
	}
}

// addReadings adds a text, what its escapes come to, and what is encoded in it.
func (o *outgoing) addReadings(value string, text int, disguised bool, deep int, seen map[string]bool) {
	for _, r := range scrub.Readings(value) {
		fold := sentinel.FoldText(r)
		if seen[fold] {
			continue
		}
		seen[fold] = true
		o.addPlain(fold, text, disguised)
		o.addPlain(reverseText(fold), text, true)
		turned := rotate(fold)
		o.addPlain(turned, text, true)
		o.addPlain(reverseText(turned), text, true)
		for _, w := range unspell(fold) {
			o.addSpelled(w, text)
		}
		if deep > 0 {
			for _, d := range decodeRuns(r) {
				o.addReadings(d, text, true, deep-1, seen)
			}
		}
	}
}

// addPlain adds one folded text with its words.
func (o *outgoing) addPlain(fold string, text int, disguised bool) {
	if o.limit-len(o.buf) < len(fold) {
		o.cut = true
		return
	}
	from := len(o.buf)
	o.buf = appendPlain(o.buf, fold)
	o.pieces = append(o.pieces, piece{int32(from), int32(len(o.buf)), text, disguised})
	o.buf = append(o.buf, 0)
	if text < 0 {
		return
	}
	at := len(o.pieces) - 1
	eachWord(fold, func(w string) {
		if !disguised || len(w) >= gram {
			o.addWord(w, at, disguised)
		}
	})
}

// addSpelled adds what single letters come to. They stand in the text itself too; words of
// an alphabet don't.
func (o *outgoing) addSpelled(w string, text int) {
	if len(w) >= gram {
		o.addPlain(w, text, true)
		o.addPlain(reverseText(w), text, true)
	} else if text >= 0 && len(o.pieces) > 0 {
		o.addWord(w, len(o.pieces)-1, true)
	}
}

func (o *outgoing) addWord(w string, at int, disguised bool) {
	keep := func(to map[string]int, s string) {
		if _, there := to[s]; !there && s != "" {
			to[s] = at
		}
	}
	keep(o.words, string(appendPlain(nil, w)))
	for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return !isPlain(r) }) {
		keep(o.words, part)
	}
	if digits, ok := normalizeNumber(w); ok && !disguised {
		keep(o.numbers, digits)
	}
}

// index lists where each gram stands, the last place first.
func (o *outgoing) index() {
	o.heads = make([]int32, 1<<headBits)
	for i := range o.heads {
		o.heads[i] = noPlace
	}
	o.prev = make([]int32, len(o.buf))
	for i := len(o.buf) - gram; i >= 0; i-- {
		h := hashGram(o.buf[i:])
		o.prev[i], o.heads[h] = o.heads[h], int32(i)
	}
}

func hashGram(b []byte) uint32 {
	v := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	return v * 2654435761 >> (32 - headBits)
}

// match is what of a body stands in what goes out.
type match struct {
	length int
	at     int32 // in the buffer
}

// maxPlaces is how many places of a gram are compared.
const maxPlaces = 16

// matchAt returns the longest matches at the beginning of b: in this call, and in those
// before it. It takes what it compares from the budget.
func (o *outgoing) matchAt(b []byte, budget *int) (now, before match) {
	if b[0] == 0 {
		return now, before
	}
	tries := 0
	for p := o.heads[hashGram(b)]; p >= 0 && tries < maxPlaces; p = o.prev[p] {
		tries++
		n := 0
		for n < len(b) && int(p)+n < len(o.buf) && b[n] == o.buf[int(p)+n] && b[n] != 0 {
			n++
		}
		if into := &before; n >= gram {
			if int(p) < o.now {
				into = &now
			}
			if n > into.length {
				*into = match{n, p}
			}
		}
	}
	*budget -= tries
	return now, before
}

// pieceAt returns the piece that a place of the buffer is in.
func (o *outgoing) pieceAt(at int32) int {
	lo, hi := 0, len(o.pieces)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; o.pieces[mid].from <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
