package snapshot

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// Open makes a layer over the roots. Its time starts when Open returns: what others
// change from then on conflicts. Errors are *StateError and *RootError where an
// operator can mend it.
func Open(o Options) (*Layer, error) {
	state, err := prepareState(o.State)
	if err != nil {
		return nil, err
	}
	roots, err := lookAtRoots(o.Roots, state)
	if err != nil {
		return nil, err
	}
	if len(o.Label) > maxLabel || !utf8.ValidString(o.Label) {
		return nil, fmt.Errorf("snapshot: a label is UTF-8 of at most %d bytes", maxLabel)
	}
	raw := make([]byte, 16)
	_, _ = rand.Read(raw)
	l := &Layer{id: hex.EncodeToString(raw)}
	l.folder = filepath.Join(state, l.id)
	l.meta = meta{Version: 1, Label: o.Label, Roots: roots, Limits: o.Limits.orDefaults(), LinkTargets: o.LinkTargets}
	if err := l.makeFolders(); err != nil {
		_ = l.Discard()
		return nil, err
	}
	return l, nil
}

// Load opens a layer that another process left. The error is ErrNoLayer where there is
// none of that id.
func Load(state, id string) (*Layer, error) {
	if !isID(id) {
		return nil, ErrNoLayer
	}
	state, err := filepath.Abs(state)
	if err != nil {
		return nil, fmt.Errorf("snapshot: find the state folder: %w", err)
	}
	l := &Layer{id: id, folder: filepath.Join(state, id)}
	raw, err := os.ReadFile(filepath.Join(l.folder, metaName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoLayer
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: read a layer: %w", err)
	}
	if err := json.Unmarshal(raw, &l.meta); err != nil || l.meta.Version != 1 || len(l.meta.Roots) == 0 {
		return nil, errors.New("snapshot: a layer's description is damaged; compare the layer with its roots by hand")
	}
	return l, nil
}

// isID reports whether a name is one that Open gives.
func isID(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && hex.EncodeToString(raw) == name && len(raw) == 16
}

// IDs returns the ids of the layers in a state folder, also of those that were never
// opened to the end: Load says ErrNoLayer of them, and DiscardFolder removes them.
func IDs(state string) ([]string, error) {
	entries, err := os.ReadDir(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: list the layers: %w", err)
	}
	var out []string
	for _, e := range entries {
		if isID(e.Name()) && e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// prepareState makes the state folder and asks its file system what a layer needs.
func prepareState(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err != nil || folder == "" {
		return "", &StateError{folder, "has no absolute path"}
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", &StateError{abs, "can't be made"}
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", &StateError{folder, "can't be looked at"}
	}
	var st unix.Stat_t
	if err := unix.Lstat(abs, &st); err != nil || int(st.Uid) != os.Geteuid() {
		return "", &StateError{abs, "belongs to another user"}
	}
	if st.Mode&0o077 != 0 {
		if err := os.Chmod(abs, 0o700); err != nil {
			return "", &StateError{abs, "can't be closed to other users"}
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(abs, &fs); err != nil {
		return "", &StateError{abs, "can't be looked at"}
	}
	if fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "", &StateError{abs, "is on an overlay, as containers have it, and the kernel takes no upper layer there (EINVAL)"}
	}
	return abs, nil
}

// lookAtRoots checks the roots and takes down which folders they are.
func lookAtRoots(paths []string, state string) ([]rootMeta, error) {
	if len(paths) == 0 || len(paths) > maxRoots {
		return nil, fmt.Errorf("snapshot: a layer has 1 to %d roots", maxRoots)
	}
	mounts, err := mountPoints()
	if err != nil {
		return nil, err
	}
	var out []rootMeta
	for _, p := range paths {
		r, err := lookAtRoot(p)
		if err != nil {
			return nil, err
		}
		if isBelow(r.Path, state) || isBelow(state, r.Path) {
			return nil, &RootError{p, "has the state folder in it, or is in it; keep them apart"}
		}
		for _, other := range out {
			if isBelow(r.Path, other.Path) || isBelow(other.Path, r.Path) {
				return nil, &RootError{p, "overlaps another root; name the outer one alone"}
			}
		}
		for _, m := range mounts {
			if m != r.Path && isBelow(r.Path, m) {
				return nil, &RootError{p, "has another file system mounted in it, which an overlay would hide; name roots without mounts in them"}
			}
		}
		out = append(out, r)
	}
	return out, nil
}

func lookAtRoot(p string) (rootMeta, error) {
	if !filepath.IsAbs(p) || !utf8.ValidString(p) {
		return rootMeta{}, &RootError{p, "is no absolute path in UTF-8"}
	}
	path, err := filepath.EvalSymlinks(p)
	if err != nil {
		return rootMeta{}, &RootError{p, "does not exist or can't be looked at"}
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || path == "/" {
		return rootMeta{}, &RootError{p, "is no folder that can have a layer"}
	}
	// The child maps one user alone, so files of another can't be copied up.
	if int(st.Uid) != os.Geteuid() {
		return rootMeta{}, &RootError{p, fmt.Sprintf("belongs to user %d; run Vedette as its owner", st.Uid)}
	}
	return rootMeta{Path: path, At: p, Dev: st.Dev, Ino: st.Ino}, nil
}

// isBelow reports whether path is folder or in it. Both are clean.
func isBelow(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// mountPoints returns where this process sees file systems mounted.
func mountPoints() ([]string, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("snapshot: read the mounts: %w", err)
	}
	var out []string
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 4 {
			out = append(out, unescape.Replace(f[4]))
		}
	}
	return out, nil
}

// makeFolders makes the layer's folders and files, the probe last.
func (l *Layer) makeFolders() error {
	if err := os.Mkdir(l.folder, 0o700); err != nil {
		return &StateError{filepath.Dir(l.folder), "can't be written"}
	}
	for i, r := range l.meta.Roots {
		st, err := os.Stat(r.Path)
		if err != nil {
			return &RootError{r.Path, "can't be looked at"}
		}
		for _, name := range []string{"", mount.Upper, mount.Work, mount.Lower} {
			if err := os.Mkdir(filepath.Join(l.rootFolder(i), name), 0o700); err != nil {
				return &StateError{filepath.Dir(l.folder), "can't be written"}
			}
		}
		upper := filepath.Join(l.rootFolder(i), mount.Upper)
		if err := unix.Setxattr(upper, overlayPrefix+"vedette", []byte("y"), 0); err != nil {
			return &StateError{filepath.Dir(l.folder), "is on a file system without extended attributes"}
		}
		_ = unix.Removexattr(upper, overlayPrefix+"vedette")
		// The upper layer's own permissions are those that the program sees at the root.
		if err := unix.Chmod(upper, uint32(st.Mode().Perm())|readExtraBits(st.Mode())); err != nil {
			return &StateError{filepath.Dir(l.folder), "can't be written"}
		}
	}
	return l.startClock()
}

func readExtraBits(m fs.FileMode) (bits uint32) {
	if m&fs.ModeSticky != 0 {
		bits |= unix.S_ISVTX
	}
	if m&fs.ModeSetgid != 0 {
		bits |= unix.S_ISGID
	}
	return bits
}

// startClock takes the time from which changes of others count, and writes down the layer.
func (l *Layer) startClock() error {
	started, err := probeTime(filepath.Join(l.folder, probeName))
	if err != nil {
		return fmt.Errorf("snapshot: make the probe file: %w", err)
	}
	l.meta.Started = started
	if l.meta.Boot, l.meta.Offset, _, err = clockOffset(); err != nil {
		return err
	}
	if l.meta.Free, err = readFree(l.folder); err != nil {
		return err
	}
	raw, err := json.Marshal(l.meta)
	if err != nil {
		return err
	}
	return writeDurably(l.folder, metaName, raw)
}

// probeTries and probeWait bound how long Open waits for the kernel's clock to tick:
// file times are as coarse as that tick before Linux 6.13.
const (
	probeTries = 40
	probeWait  = 500 * time.Microsecond
)

// probeTime returns a change time later than that of anything changed before. What was
// changed in the same tick would otherwise look as if others had done it since.
func probeTime(file string) (int64, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	var first, now unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &first); err != nil {
		return 0, err
	}
	for range probeTries {
		if err := f.Chmod(0o600); err != nil {
			return 0, err
		}
		if err := unix.Fstat(int(f.Fd()), &now); err != nil {
			return 0, err
		}
		if now.Ctim.Nano() > first.Ctim.Nano() {
			break
		}
		time.Sleep(probeWait)
	}
	return now.Ctim.Nano(), nil
}

// clockTries is how often clocks are read; the reading with the least between counts.
const clockTries = 5

// clockOffset returns this start of the system, and how far its wall clock is ahead of
// the time since then. The two can't be read at once, so the truth is from low to high.
func clockOffset() (boot string, low, high int64, err error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, 0, fmt.Errorf("snapshot: read the boot id: %w", err)
	}
	for i := range clockTries {
		var before, wall, after unix.Timespec
		err := errors.Join(unix.ClockGettime(unix.CLOCK_BOOTTIME, &before), unix.ClockGettime(unix.CLOCK_REALTIME, &wall),
			unix.ClockGettime(unix.CLOCK_BOOTTIME, &after))
		if err != nil {
			return "", 0, 0, fmt.Errorf("snapshot: read the clock: %w", err)
		}
		if span := after.Nano() - before.Nano(); i == 0 || span < high-low {
			low, high = wall.Nano()-after.Nano(), wall.Nano()-before.Nano()
		}
	}
	return strings.TrimSpace(string(raw)), low, high, nil
}

// writeDurably writes a file so that it is there as a whole or not at all, also after
// the power failed.
func writeDurably(folder, name string, content []byte) error {
	tmp := filepath.Join(folder, name+".new")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("snapshot: write %s: %w", name, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(folder, name))
	}
	if err != nil {
		return fmt.Errorf("snapshot: write %s: %w", name, err)
	}
	return syncFolder(folder)
}

func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("snapshot: open a folder: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("snapshot: write a folder: %w", err)
	}
	return nil
}
