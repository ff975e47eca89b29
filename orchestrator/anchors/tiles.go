package anchors

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

const (
	// tileHeight is that of C2SP's tlog-tiles: a tile has up to 256 hashes.
	tileHeight = 8
	// checkpointFile is the newest head of a log.
	checkpointFile = "checkpoint"
	// maxLogs is how many logs of a folder are read: one for each file of the ledger.
	maxLogs = 1000
)

// tiles publishes a ledger as a log of C2SP's tlog-tiles, in a folder that a web server may serve as it is.
type tiles struct{ folder string }

// NewTiles returns a place that publishes the ledger's tree in a folder, as a transparency log of C2SP's tlog-tiles: the
// newest head as checkpoint, and the hashes of the tree in tiles. Records themselves aren't published: there are no entry
// bundles. Each file of the ledger is a log of its own, in a folder named after its origin.
//
// Tiles that are full never change, so another hash in the place of one is refused, and so is a head with fewer records
// than the checkpoint has.
func NewTiles(folder string) Place { return &tiles{folder} }

// Kind implements Place.
func (*tiles) Kind() string { return "tiles" }

// Put implements Place. What a try that was broken off has written the next one leaves as it is.
func (p *tiles) Put(ctx context.Context, h Kept) (err error) {
	root, err := p.openLog(h.Origin)
	if err != nil {
		return fmt.Errorf("the folder of tiles can't be opened: %w", plainCause(err))
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	from, err := readCheckpoint(root)
	if err != nil {
		return err
	}
	switch {
	case from.Size > h.Size:
		return fmt.Errorf("the log has %d records of this ledger, and it has %d: this is an older copy, or its end was cut off",
			from.Size, h.Size)
	case from.Size == h.Size && from.Root != h.Root:
		return errors.New("the log has other records than these: the ledger has forked")
	case from.Size == h.Size:
		return nil
	case from.Size > 0:
		way, err := h.Prove(ctx, from.Size)
		if err != nil {
			return err
		}
		if tlog.CheckTree(way, h.Size, h.Root, from.Size, from.Root) != nil {
			return errors.New("the log's checkpoint is of other records than these: the ledger has forked")
		}
	}
	for _, t := range tlog.NewTiles(tileHeight, from.Size, h.Size) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("not all tiles are written yet: %w", err)
		}
		data, err := h.Tile(ctx, t)
		if err != nil {
			return err
		}
		if err := writeTile(root, tilePath(t), data); err != nil {
			return err
		}
	}
	if err := replaceFile(root, checkpointFile, h.Signed); err != nil {
		return fmt.Errorf("the checkpoint can't be written: %w", plainCause(err))
	}
	return nil
}

// openLog opens the folder of one origin's log, from which no link leads out.
func (p *tiles) openLog(origin string) (*os.Root, error) {
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		return nil, err
	}
	outer, err := os.OpenRoot(p.folder)
	if err != nil {
		return nil, err
	}
	name := nameOrigin(origin)
	err = outer.Mkdir(name, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(err, outer.Close())
	}
	inner, err := outer.OpenRoot(name)
	return inner, errors.Join(err, outer.Close())
}

// nameOrigin is an origin as part of a path or the name of an object.
func nameOrigin(origin string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' {
			return c
		}
		return '-'
	}, strings.TrimLeft(origin, "."))
}

// readCheckpoint reads the head that a log has; a zero one where it has none.
func readCheckpoint(root *os.Root) (ledger.Head, error) {
	signed, err := readSmall(root, checkpointFile)
	if errors.Is(err, fs.ErrNotExist) {
		return ledger.Head{}, nil
	}
	if err != nil {
		return ledger.Head{}, fmt.Errorf("the checkpoint can't be read: %w", plainCause(err))
	}
	h, err := ledger.PeekHead(signed)
	if err != nil {
		return h, errors.New("the log's checkpoint is no head of a ledger")
	}
	return h, nil
}

// maxTile is more than any file of a log has, in bytes.
const maxTile = 64 << 10

// readSmall reads a file of a log. Anything but a file is refused, and nothing hangs on a pipe.
func readSmall(root *os.Root, name string) (_ []byte, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openSafely, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, refuseMode(info.Mode())
	}
	return io.ReadAll(io.LimitReader(f, maxTile))
}

// tilePath is the path of a tile: the level, and the number in groups of three digits.
func tilePath(t tlog.Tile) string {
	n := fmt.Sprintf("%03d", t.N%1000)
	for rest := t.N / 1000; rest > 0; rest /= 1000 {
		n = fmt.Sprintf("x%03d/%s", rest%1000, n)
	}
	name := path.Join("tile", strconv.Itoa(t.L), n)
	if t.W != 1<<tileHeight {
		name += ".p/" + strconv.Itoa(t.W)
	}
	return name
}

// writeTile writes a tile, which stands there already where a try was broken off.
func writeTile(root *os.Root, name string, data []byte) error {
	there, err := readSmall(root, name)
	switch {
	case err == nil && bytes.Equal(there, data):
		return nil
	case err == nil:
		return fmt.Errorf("the log has other hashes in %s: the ledger has forked", name)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s can't be read: %w", name, plainCause(err))
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("%s can't be written: %w", name, plainCause(err))
	}
	if err := replaceFile(root, name, data); err != nil {
		return fmt.Errorf("%s can't be written: %w", name, plainCause(err))
	}
	return nil
}

// replaceFile puts a whole file in place, durably.
func replaceFile(root *os.Root, name string, data []byte) (err error) {
	temporary := name + ".new-" + rand.Text()
	f, err := root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return syncFolder(root, path.Dir(name))
}

// Read implements Place: the checkpoints of all logs in the folder.
func (p *tiles) Read(context.Context) (heads [][]byte, err error) {
	root, err := os.OpenRoot(p.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of tiles can't be read: %w", plainCause(err))
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("the folder of tiles can't be read: %w", plainCause(err))
	}
	for _, e := range entries[:min(len(entries), maxLogs)] {
		if !e.IsDir() {
			continue
		}
		signed, err := readSmall(root, path.Join(e.Name(), checkpointFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("a checkpoint can't be read: %w", plainCause(err))
		}
		heads = append(heads, ledger.SplitHeads(signed)...)
	}
	return heads, nil
}
