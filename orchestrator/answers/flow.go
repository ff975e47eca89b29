package answers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Flow is Defang for a text that comes in pieces. What its methods return, one after the
// other, is what Defang returns for the whole, however the text is cut into pieces: a
// piece is held back until nothing that may follow can change how it reads. A Flow is for
// one text and one goroutine.
//
// It holds back to the next white space where an address, a link or an escape may be under
// way, and to the next angle bracket within what may be a tag. Text of scripts without
// spaces flows at once.
type Flow struct {
	hosts hosts
	held  string
	next  int // how long held must be before it is read again
}

// The bounds of how often a text that is held back is read again: with each piece while it
// is short, then whenever it has grown by a quarter, so that the work stays linear.
const readEachPiece = 1 << 10

// NewFlow begins a text.
func NewFlow(o Options) *Flow { return &Flow{hosts: newHosts(o)} }

// Flow is NewFlow for an answer to the request.
func (a Allowed) Flow(request string) *Flow { return NewFlow(Options{Allow: a, Request: request}) }

// Write takes a piece, and returns what can be shown by now.
func (f *Flow) Write(piece string) string {
	f.held += piece
	if len(f.held) < f.next {
		return ""
	}
	d := &defanger{shadow: newShadow(f.held), hosts: f.hosts, target: -1}
	cut := d.findCut()
	if f.next = 0; len(f.held)-cut > readEachPiece {
		f.next = len(f.held) - cut + (len(f.held)-cut)/4
	}
	if cut == 0 {
		return ""
	}
	out := d.defangUntil(cut)
	f.held = f.held[cut:]
	return out
}

// Close ends the text, and returns the rest of it.
func (f *Flow) Close() string {
	out, _ := (&defanger{shadow: newShadow(f.held), hosts: f.hosts, target: -1}).defangText(f.held)
	f.held = ""
	return out
}

// defangUntil writes the text before a cut.
func (d *defanger) defangUntil(cut int) string {
	if len(d.at) > 0 {
		d.out.WriteString(d.src[:d.at[0]])
	}
	for i := 0; i < len(d.ch) && d.at[i] < cut; {
		i = d.onCharacter(i)
	}
	return d.out.String()
}

// findCut returns the last place before which the text reads the same whatever follows, and
// behind which it reads the same whatever was before. No reading of this package looks
// beyond white space, but for the white space behind "](" and "]:", and for tags. So a cut is
// before white space that is none of these; or before a character that is no part of any
// address, in a run without anything that begins one.
func (d *defanger) findCut() (cut int) {
	tag := false  // an angle bracket is open
	loud := false // the run since the last white space may be an address
	target := 0   // 2 behind "](" or "]:", 1 in what follows its white space
	for i, c := range d.ch {
		at := d.at[i]
		switch {
		case !tag && target != 2 && d.isSeparator(at):
			cut = at
		case !tag && target == 0 && !loud && i > 0 && d.isQuiet(i):
			cut = at
		}
		if isSpace(c) {
			if target == 1 {
				target = 0
			}
			loud = loud && d.src[at] >= utf8.RuneSelf // what is no separator ends no run here
			continue
		}
		if target == 2 {
			target = 1
		}
		tag = d.isTagOpen(i, tag)
		loud = loud || !isQuietASCII(c) || d.hasWord(i, "www.")
		if i > 0 && d.ch[i-1] == ']' && (c == '(' || c == ':') {
			target = 2
		}
	}
	return cut
}

// isSeparator reports whether a plain white space stands at a place of the text, and behind
// it a character that is neither invisible nor may become so.
func (d *defanger) isSeparator(at int) bool {
	if at+1 >= len(d.src) || !isPlainSpace(d.src[at]) {
		return false
	}
	next := d.src[at+1]
	return isPlainSpace(next) || next > ' ' && next < 0x7F && next != '&'
}

// isPlainSpace reports whether a byte is white space in every reading.
func isPlainSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// isQuiet reports whether character i is one that no address, link, tag or escape is made
// of, and that stands for itself.
func (d *defanger) isQuiet(i int) bool {
	c := d.ch[i]
	if c < utf8.RuneSelf || !unicode.IsLetter(c) {
		return false
	}
	r, n := utf8.DecodeRuneInString(d.src[d.at[i]:])
	return n > 1 && r == c && (i+1 < len(d.at) || d.at[i]+n == len(d.src))
}

// isQuietASCII reports whether a character, as it is read, begins or goes on with nothing
// that looks further than a letter beyond ASCII.
func isQuietASCII(c rune) bool {
	return c >= utf8.RuneSelf && c != utf8.RuneError || isLetter(c) || isDigit(c) || strings.ContainsRune(".,;!?\"'-", c)
}

// isTagOpen reports whether a tag may be open behind character i.
func (d *defanger) isTagOpen(i int, before bool) bool {
	raw := d.src[d.at[i]]
	switch {
	case d.ch[i] == '<':
		next := i + 1
		if d.isRune(next, '/') {
			next++
		}
		return next >= len(d.ch) || isLetter(d.ch[next])
	case raw == '<' || raw == '>':
		return false
	}
	return before
}
