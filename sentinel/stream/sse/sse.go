// Package sse reads server-sent events byte by byte and says which bytes of them may be forwarded.
//
// Readers of this format differ: at a lone carriage return, at several data lines, at comments
// with odd characters. So a Frame of the ordinary shape (one data line, perhaps an event line)
// keeps its bytes, and of every other shape Raw is written afresh from what the standard says
// that it means. No byte that another reader could take for a line of its own gets past.
//
// A Reader holds one frame at a time, of at most Max bytes. It has no clock and no goroutine.
//
// The package isn't stable: docs/api.md lists those that are.
package sse

import (
	"bytes"
	"errors"
)

// ErrTooLarge says that one frame is larger than the reader's bound.
var ErrTooLarge = errors.New("the frame of the event stream is larger than the bound; raise the bound or ask the upstream for less")

// DefaultMax bounds a frame where Reader.Max is zero.
const DefaultMax = 8 << 20

// Frame is one event, or one line between events. Its slices are good until the next call of Next or Feed.
type Frame struct {
	// Name is what the event line says; nil without one.
	Name []byte
	// Data is the data, lines joined with a line feed; nil for a comment or a blank line.
	Data []byte
	// Raw is what may be forwarded: the bytes as they came, or the same event in ordinary shape.
	Raw []byte
	// DataAt is where Raw holds Data.
	DataAt int
}

// Reader reads frames. Its zero value is ready.
type Reader struct {
	// Max bounds a frame; zero is DefaultMax.
	Max int

	buf     []byte
	start   int // of the block
	line    int // of the line that is being read
	scan    int // up to here no line ends
	begun   bool
	closed  bool
	block   block
	written []byte // room for Raw of odd frames
}

// block is what is known of the event that is being read. Places count from the block's start.
type block struct {
	fields   int
	odd      bool
	nameFrom int
	nameTo   int
	hasName  bool
	data     int // lines
	dataFrom int
	dataTo   int
	joined   []byte
}

// Feed takes the next bytes.
func (r *Reader) Feed(p []byte) {
	if r.start > 0 {
		n := copy(r.buf, r.buf[r.start:])
		r.buf = r.buf[:n]
		r.line -= r.start
		r.scan -= r.start
		r.start = 0
		if n == 0 && cap(r.buf) > 64<<10 {
			r.buf = nil
		}
	}
	r.buf = append(r.buf, p...)
}

// Close says that no more bytes come. An event whose blank line is missing counts as ended, as
// some clients read it; Next returns it.
func (r *Reader) Close() {
	if r.closed {
		return
	}
	r.closed = true
	if r.start < len(r.buf) {
		r.block.odd = true
		r.Feed([]byte("\n\n"))
	}
}

// Next returns the next frame; ok is false where more bytes are needed.
func (r *Reader) Next() (f Frame, ok bool, err error) {
	if !r.begun && !r.skipMark() {
		return Frame{}, false, nil
	}
	for {
		end, next := r.findLine()
		if next < 0 {
			if len(r.buf)-r.start > r.max() {
				return Frame{}, false, ErrTooLarge
			}
			return Frame{}, false, nil
		}
		if next-r.start > r.max() {
			return Frame{}, false, ErrTooLarge
		}
		line := r.buf[r.line:end]
		from := r.line
		r.line, r.scan = next, next
		if len(line) == 0 {
			if f, ok := r.endBlock(next); ok {
				return f, true, nil
			}
			continue
		}
		if line[0] == ':' {
			if f, ok := r.readComment(line, next); ok {
				return f, true, nil
			}
			continue
		}
		r.readField(line, from-r.start)
	}
}

func (r *Reader) max() int {
	if r.Max > 0 {
		return r.Max
	}
	return DefaultMax
}

// skipMark goes past a byte order mark. It reports false while it can't tell.
func (r *Reader) skipMark() bool {
	const mark = "\xef\xbb\xbf"
	n := min(len(r.buf), len(mark))
	if string(r.buf[:n]) == mark[:n] && n < len(mark) && !r.closed {
		return false
	}
	r.begun = true
	if n == len(mark) && string(r.buf[:n]) == mark {
		r.start, r.line, r.scan = n, n, n
	}
	return true
}

// findLine returns where the line's text ends and where the next line begins; next is -1 while
// the line's end hasn't come.
func (r *Reader) findLine() (end, next int) {
	rest := r.buf[r.scan:]
	feed := bytes.IndexByte(rest, '\n')
	before := rest
	if feed >= 0 {
		before = rest[:feed]
	}
	if cr := bytes.IndexByte(before, '\r'); cr >= 0 {
		at := r.scan + cr
		switch {
		case at+1 < len(r.buf) && r.buf[at+1] == '\n':
			return at, at + 2
		case at+1 < len(r.buf) || r.closed:
			r.block.odd = true
			return at, at + 1
		}
		r.scan = at // whether a line feed follows isn't known yet
		return 0, -1
	}
	if feed < 0 {
		r.scan = len(r.buf)
		return 0, -1
	}
	return r.scan + feed, r.scan + feed + 1
}

// readComment returns a comment between events as a frame of its own.
func (r *Reader) readComment(line []byte, next int) (Frame, bool) {
	if r.block.fields > 0 {
		r.block.odd = true // within an event: left out
		return Frame{}, false
	}
	raw := r.buf[r.start:next]
	lone := r.block.odd
	r.beginBlock(next)
	if lone || !isPlain(line) {
		return Frame{}, false
	}
	return Frame{Raw: raw}, true
}

// isPlain reports whether each reader takes the text for one line.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

func (r *Reader) readField(line []byte, at int) {
	b := &r.block
	b.fields++
	name, value, colon := bytes.Cut(line, []byte(":"))
	from := at + len(name) + 1
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
		from++
	}
	if !colon {
		from = at + len(line)
	}
	switch string(name) {
	case "data":
		if b.data++; b.data == 1 {
			b.dataFrom, b.dataTo = from, from+len(value)
			return
		}
		if b.data == 2 {
			b.joined = append(b.joined[:0], r.buf[r.start+b.dataFrom:r.start+b.dataTo]...)
		}
		b.joined = append(append(b.joined, '\n'), value...)
		b.odd = true
	case "event":
		b.odd = b.odd || b.hasName || !isPlain(value)
		b.hasName, b.nameFrom, b.nameTo = true, from, from+len(value)
	default:
		b.odd = true // id and retry break clients, the rest means nothing
	}
}

// beginBlock forgets the block that ended before at.
func (r *Reader) beginBlock(at int) {
	r.start = at
	r.block = block{joined: r.block.joined[:0]}
}

// endBlock returns the event that the blank line before next ends. One without data is dropped:
// clients fail on it. A blank line between events is a frame of its own.
func (r *Reader) endBlock(next int) (Frame, bool) {
	b, start := r.block, r.start
	defer r.beginBlock(next)
	if b.fields == 0 {
		if b.odd {
			return Frame{}, false
		}
		return Frame{Raw: r.buf[start:next]}, true
	}
	data := r.buf[start+b.dataFrom : start+b.dataTo]
	if b.data > 1 {
		data = b.joined
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return Frame{}, false
	}
	var name []byte
	if b.hasName {
		name = r.buf[start+b.nameFrom : start+b.nameTo]
	}
	if !b.odd {
		return Frame{Name: name, Data: data, Raw: r.buf[start:next], DataAt: b.dataFrom}, true
	}
	return r.writeFrame(name, data), true
}

// writeFrame gives an odd event its ordinary shape. A line feed between two parts of JSON is a
// blank; within a text it is no JSON, and the codec refuses that.
func (r *Reader) writeFrame(name, data []byte) Frame {
	out := r.written[:0]
	if len(name) > 0 && isPlain(name) {
		out = append(append(append(out, "event: "...), name...), '\n')
	} else {
		name = nil
	}
	out = append(out, "data: "...)
	at := len(out)
	for _, c := range data {
		if c == '\n' {
			c = ' '
		}
		out = append(out, c)
	}
	out = append(out, "\n\n"...)
	r.written = out
	// The data is judged with its line feeds: a blank in their place could make a text valid.
	return Frame{Name: name, Data: data, Raw: r.written, DataAt: at}
}
