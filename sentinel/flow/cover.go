package flow

import (
	"bytes"
	"slices"
	"sort"
)

// The least lengths in bytes of what is carried: of the letters in a passage that say
// something, and of a whole in parts.
const (
	minSaying = 24
	minUnited = 40
	minWords  = 4
	// enough of a long secret is as much as all of it.
	enough = 12
)

// cover says of each byte of a body whether it goes out.
type cover []uint8

const (
	inNow    = 1 << iota // in this call
	inBefore             // in those before
	inPart               // in a part of a passage, now or before
)

// mark marks so many bytes.
func (c cover) mark(from, to int, as uint8) {
	for i := from; i < to; i++ {
		c[i] |= as
	}
}

// search is one body of a source on its way.
type search struct {
	*finder
	s       *Source
	b       *body
	now     *index
	cover   cover // nil where nothing is shared
	figures map[string]int
}

// searchBody looks for the words and passages of a body in what goes out.
func (f *finder) searchBody(s *Source, b *body, now *index) {
	if len(b.tokens) == 0 {
		return
	}
	h := &search{f, s, b, now, nil, map[string]int{}}
	h.coverBody()
	for _, t := range slices.Concat(b.tokens, b.groups) {
		if t.weight == weak || t.weight == telling || t.weight == secret {
			h.searchToken(t)
		}
	}
	if len(h.figures) >= minFigures {
		for _, at := range h.figures {
			f.addAt(s, Figures, at, false)
		}
	}
	if s.Private && h.cover != nil {
		h.searchUnited()
	}
}

// minFigures is how many weak words of one result tell as much as one that is telling.
const minFigures = 3

// coverBody looks each run of a body up: the time is linear in the body.
func (h *search) coverBody() {
	now, before := h.now.setOf(gram), h.before.setOf(gram)
	if h.steps -= len(h.b.text); h.steps < 0 {
		h.report.Unread = true
		return
	}
	from, nowEnd, beforeEnd := -1, 0, 0
	for i := 0; i+gram <= len(h.b.text); i++ {
		run := h.b.text[i:]
		inThis, inOther := now.find(run) > 0, before.find(run) > 0
		if !inThis && !inOther {
			if from >= 0 {
				h.coverRun(from, i)
			}
			from = -1
			continue
		}
		if h.cover == nil {
			h.cover = make(cover, len(h.b.text))
		}
		if from < 0 {
			from = i
		}
		if inThis {
			h.cover.mark(max(i, nowEnd), i+gram, inNow)
			nowEnd = i + gram
		}
		if inOther {
			h.cover.mark(max(i, beforeEnd), i+gram, inBefore)
			beforeEnd = i + gram
		}
	}
	if from >= 0 {
		h.coverRun(from, len(h.b.text)-gram+1)
	}
}

// coverRun looks for parts and passages where one short run after the other goes out: they
// begin from one place on and before another.
func (h *search) coverRun(from, end int) {
	if !h.s.Private || end-from+gram-1 < minPart {
		return
	}
	text := h.b.text[:end+gram-1]
	now, before := h.now.setOf(minPart), h.before.setOf(minPart)
	for i, covered := from, from; i+minPart <= len(text); i++ {
		if now.find(text[i:]) > 0 || before.find(text[i:]) > 0 {
			h.cover.mark(max(i, covered), i+minPart, inPart)
			covered = i + minPart
		}
	}
	if len(text)-from < minPassage {
		return
	}
	passages, begin, at := h.now.setOf(minPassage), -1, 0
	for i := from; i <= len(text); i++ {
		piece := passages.find(text[i:])
		switch {
		case piece > 0 && begin < 0:
			begin, at = i, int(piece-1)
		case piece == 0 && begin >= 0:
			h.searchPassage(begin, i-1+minPassage, at, false)
			begin = -1
		}
	}
}

// searchToken reports a word of a body that goes out.
func (h *search) searchToken(t token) {
	size := int(t.to - t.from)
	plain := string(h.b.text[t.from:t.to])
	now, before, fresh := h.countCovered(t)
	at := -1                                                       // the piece isn't known yet
	if t.number != "" && size < minGrouped && t.weight != secret { // a short number is compared as a number
		piece, there := h.out.numberAt(t.number, h.now)
		if !there && t.weight == telling {
			piece, there = h.out.wordAt(plain, h.now)
		}
		if !there {
			return
		}
		now, at = size, piece
	}
	whole := now == size && size >= gram || now >= enough && now*4 >= size*3 || t.weight == secret && now >= enough
	united := !whole && fresh >= gram && before >= gram && before*5 < size*4 && isMost(before+fresh, size)
	if !whole && !united || h.isKnown(plain, t) {
		return
	}
	if at < 0 {
		at = h.pieceOf(t)
	}
	switch t.weight {
	case secret:
		h.addAt(h.s, Secret, at, united)
	case telling:
		h.addAt(h.s, Value, at, united)
	case weak:
		if whole {
			h.figures[plain] = at
		}
	case dull, word:
	}
}

// countCovered counts the bytes of a word that go out: in this call, in those before, and in
// this call alone.
func (h *search) countCovered(t token) (now, before, fresh int) {
	if h.cover == nil {
		return 0, 0, 0
	}
	for _, c := range h.cover[t.from:t.to] {
		switch {
		case c&(inNow|inBefore) == inNow|inBefore:
			now, before = now+1, before+1
		case c&inNow != 0:
			now, fresh = now+1, fresh+1
		case c&inBefore != 0:
			before++
		}
	}
	return now, before, fresh
}

// maxPieces is how many words of all results are looked for as a whole, to name the piece.
const maxPieces = 64

// pieceOf returns the piece that has a word, or else the last part of it.
func (h *search) pieceOf(t token) int {
	text := h.b.text[t.from:t.to]
	if h.pieces++; h.pieces <= maxPieces {
		for i := h.now.from; i < h.now.to && h.steps > 0; i++ {
			p := h.out.pieces[i]
			h.steps -= 1 + int(p.to-p.from)/8 //nolint:mnd // it is found faster than it is read
			if h.now.hasPiece(p) && bytes.Contains(h.out.buf[p.from:p.to], text) {
				return i
			}
		}
	}
	for i := len(text) - gram; i >= 0; i-- {
		if piece := h.now.setOf(gram).find(text[i:]); piece > 0 {
			return int(piece - 1)
		}
	}
	return h.now.from
}

// isMost reports whether so much of a word in pieces is enough of it.
func isMost(covered, size int) bool {
	return size >= 8 && (covered*5 >= size*4 || covered >= enough && covered*2 >= size)
}

func (f *finder) isKnown(plain string, t token) bool {
	if t.weight == secret {
		return f.asked.has(plain, t.number, &f.steps)
	}
	return f.isPublic(plain, t.number)
}

func (f *finder) isPublic(plain, number string) bool { return f.public.has(plain, number, &f.steps) }

// searchPassage reports a passage whose words say something that isn't known.
func (h *search) searchPassage(from, to, at int, united bool) {
	b, letters, words := h.b, 0, 0
	first := sort.Search(len(b.tokens), func(i int) bool { return int(b.tokens[i].from) >= from })
	for i := first; i < len(b.tokens) && int(b.tokens[i].from) < to; i++ {
		t := b.tokens[i]
		if int(t.to) > to || t.common || t.weight == dull {
			continue
		}
		plain := string(b.text[t.from:t.to])
		if !h.isPublic(plain, t.number) {
			letters += len(plain)
			words += 1 + len(plain)/minPassage // a script without blanks has long words
		}
	}
	if letters >= minSaying && words >= minWords {
		h.addAt(h.s, Words, at, united)
	}
}

// searchUnited looks for passages that this call completes.
func (h *search) searchUnited() {
	c := h.cover
	for i := 0; i < len(c); {
		if c[i]&inPart == 0 {
			i++
			continue
		}
		from, fresh, last := i, 0, 0
		for ; i < len(c) && c[i]&inPart != 0; i++ {
			if c[i]&(inNow|inBefore) == inNow {
				fresh, last = fresh+1, i
			}
		}
		if i-from >= minUnited && fresh >= minPart && fresh < i-from {
			h.searchPassage(from, i, h.pieceOf(token{from: int32(from), to: int32(last + 1)}), true) //nolint:gosec // a body is short
		}
	}
}
