package email

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// The bounds of headers. They hold before anything parses them: the parsers keep
// every line, and some take a time that grows with the square of a line.
const (
	maxHeaderLines  = 4000     // of the message itself; maxHeader bounds its bytes
	maxPartHeader   = 64 << 10 // bytes of one part
	maxPartLines    = 500      // lines of one part
	maxPartsHeaders = 1 << 20  // bytes of all parts together
)

var errHeaderTooLarge = errors.New("the header is too large")

// boundedReader passes a message on with headers that are bounded, and ends with its
// context. A block of lines may be a part's header where its first begins with
// "--", as every boundary does; which of them are boundaries only a parser knows.
// A block beyond the bounds is ended by an empty line, so the rest of it is text.
type boundedReader struct {
	ctx  context.Context //nolint:containedctx // it ends with the message that it reads
	r    *bufio.Reader
	rest []byte // what was passed and not yet taken
	err  error

	inBlock     bool // within the message's header, or what may be a part's
	top         bool // within the message's header
	midLine     bool
	bytes       int
	lines       int
	spent       int // bytes of all parts' headers
	cut         bool
	replacement []byte
}

func newBoundedReader(ctx context.Context, r io.Reader) *boundedReader {
	return &boundedReader{ctx: ctx, r: bufio.NewReaderSize(r, 16<<10), inBlock: true, top: true}
}

// Read returns errHeaderTooLarge where the message's own header is beyond its
// bounds.
func (b *boundedReader) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.err = b.ctx.Err(); b.err != nil {
			return 0, b.err
		}
		b.readLine()
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// readLine takes a line, or as much of a long one as the buffer holds.
func (b *boundedReader) readLine() {
	piece, err := b.r.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		b.err = err
	}
	if len(piece) == 0 {
		return
	}
	if !b.midLine {
		b.beginLine(piece)
	}
	ended := piece[len(piece)-1] == '\n'
	if b.inBlock && b.isBeyond(len(piece)) {
		b.breakOff(piece)
	} else {
		b.rest = piece
	}
	b.midLine = !ended
}

// beginLine looks at the beginning of a line.
func (b *boundedReader) beginLine(piece []byte) {
	switch {
	case b.inBlock && len(bytes.TrimRight(piece, "\r\n")) == 0 && piece[len(piece)-1] == '\n':
		b.inBlock, b.top = false, false
	case b.inBlock:
		b.lines++
	case bytes.HasPrefix(piece, []byte("--")):
		b.inBlock, b.bytes, b.lines = true, 0, 0
	}
}

// isBeyond counts n more bytes of a block, and reports whether they are too many.
func (b *boundedReader) isBeyond(n int) bool {
	b.bytes += n
	if b.top {
		return b.bytes > maxHeader || b.lines > maxHeaderLines
	}
	b.spent += n
	return b.bytes > maxPartHeader || b.lines > maxPartLines || b.spent > maxPartsHeaders
}

// breakOff ends a block before piece.
func (b *boundedReader) breakOff(piece []byte) {
	if b.top {
		b.err = errHeaderTooLarge
		return
	}
	b.inBlock, b.cut = false, true
	b.replacement = b.replacement[:0]
	if b.midLine {
		b.replacement = append(b.replacement, "\r\n"...)
	}
	if b.lines > 0 || b.midLine {
		b.replacement = append(b.replacement, "\r\n"...)
		b.replacement = append(b.replacement, piece...)
	} else {
		// The line that opened the block goes first.
		b.replacement = append(b.replacement, piece...)
		b.replacement = append(b.replacement, "\r\n"...)
	}
	b.rest = b.replacement
}
