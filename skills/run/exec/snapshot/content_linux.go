package snapshot

import (
	"context"
	"io"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"
)

// keptShare is the part of its old bytes, one half, below which an overwritten file counts as
// lost. Edits keep most of a text; what is encrypted keeps nothing.
const keptShare = 2

// The old content is compared as a whole up to wholeSize bytes. Of a longer one parts are
// compared, at places that a program can't know.
const (
	wholeSize = 4 << 20
	partSize  = 64 << 10
	partCount = wholeSize / partSize
)

// Content without blanks is cut after certain pairs of bytes, one in cutEvery. The cuts then
// move with the content. It is cut at wordSize bytes at the latest.
const (
	wordSize = 64
	cutEvery = 32
)

// endSize is how long a file may be that is also compared from both of its ends. One letter
// changes a file of one word as a whole.
const endSize = 4 << 10

// keepsLittle reports whether a new content has less than half of the old one. It compares the
// words of both, wherever they stand. Blanks and zeros don't count. An old content of nothing
// else has nothing to lose.
func keepsLittle(ctx context.Context, older io.ReaderAt, oldSize int64, newer io.ReaderAt, newSize int64) (bool, error) {
	words, total, err := countWords(ctx, older, oldSize)
	if err != nil || total == 0 {
		return false, err
	}
	if oldSize <= endSize && newSize <= endSize {
		same, err := countSameEnds(older, oldSize, newer, newSize)
		if err != nil || same*keptShare >= oldSize {
			return false, err
		}
	}
	var kept int64
	c := &wordCutter{ctx: ctx, yield: func(word uint64, size int64) {
		if words[word] >= size {
			words[word] -= size
			kept += size
		}
	}}
	if err := c.cutIntoWords(io.NewSectionReader(newer, 0, newSize)); err != nil {
		return false, err
	}
	return kept*keptShare < total, nil
}

// countWords returns how many bytes each word of a content takes, and all of them.
func countWords(ctx context.Context, r io.ReaderAt, size int64) (words map[uint64]int64, total int64, err error) {
	words = map[uint64]int64{}
	c := &wordCutter{ctx: ctx, yield: func(word uint64, n int64) {
		words[word] += n
		total += n
	}}
	if size <= wholeSize {
		return words, total, c.cutIntoWords(io.NewSectionReader(r, 0, size))
	}
	stretch := size / partCount
	for i := range int64(partCount) {
		at := i*stretch + rand.Int64N(stretch-partSize+1) //nolint:gosec // a guess gains a program one file
		if err := c.cutIntoWords(io.NewSectionReader(r, at, partSize)); err != nil {
			return nil, 0, err
		}
	}
	return words, total, nil
}

// wordCutter cuts a content into words.
type wordCutter struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one keepsLittle
	yield func(word uint64, size int64)
	hash  uint64
	size  int64
	last  byte
}

// The numbers of FNV-1a, which is quick for words.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

// cutIntoWords hands on all words of a reader. The last one ends with it.
func (c *wordCutter) cutIntoWords(r io.Reader) error {
	buf := make([]byte, 64<<10)
	c.hash, c.size = hashStart, 0
	for {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			if b <= ' ' && (b == 0 || b == ' ' || b >= '\t' && b <= '\r') {
				c.endWord()
				continue
			}
			c.hash = (c.hash ^ uint64(b)) * hashPrime
			if c.size++; c.size == wordSize || isWordEnd(c.last, b) {
				c.endWord()
			}
			c.last = b
		}
		if err == io.EOF {
			c.endWord()
			return nil
		}
		if err != nil {
			return withoutPath(err)
		}
	}
}

// isWordEnd reports whether a word ends after two bytes.
func isWordEnd(last, b byte) bool {
	return (uint32(last)<<8|uint32(b))*2654435761>>16%cutEvery == 0
}

func (c *wordCutter) endWord() {
	if c.size > 0 {
		c.yield(c.hash, c.size)
	}
	c.hash, c.size = hashStart, 0
}

// countSameEnds returns how many bytes two short contents have in common at their beginning and
// their end.
func countSameEnds(older io.ReaderAt, oldSize int64, newer io.ReaderAt, newSize int64) (int64, error) {
	a, err := io.ReadAll(io.NewSectionReader(older, 0, oldSize))
	if err != nil {
		return 0, withoutPath(err)
	}
	b, err := io.ReadAll(io.NewSectionReader(newer, 0, newSize))
	if err != nil {
		return 0, withoutPath(err)
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	same := n
	a, b = a[n:], b[n:]
	for n = 1; n <= min(len(a), len(b)) && a[len(a)-n] == b[len(b)-n]; n++ {
		same++
	}
	return int64(same), nil
}

// compareContents reports whether a changed file keeps little of what the root has.
func compareContents(ctx context.Context, lower, upper int, c Change) (bool, error) {
	older, err := openContent(lower, c.Path)
	if err != nil {
		return false, err
	}
	defer func() { _ = older.Close() }()
	newer, err := openContent(upper, c.Path)
	if err != nil {
		return false, err
	}
	defer func() { _ = newer.Close() }()
	return keepsLittle(ctx, older, c.WasSize, newer, c.Size)
}

// openContent opens a file below a folder for reading.
func openContent(top int, rel string) (*os.File, error) {
	fd, err := openBeneath(top, rel, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "file"), nil
}
