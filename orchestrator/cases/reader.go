package cases

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/vedette-dev/vedette/internal/advice"
)

// MaxLine is the length of the longest line that is read, in bytes, without its
// end.
const MaxLine = 4 << 20

// Reader splits an input into lines. The last line needs no end, and a byte order
// mark before the first is passed over.
type Reader struct {
	r    *bufio.Reader
	line int
	buf  []byte
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// Line is the number of the line that Next returned, counted from 1.
func (r *Reader) Line() int { return r.line }

// Next returns the next line without its end; it is valid until the next call.
// The error is io.EOF after the last line, an *Error for a line longer than
// MaxLine, which is passed over so that Next goes on after it, or what the
// input returned.
func (r *Reader) Next() ([]byte, error) {
	r.buf = r.buf[:0]
	long, seen := false, false
	for {
		part, err := r.r.ReadSlice('\n')
		seen = seen || len(part) > 0
		end := len(part) > 0 && part[len(part)-1] == '\n'
		if end {
			part = part[:len(part)-1]
		}
		if long = long || len(r.buf)+len(part) > MaxLine; !long {
			r.buf = append(r.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case !seen:
			return nil, io.EOF
		}
		if r.line++; r.line == 1 {
			r.buf = bytes.TrimPrefix(r.buf, []byte("\xef\xbb\xbf")) // an editor's, and no part of the line
		}
		if long {
			return nil, &Error{CodeTooLong, fmt.Sprintf("the line is longer than %d bytes; shorten the case", MaxLine)}
		}
		return r.buf, nil
	}
}

// Open opens a file of cases. The error is an *advice.Error where the file is missing,
// hidden or a folder.
func Open(name string) (io.ReadCloser, error) {
	if err := advice.CheckReadable(name, "name a file of cases, or - for the standard input"); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	}
	return f, nil
}
