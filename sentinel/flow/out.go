package flow

import (
	"slices"
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
	// Of this call alone: what its pieces were made of, and the words and numbers with the
	// piece that has them. Those are read where they are needed.
	saying         []saying
	words, numbers map[string]int
}

// saying is the folded text that a piece was made of.
type saying struct {
	fold         string
	piece        int
	turned, back bool // in ROT13, backwards
	disguised    bool
}

// gram is how many bytes are looked up at a time: the least piece of a secret that counts.
const gram = 4

const (
	headBits = 13
	noPlace  = -1
)

func newOutgoing(in Input) *outgoing {
	o := &outgoing{limit: maxOut}
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

// addPlain adds one folded text: as it is, in ROT13, and both backwards.
func (o *outgoing) addPlain(fold string, text int, disguised bool) {
	if o.limit-len(o.buf) < 4*(len(fold)+1) {
		o.cut = true
		return
	}
	from := len(o.buf)
	o.buf = appendPlain(o.buf, fold)
	plain := o.buf[from:]
	o.closePiece(from, text, saying{fold: fold, disguised: disguised})
	o.buf = append(o.buf, plain...)
	reverseRunes(o.buf[len(o.buf)-len(plain):])
	o.closePiece(len(o.buf)-len(plain), text, saying{fold: fold, disguised: true, back: true})
	for _, back := range []bool{false, true} {
		at := len(o.buf)
		o.buf = append(o.buf, plain...)
		turned := o.buf[at:]
		for i, c := range turned {
			if c >= 'a' && c <= 'z' {
				turned[i] = 'a' + (c-'a'+13)%26
			}
		}
		if back {
			reverseRunes(turned)
		}
		o.closePiece(at, text, saying{fold: fold, disguised: true, turned: true, back: back})
	}
}

// closePiece ends the piece that begins at a place of the buffer.
func (o *outgoing) closePiece(from, text int, s saying) {
	o.pieces = append(o.pieces, piece{int32(from), int32(len(o.buf)), text, s.disguised})
	o.buf = append(o.buf, 0)
	if text >= 0 {
		s.piece = len(o.pieces) - 1
		o.saying = append(o.saying, s)
	}
}

// reverseRunes turns a text round, its bytes first and then those of each character back.
func reverseRunes(b []byte) {
	slices.Reverse(b)
	for i := 0; i < len(b); i++ {
		j := i
		for j < len(b) && b[j] >= 0x80 && b[j] < 0xc0 { // the tail of a character
			j++
		}
		if j > i && j < len(b) {
			slices.Reverse(b[i : j+1])
			i = j
		}
	}
}

// addSpelled adds what single letters come to. They stand in the text itself too; words of
// an alphabet don't.
func (o *outgoing) addSpelled(w string, text int) {
	if len(w) >= gram {
		o.addPlain(w, text, true)
	} else if text >= 0 && len(o.pieces) > 0 {
		o.saying = append(o.saying, saying{fold: w, piece: len(o.pieces) - 1, disguised: true})
	}
}

// wordAt returns the piece of this call that has a word.
func (o *outgoing) wordAt(w string) (piece int, there bool) {
	if o.words == nil {
		o.words = map[string]int{}
		for _, s := range o.saying {
			o.readWords(s)
		}
	}
	piece, there = o.words[w]
	return piece, there
}

// readWords takes the words of a saying. Of one that is turned short words say nothing.
func (o *outgoing) readWords(s saying) {
	keep := func(w string) {
		if _, there := o.words[w]; !there && w != "" && (len(w) >= gram || !s.turned && !s.back) {
			o.words[w] = s.piece
		}
	}
	fold := s.fold
	if s.turned {
		fold = rotate(fold)
	}
	if s.back {
		fold = reverseText(fold)
	}
	eachWord(fold, func(w string) {
		plain := string(appendPlain(nil, w))
		if keep(plain); len(plain) == len(w) {
			return
		}
		for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return !isPlain(r) }) {
			keep(part)
		}
	})
}

// numberAt returns the piece of this call that has a number, however it is written.
func (o *outgoing) numberAt(digits string) (piece int, there bool) {
	if o.numbers == nil {
		o.numbers = map[string]int{}
		for _, s := range o.saying {
			if s.disguised {
				continue
			}
			eachWord(s.fold, func(w string) {
				if d, ok := normalizeNumber(w); ok {
					if _, there := o.numbers[d]; !there {
						o.numbers[d] = s.piece
					}
				}
			})
		}
	}
	piece, there = o.numbers[digits]
	return piece, there
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

// maxPassed is how many places are passed over at most that don't count.
const maxPassed = 64

// matchAt returns the longest matches at the beginning of b: in the counted pieces of this
// call, and in those before it. It takes what it compares from the budget. cut is set where
// places that don't count are too many to look behind.
func (o *outgoing) matchAt(b []byte, counted []bool, budget *int) (now, before match, cut bool) {
	if b[0] == 0 {
		return now, before, false
	}
	tries, passed := 0, 0
	for p := o.heads[hashGram(b)]; p >= 0 && tries < maxPlaces; p = o.prev[p] {
		if int(p) < o.now && !counted[o.pieceAt(p)] {
			if passed++; passed > maxPassed {
				cut = true
				break
			}
			continue
		}
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
	*budget -= tries + passed
	return now, before, cut
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
