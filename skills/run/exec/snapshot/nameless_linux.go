package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxHeld is how many descriptors one look examines. Beyond it the rest counts as hidden.
const maxHeld = 50_000

// fileID names a file among all that are open.
type fileID struct{ dev, ino uint64 }

// nameless finds the files without a name that processes hold.
type nameless struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one findNameless
	first  int             // PID 1, which is ours and holds nothing
	mounts []string        // the numbers of the overlays' mounts
	roots  []string        // what paths in them begin with
	seen   map[fileID]bool
	looked int
	bytes  int64
	hidden bool // something couldn't be looked at
}

// findNameless looks through all processes below PID 1. The error is ctx's.
func findNameless(ctx context.Context, l *Layer, first int) (*nameless, error) {
	n := &nameless{ctx: ctx, first: first, seen: map[fileID]bool{}}
	raw, err := os.ReadFile(procPath(first, "mountinfo"))
	if err != nil {
		n.hidden = true
		return n, nil //nolint:nilerr // the process has ended, or hides: hidden says so
	}
	n.mounts = listOverlays(string(raw))
	for _, r := range l.meta.Roots {
		n.roots = append(n.roots, filepath.Clean(r.At)+"/", r.Path+"/")
	}
	for queue, next := []int{first}, 0; next < len(queue); next++ {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		queue = append(queue, n.lookAtProcess(queue[next])...)
	}
	return n, nil
}

func procPath(pid int, names ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(pid)}, names...)...)
}

// listOverlays returns the numbers of a layer's mounts, which package mount made.
func listOverlays(mountinfo string) (out []string) {
	for line := range strings.Lines(mountinfo) {
		f := strings.Fields(line)
		if i := slices.Index(f, "-"); i > 4 && i+2 < len(f) && f[i+1] == "overlay" && f[i+2] == "vedette" {
			out = append(out, f[0])
		}
	}
	return out
}

// lookAtProcess looks at all threads of a process and returns the processes that they made.
// Each thread may have descriptors of its own.
func (n *nameless) lookAtProcess(pid int) (children []int) {
	if n.looked > maxHeld {
		n.hidden = true
		return nil
	}
	entries, err := os.ReadDir(procPath(pid, "task"))
	n.noteHidden(err)
	mapped := false // threads share their memory
	for _, e := range entries {
		task := procPath(pid, "task", e.Name())
		below, err := listChildren(task)
		n.hidden = n.hidden || err != nil && pid == n.first // this kernel doesn't tell them
		children = append(children, below...)
		if hasThreadEnded(task) {
			continue
		}
		err = n.lookAtFiles(task)
		if err == nil && !mapped {
			mapped, err = true, n.lookAtMappings(task)
		}
		if pid != n.first && !hasThreadEnded(task) {
			n.noteHidden(err)
		}
	}
	return children
}

// noteHidden takes down that something couldn't be looked at. What is gone hides nothing:
// programs end and close files all the time.
func (n *nameless) noteHidden(err error) {
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ESRCH) {
		n.hidden = true
	}
}

// listChildren returns the processes that a thread made. Where it is that of PID 1, those
// whose parents have ended are among them.
func listChildren(task string) (out []int, err error) {
	raw, err := os.ReadFile(task + "/children")
	for _, word := range strings.Fields(string(raw)) {
		child, err := strconv.Atoi(word)
		if err != nil {
			return out, err
		}
		out = append(out, child)
	}
	return out, err
}

// hasThreadEnded reports whether a thread is gone, or holds nothing any more and waits to be reaped.
// Every user may read its state.
func hasThreadEnded(task string) bool {
	raw, err := os.ReadFile(task + "/stat")
	after, found := bytes.CutPrefix(raw[max(bytes.LastIndexByte(raw, ')'), 0):], []byte(") "))
	return err != nil || found && len(after) > 0 && (after[0] == 'Z' || after[0] == 'X')
}

// lookAtFiles counts the descriptors of one thread.
func (n *nameless) lookAtFiles(task string) error {
	dir, err := os.Open(task + "/fd")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if n.looked++; n.looked > maxHeld {
				return unix.E2BIG
			}
			var st unix.Stat_t
			if err := unix.Fstatat(int(dir.Fd()), name, &st, 0); err != nil {
				n.noteHidden(err)
				continue
			}
			n.countFile(task+"/fdinfo/"+name, st)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// countFile counts a descriptor that is a file of the layer without a name. A socket in which
// descriptors wait is a place to hide some.
func (n *nameless) countFile(info string, st unix.Stat_t) {
	id := fileID{st.Dev, st.Ino}
	isSocket, isNameless := entryTypeOf(st) == Socket, entryTypeOf(st) == File && st.Nlink == 0 && st.Blocks > 0
	if !isSocket && !isNameless || isNameless && n.seen[id] {
		return
	}
	raw, err := os.ReadFile(info)
	n.noteHidden(err)
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case isSocket && key == "scm_fds" && value != "0":
			n.hidden = true
		case isNameless && key == "mnt_id" && slices.Contains(n.mounts, value):
			n.seen[id] = true
			n.bytes += st.Blocks * 512
		}
	}
}

// lookAtMappings looks for files without a name in a thread's memory. Their size isn't told
// there, so they count as hidden.
func (n *nameless) lookAtMappings(task string) error {
	raw, err := os.ReadFile(task + "/maps")
	if err != nil {
		return fmt.Errorf("snapshot: read the mappings of a process: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		at := strings.IndexByte(line, '/')
		if at < 0 || !strings.HasSuffix(line, " (deleted)\n") {
			continue
		}
		if slices.ContainsFunc(n.roots, func(root string) bool { return strings.HasPrefix(line[at:], root) }) {
			n.hidden = true
		}
	}
	return nil
}
