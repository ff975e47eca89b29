package snapshot

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

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
		if isBelowFolder(r.Path, state) || isBelowFolder(state, r.Path) {
			return nil, &RootError{p, "has the state folder in it, or is in it; keep them apart"}
		}
		for _, other := range out {
			if isBelowFolder(r.Path, other.Path) || isBelowFolder(other.Path, r.Path) {
				return nil, &RootError{p, "overlaps another root; name the outer one alone"}
			}
		}
		for _, m := range mounts {
			if m != r.Path && isBelowFolder(r.Path, m) {
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

// isBelowFolder reports whether path is folder or in it. Both are clean.
func isBelowFolder(folder, path string) bool {
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

func readExtraBits(m fs.FileMode) (bits uint32) {
	if m&fs.ModeSticky != 0 {
		bits |= unix.S_ISVTX
	}
	if m&fs.ModeSetgid != 0 {
		bits |= unix.S_ISGID
	}
	return bits
}
