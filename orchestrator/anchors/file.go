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
// only ever appended to, so its folder or the file system may forbid all else (chattr +a, a WORM share). A link, a pipe or
// a device in its place is refused.
func NewFile(path string) Place { return &file{path} }

// Kind implements Place.
func (*file) Kind() string { return "file" }

// Put implements Place. The empty lines before a head part it from one whose writing was cut off.
func (p *file) Put(_ context.Context, h Kept) error { return appendHead(p.path, h.Signed) }

func appendHead(path string, signed []byte) (err error) {
	f, _, err := openRegular(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return fmt.Errorf("the file of heads can't be opened: %w", err)
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
	f, size, err := openRegular(p.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the file of heads can't be read: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, size-maxRead), maxRead))
	if err != nil {
		return nil, fmt.Errorf("the file of heads can't be read: %w", plainCause(err))
	}
	return ledger.SplitHeads(text), nil
}

// openRegular opens a file that must be one, and returns its size. It hangs on nothing else.
func openRegular(path string, flags int) (_ *os.File, size int64, err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, 0, refuseMode(info.Mode())
	}
	f, err := os.OpenFile(path, flags|openSafely, 0o600)
	if err != nil {
		return nil, 0, plainCause(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() { // it was put there since
		err = refuseMode(info.Mode())
	}
	if err != nil {
		return nil, 0, errors.Join(plainCause(err), f.Close())
	}
	return f, info.Size(), nil
}

// refuseMode says what stands in the place of a file.
func refuseMode(m fs.FileMode) error {
	if m&fs.ModeSymlink != 0 {
		return errors.New("it is a link; name the file that it leads to")
	}
	return errors.New("it is no regular file; name another")
}

// plainCause is an error without its path.
func plainCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
