package sentinel

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// plainForm returns the RFC 8785 form of an object that is written plainly. Its keys are of
// ASCII, its texts have no escape, and its numbers are whole and of few digits. ok is false
// for every other text, also for one that is no JSON: the library reads those and says what
// is wrong. raw must be valid UTF-8. The form takes at most as many bytes as raw.
func plainForm(raw []byte) (text string, ok bool) {
	w := plainWriter{raw: raw, out: make([]byte, 0, len(raw))}
	w.skipBlanks()
	if !w.writeObject(1) {
		return "", false
	}
	if w.skipBlanks(); w.at != len(raw) {
		return "", false
	}
	return string(w.out), true
}

// maxPlainDigits is how many digits each reader keeps: the greatest number is below 2^53.
const maxPlainDigits = 15

// plainWriter reads raw from at on and writes the form to out.
type plainWriter struct {
	raw   []byte
	at    int
	out   []byte
	keys  int // of all objects so far
	moved int // bytes that sorting has moved
}

// maxMoved is how many times the text's length sorting may move. A hostile text is left to
// the library beyond that.
const maxMoved = 4

// member is the place of one key with its value in the form: the key's text ends at keyEnd.
type member struct{ start, keyEnd, end int }

// keyOf returns the text of a member's key.
func (w *plainWriter) keyOf(m member) []byte { return w.out[m.start+1 : m.keyEnd] }

func (w *plainWriter) skipBlanks() {
	for w.at < len(w.raw) && strings.IndexByte(" \t\r\n", w.raw[w.at]) >= 0 {
		w.at++
	}
}

// copyByte takes one byte if it is c.
func (w *plainWriter) copyByte(c byte) bool {
	if w.at >= len(w.raw) || w.raw[w.at] != c {
		return false
	}
	w.at++
	w.out = append(w.out, c)
	return true
}

func (w *plainWriter) writeValue(depth int) bool {
	if w.at >= len(w.raw) {
		return false
	}
	switch w.raw[w.at] {
	case '{':
		return w.writeObject(depth)
	case '[':
		return w.writeList(depth)
	case '"':
		return w.writeText()
	case 't':
		return w.writeWord("true")
	case 'f':
		return w.writeWord("false")
	case 'n':
		return w.writeWord("null")
	}
	return w.writeNumber()
}

func (w *plainWriter) writeWord(word string) bool {
	if len(w.raw)-w.at < len(word) || string(w.raw[w.at:w.at+len(word)]) != word {
		return false
	}
	w.at += len(word)
	w.out = append(w.out, word...)
	return true
}

// writeNumber takes a whole number that every writer spells alike.
func (w *plainWriter) writeNumber() bool {
	start := w.at
	minus := w.raw[w.at] == '-'
	if minus {
		w.at++
	}
	first := w.at
	for w.at < len(w.raw) && w.raw[w.at] >= '0' && w.raw[w.at] <= '9' {
		w.at++
	}
	n := w.at - first
	if n == 0 || n > maxPlainDigits || w.raw[first] == '0' && (n > 1 || minus) {
		return false
	}
	if w.at < len(w.raw) && strings.IndexByte(".eE", w.raw[w.at]) >= 0 {
		return false
	}
	w.out = append(w.out, w.raw[start:w.at]...)
	return true
}

// writeText takes a text without escapes: no byte of it is written in another way.
func (w *plainWriter) writeText() bool {
	start := w.at
	for i := start + 1; i < len(w.raw); i++ {
		switch c := w.raw[i]; {
		case c == '"':
			w.at = i + 1
			w.out = append(w.out, w.raw[start:w.at]...)
			return true
		case c < ' ' || c == '\\':
			return false
		}
	}
	return false
}

// writeKey takes a key of ASCII: those sort alike by bytes and by UTF-16.
func (w *plainWriter) writeKey() bool {
	if w.at >= len(w.raw) || w.raw[w.at] != '"' {
		return false
	}
	start := len(w.out)
	if !w.writeText() {
		return false
	}
	for _, c := range w.out[start:] {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (w *plainWriter) writeObject(depth int) bool {
	if depth > MaxDepth || !w.copyByte('{') {
		return false
	}
	if w.skipBlanks(); w.copyByte('}') {
		return true
	}
	first := len(w.out)
	var few [8]member // most objects have no more keys
	members, sorted := few[:0], true
	for {
		m := member{start: len(w.out)}
		if !w.writeKey() {
			return false
		}
		m.keyEnd = len(w.out) - 1
		if w.skipBlanks(); !w.copyByte(':') {
			return false
		}
		if w.skipBlanks(); !w.writeValue(depth + 1) {
			return false
		}
		m.end = len(w.out)
		if w.keys++; w.keys > MaxKeys {
			return false
		}
		sorted = sorted && (len(members) == 0 || bytes.Compare(w.keyOf(members[len(members)-1]), w.keyOf(m)) < 0)
		members = append(members, m)
		w.skipBlanks()
		if w.copyByte('}') {
			return sorted || w.sortMembers(first, members)
		}
		if !w.copyByte(',') {
			return false
		}
		w.skipBlanks()
	}
}

// sortMembers puts the members of the object whose form begins at first in order. It
// reports whether no key is there twice.
func (w *plainWriter) sortMembers(first int, members []member) bool {
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(w.keyOf(a), w.keyOf(b)) })
	if w.moved += len(w.out) - first; w.moved > maxMoved*len(w.raw) {
		return false
	}
	for i := range members[1:] {
		if bytes.Equal(w.keyOf(members[i]), w.keyOf(members[i+1])) {
			return false
		}
	}
	old := slices.Clone(w.out[first:])
	w.out = w.out[:first]
	for i, m := range members {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, old[m.start-first:m.end-first]...)
	}
	w.out = append(w.out, '}')
	return true
}

func (w *plainWriter) writeList(depth int) bool {
	if depth > MaxDepth || !w.copyByte('[') {
		return false
	}
	if w.skipBlanks(); w.copyByte(']') {
		return true
	}
	for {
		if w.skipBlanks(); !w.writeValue(depth + 1) {
			return false
		}
		w.skipBlanks()
		if w.copyByte(']') {
			return true
		}
		if !w.copyByte(',') {
			return false
		}
	}
}
