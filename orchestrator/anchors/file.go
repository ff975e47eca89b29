package anchors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// maxRead is how much of a place's heads is read, from the end of a file.
const maxRead = 8 << 20

// file appends heads to a file.
type file struct{ path string }

// NewFile returns a place that appends heads to a file, which is made with mode 0600 where it is missing. It is
// only ever appended to, so its folder or the file system may forbid all else (chattr +a, a WORM share).
func NewFile(path string) Place { return &file{path} }

// Kind implements Place.
func (*file) Kind() string { return "file" }

// Put implements Place. The empty lines before a head part it from one whose writing was cut off.
func (p *file) Put(_ context.Context, h Kept) error { return appendHead(p.path, h.Signed) }

func appendHead(path string, signed []byte) (err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the file of heads can't be opened: %w", plainCause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(append([]byte("\n\n"), signed...)); err != nil {
		return fmt.Errorf("the file of heads can't be written: %w", plainCause(err))
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("the file of heads can't be written: %w", plainCause(err))
	}
	return nil
}

// Read implements Place. A file that isn't there has no head.
func (p *file) Read(context.Context) (_ [][]byte, err error) {
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the file of heads can't be read: %w", plainCause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the file of heads can't be read: %w", plainCause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("the file of heads is no regular file")
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxRead), maxRead))
	if err != nil {
		return nil, fmt.Errorf("the file of heads can't be read: %w", plainCause(err))
	}
	return ledger.SplitHeads(text), nil
}

// plainCause is an error without its path.
func plainCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
