package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// openBeneath opens a path below a folder without ever leaving it. It follows no symbolic link
// and enters no mount. The path is isPathInRoot's.
func openBeneath(folder int, rel string, flags uint64) (int, error) {
	how := &unix.OpenHow{Flags: flags | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	for {
		fd, err := unix.Openat2(folder, rel, how)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) { // EAGAIN: a rename elsewhere came between
			continue
		}
		return fd, err
	}
}

const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY

// openParent opens the folder that holds rel.
func openParent(root int, rel string) (fd int, name string, err error) {
	fd, err = openBeneath(root, path.Dir(rel), folderFlags)
	return fd, path.Base(rel), err
}

func closeDescriptor(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

// lookAtEntry returns what is at a name, without following a link, or found false.
func lookAtEntry(folder int, name string) (st unix.Stat_t, found bool, err error) {
	err = unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return st, false, nil
	}
	return st, err == nil, err
}

// entryTypeOf returns what a file is.
func entryTypeOf(st unix.Stat_t) Type {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Folder
	case unix.S_IFLNK:
		return Link
	case unix.S_IFSOCK:
		return Socket
	case unix.S_IFIFO:
		return Pipe
	}
	return Device
}

// isWhiteout reports whether a file of an upper layer says that there is none.
func isWhiteout(st unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
}

func newSeen(st unix.Stat_t) seen { return seen{ino: st.Ino, ctime: st.Ctim.Nano()} }

// listNames returns the names in a folder, sorted, at most limit.
func listNames(folder, limit int) ([]string, error) {
	fd, err := openBeneath(folder, ".", folderFlags)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "folder")
	defer func() { _ = f.Close() }()
	var out []string
	for {
		names, err := f.Readdirnames(1024)
		out = append(out, names...)
		if len(out) > limit {
			return nil, &LimitError{"changes", int64(limit)}
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot: read a folder: %w", withoutPath(err))
		}
	}
}

// withoutPath returns the cause of an error without the path it names.
func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// hashContent returns the SHA-256 of an open file of the size that was seen.
func hashContent(ctx context.Context, f io.Reader, size int64) (string, error) {
	sum := sha256.New()
	buf := make([]byte, min(max(size, 0)+1, 128<<10))
	var total int64
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		total += int64(n)
		if errors.Is(err, io.EOF) && total == size {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		if err != nil || total > size {
			return "", errors.New("snapshot: a file changed while it was read, or can't be read")
		}
	}
}

// readTarget returns where a symbolic link leads.
func readTarget(folder int, name string) (string, error) {
	buf := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(folder, name, buf)
	if err != nil || n > unix.PathMax {
		return "", fmt.Errorf("snapshot: read a link: %w", errors.Join(err))
	}
	return string(buf[:n]), nil
}

// listParents returns the folders on the way to rel, the root first.
func listParents(rel string) []string {
	out := []string{"."}
	if rel == "." {
		return out
	}
	for i, b := range []byte(rel) {
		if b == '/' {
			out = append(out, rel[:i])
		}
	}
	return out
}
