package flow

import (
	"slices"
	"sort"
)

// The least lengths in bytes of what is carried: of a passage, of the letters in it that say
// something, of a part of it that counts together with others, and of a whole in parts.
const (
	minPassage = 30
	minSaying  = 24
	minPart    = 10
	minUnited  = 40
	minWords   = 4
	// enough of a long secret is as much as all of it.
	enough = 12
	// farEnough is how long a match is from which on the next places aren't tried.
	farEnough = 32
)

// cover says of each byte of a body whether it goes out.
type cover struct {
	now    []int32 // the piece that has it, plus one
	before []bool
	parts  []bool // it is in a part of a passage, now or before
}

// searchBody looks for the words and passages of a body in what goes out.
func (f *finder) searchBody(s *Source, b *body, own map[int]bool) {
	if len(b.tokens) == 0 {
		return
	}
	c := f.coverBody(s, b, own)
	figures := map[string]int{}
	for _, t := range slices.Concat(b.tokens, b.groups) {
		if t.weight == weak || t.weight == telling || t.weight == secret {
			f.searchToken(s, b, t, c, own, figures)
		}
	}
	if len(figures) >= minFigures {
		for _, at := range figures {
			f.addAt(s, Figures, at, false)
		}
	}
	if s.Private && c != nil {
		f.searchUnited(s, b, c)
	}
}

// minFigures is how many weak words of one result tell as much as one that is telling.
const minFigures = 3

// coverBody compares a body with what goes out; nil where they share nothing.
func (f *finder) coverBody(s *Source, b *body, own map[int]bool) *cover {
	var c *cover
	counted := f.countedPieces(s, b, own)
	nowEnd, beforeEnd := 0, 0
	for i := 0; i+gram <= len(b.text); {
		if f.budget < 0 {
			f.report.Unread = true
			return c
		}
		now, before, cut := f.out.matchAt(b.text[i:], counted, &f.budget)
		f.report.Unread = f.report.Unread || cut
		if now.length == 0 && before.length == 0 {
			i++
			continue
		}
		if c == nil {
			c = &cover{make([]int32, len(b.text)), make([]bool, len(b.text)), make([]bool, len(b.text))}
		}
		at := int32(f.out.pieceAt(now.at) + 1)
		for k := max(i, nowEnd); k < i+now.length; k++ {
			c.now[k] = at
		}
		for k := max(i, beforeEnd); k < i+before.length; k++ {
			c.before[k] = true
		}
		longest := max(now.length, before.length)
		if longest >= minPart {
			for k := i; k < i+longest; k++ {
				c.parts[k] = true
			}
		}
		if now.length >= minPassage && i+now.length > nowEnd {
			f.searchPassage(s, b, i, i+now.length, int(at)-1, false)
		}
		nowEnd, beforeEnd = max(nowEnd, i+now.length), max(beforeEnd, i+before.length)
		if i++; longest >= farEnough {
			i += longest - gram
		}
	}
	return c
}

// countedPieces says of each piece whether it is of a text in which the source's data is
// carried out. Others are compared with nothing, so that none hides one that counts.
func (f *finder) countedPieces(s *Source, b *body, own map[int]bool) []bool {
	out := make([]bool, len(f.out.pieces))
	for i, p := range f.out.pieces {
		if int(p.from) >= f.out.now { // of an earlier call
			break
		}
		out[i] = !own[p.text] && f.counts(s, p.text, b.tokens[0].weight == secret)
	}
	return out
}

// searchToken reports a word of a body that goes out.
func (f *finder) searchToken(s *Source, b *body, t token, c *cover, own map[int]bool, figures map[string]int) {
	now, before, fresh, at := 0, 0, 0, 0
	for i := t.from; c != nil && i < t.to; i++ {
		if c.now[i] > 0 {
			now, at = now+1, int(c.now[i])
			if !c.before[i] {
				fresh++
			}
		}
		if c.before[i] {
			before++
		}
	}
	size := int(t.to - t.from)
	plain := string(b.text[t.from:t.to])
	if t.number != "" && size < minGrouped && t.weight != secret { // a short number is compared as a number
		piece, there := f.out.numberAt(t.number)
		if !there && t.weight == telling {
			piece, there = f.out.wordAt(plain)
		}
		if !there || own[f.out.pieces[piece].text] || !f.counts(s, f.out.pieces[piece].text, false) {
			return
		}
		now, at = size, piece+1
	}
	whole := now == size && size >= gram || now >= enough && now*4 >= size*3 || t.weight == secret && now >= enough
	united := !whole && fresh >= gram && before >= gram && before*5 < size*4 && isMost(before+fresh, size)
	if !whole && !united || f.isKnown(plain, t) {
		return
	}
	switch t.weight {
	case secret:
		f.addAt(s, Secret, at-1, united)
	case telling:
		f.addAt(s, Value, at-1, united)
	case weak:
		if whole {
			figures[plain] = at - 1
		}
	case dull, word:
	}
}

// isMost reports whether so much of a word in pieces is enough of it.
func isMost(covered, size int) bool {
	return size >= 8 && (covered*5 >= size*4 || covered >= enough && covered*2 >= size)
}

func (f *finder) isKnown(plain string, t token) bool {
	if t.weight == secret {
		return f.asked.has(plain, t.number)
	}
	return f.public.has(plain, t.number)
}

// searchPassage reports a passage whose words say something that isn't known.
func (f *finder) searchPassage(s *Source, b *body, from, to, at int, united bool) {
	if !s.Private {
		return
	}
	letters, words := 0, 0
	first := sort.Search(len(b.tokens), func(i int) bool { return int(b.tokens[i].from) >= from })
	for i := first; i < len(b.tokens) && int(b.tokens[i].from) < to; i++ {
		t := b.tokens[i]
		if int(t.from) < from || int(t.to) > to || t.common || t.weight == dull {
			continue
		}
		plain := string(b.text[t.from:t.to])
		if !f.public.has(plain, t.number) {
			letters += len(plain)
			words += 1 + len(plain)/minPassage // a script without blanks has long words
		}
	}
	if letters >= minSaying && words >= minWords {
		f.addAt(s, Words, at, united)
	}
}

// searchUnited looks for passages that this call completes.
func (f *finder) searchUnited(s *Source, b *body, c *cover) {
	for i := 0; i < len(c.parts); {
		if !c.parts[i] {
			i++
			continue
		}
		from, fresh, at := i, 0, 0
		for ; i < len(c.parts) && c.parts[i]; i++ {
			if c.now[i] > 0 && !c.before[i] {
				fresh, at = fresh+1, int(c.now[i])
			}
		}
		if i-from >= minUnited && fresh >= minPart && fresh < i-from {
			f.searchPassage(s, b, from, i, at-1, true)
		}
	}
}
