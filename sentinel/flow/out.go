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
	now    int // how many are of this call; they stand before the others
	limit  int
	reads  int  // bytes that may still be unescaped and decoded
	cut    bool // not all is in the pieces
	// Of this call alone: what its pieces were made of, and the words and numbers with the
	// piece that has them. Those are read where they are needed.
	saying         []saying
	words, numbers map[string][]int
}

// saying is the folded text that a piece was made of.
type saying struct {
	fold         string
	piece        int
	turned, back bool // in ROT13, backwards
	disguised    bool
}

func newOutgoing(in Input) *outgoing {
	o := &outgoing{limit: maxOut, reads: maxReads}
	for i, t := range in.Now.Texts {
		o.addText(t.Value, i)
	}
	o.now, o.limit, o.reads = len(o.pieces), len(o.buf)+maxBefore, o.reads+maxReads
	for i := len(in.Before) - 1; i >= 0; i-- { // the newest first, for the bound
		if b := in.Before[i]; b.sharesDestination(in.Now) {
			for _, t := range b.Texts {
				o.addText(t.Value, -1)
			}
		}
	}
	return o
}

// maxDeep is how often a text is decoded that was encoded again.
const maxDeep = 3

// addText adds every way to read a text.
func (o *outgoing) addText(value string, text int) {
	if room := max(0, (o.limit-len(o.buf))/ways); len(value) > room {
		value, o.cut = value[:room], true
	}
	seen := map[string]bool{}
	o.addReadings(value, text, false, maxDeep, seen)
	if strings.Contains(value, "+") { // a blank in a form
		o.addReadings(strings.ReplaceAll(value, "+", " "), text, false, maxDeep, seen)
	}
	if back := reverseText(value); len(value) >= minEncoded {
		for _, d := range decodeRuns(back) {
			o.addReadings(d, text, true, 0, seen)
		}
	}
}

// addReadings adds a text, what its escapes come to, and what is encoded in it.
func (o *outgoing) addReadings(value string, text int, disguised bool, deep int, seen map[string]bool) {
	if o.reads -= len(value); o.reads < 0 {
		o.cut = true
		return
	}
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

// ways is how often a text stands in the buffer: as it is, in ROT13, and both backwards.
const ways = 4

// addPlain adds one folded text: as it is, in ROT13, and both backwards.
func (o *outgoing) addPlain(fold string, text int, disguised bool) {
	if o.limit-len(o.buf) < ways*(len(fold)+1) {
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

// wordAt returns the first piece in which a word counts.
func (o *outgoing) wordAt(w string, x *index) (piece int, there bool) {
	if o.words == nil {
		o.words = map[string][]int{}
		for _, s := range o.saying {
			o.readWords(s)
		}
	}
	return o.firstOf(o.words[w], x)
}

// firstOf returns the first of the pieces that counts.
func (o *outgoing) firstOf(list []int, x *index) (piece int, there bool) {
	for _, i := range list {
		if *x.steps--; x.hasPiece(o.pieces[i]) {
			return i, *x.steps >= 0
		}
	}
	return 0, false
}

// addOfText adds a piece to a list that has none of the same text.
func (o *outgoing) addOfText(list []int, piece int) []int {
	if n := len(list); n > 0 && o.pieces[list[n-1]].text == o.pieces[piece].text {
		return list
	}
	return append(list, piece)
}

// readWords takes the words of a saying. Of one that is turned short words say nothing.
func (o *outgoing) readWords(s saying) {
	keep := func(w string) {
		if w != "" && (len(w) >= gram || !s.turned && !s.back) {
			o.words[w] = o.addOfText(o.words[w], s.piece)
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

// numberAt returns the first piece in which a number counts, however it is written.
func (o *outgoing) numberAt(digits string, x *index) (piece int, there bool) {
	if o.numbers == nil {
		o.numbers = map[string][]int{}
		for _, s := range o.saying {
			if s.disguised {
				continue
			}
			eachWord(s.fold, func(w string) {
				if d, ok := normalizeNumber(w); ok {
					o.numbers[d] = o.addOfText(o.numbers[d], s.piece)
				}
			})
		}
	}
	return o.firstOf(o.numbers[digits], x)
}
