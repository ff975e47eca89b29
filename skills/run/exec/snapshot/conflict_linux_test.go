package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What others do while a program runs is never overwritten: the commit says which paths, and
// writes nothing.
func TestConflicts(t *testing.T) {
	root := map[string]string{
		"a/f": "f", "a/g": "g", "a/deep/x": "x", "a/deep/er/y": "y", "b/f": "f", "spare/f": "f", "spare/deep/x": "x", "spare/deep/er/y": "y",
		"oldfile": "f",
	}
	rows := map[string]struct {
		program, others string
		want            []Conflict // of root 0
	}{
		"edit":                   {"echo 1 >a/f", "echo 2 >a/f", []Conflict{{0, "a/f", ConflictEdited}}},
		"edit with an old time":  {"echo 1 >a/f", "echo 2 >a/f; touch -d 2001-01-01 a/f", []Conflict{{0, "a/f", ConflictEdited}}},
		"chmod":                  {"echo 1 >a/f", "chmod 600 a/f", []Conflict{{0, "a/f", ConflictEdited}}},
		"edit of what is gone":   {"rm a/f", "echo 2 >a/f", []Conflict{{0, "a/f", ConflictEdited}}},
		"another type":           {"echo 1 >a/f", "rm a/f; mkdir a/f", []Conflict{{0, "a/f", ConflictEdited}}},
		"create":                 {"echo 1 >a/new", "echo 2 >a/new", []Conflict{{0, "a/new", ConflictEdited}}},
		"create beside":          {"echo 1 >a/new", "echo 2 >a/other", []Conflict{{0, "a/new", ConflictFolder}}},
		"remove of what changed": {"echo 1 >a/f", "rm a/f", []Conflict{{0, "a/f", ConflictFolder}}},
		"remove of both":         {"rm a/f", "rm a/f", []Conflict{{0, "a/f", ConflictGone}}},
		"edit below what is gone": {
			"rm -r a", "echo 2 >a/deep/er/y", []Conflict{{0, "a", ConflictEdited}}},
		"create below what is gone": {
			"rm -r a", "echo 2 >a/deep/er/z", []Conflict{{0, "a", ConflictEdited}}},
		"remove below what is gone": {
			"rm -r a", "rm a/deep/er/y", []Conflict{{0, "a", ConflictEdited}}},
		"create in what is made again": {
			"rm -r b; mkdir b", "echo 2 >b/z", []Conflict{{0, "b", ConflictEdited}, {0, "b/z", ConflictEdited}}},
		"rename of the parent": {
			"echo 1 >a/f", "mv a c", []Conflict{{0, "a", ConflictFolder}, {0, "a/f", ConflictMoved}}},
		"another parent": {
			"echo 1 >a/f", "mv a c; mv spare a", []Conflict{{0, "a/f", ConflictMoved}}},
		"another grandparent": {
			"echo 1 >a/deep/x; echo 2 >a/deep/er/y", "mv a c; mv spare a",
			[]Conflict{{0, "a/deep/er/y", ConflictMoved}, {0, "a/deep/x", ConflictMoved}}},
		"another grandparent that was written to": {
			"echo 1 >a/deep/x", "mv a c; mv spare a; echo >a/new", []Conflict{{0, "a/deep/x", ConflictMoved}}},
		"a link for the parent": {
			"echo 1 >a/f", "mv a c; ln -s c a", []Conflict{{0, "a", ConflictEdited}, {0, "a/f", ConflictMoved}}},
		"an old file in its place": {"echo 1 >a/f", "mv oldfile a/f", []Conflict{{0, "a/f", ConflictEdited}}},
		"another edit elsewhere":   {"echo 1 >a/f; echo 1 >b/new; rm -r a/deep", "echo 2 >oldfile; echo 2 >spare/f; echo 2 >a/g", nil},
		"an entry made elsewhere":  {"echo 1 >a/f; rm -r a/deep", "echo 2 >spare/new; echo 2 >new", nil},
	}
	asBoth(t, func(t *testing.T) {
		for name, row := range rows {
			s := newSite(t, false)
			fillTree(t, s.root, root)
			l := s.open(t)
			runIn(t, l, row.program)
			approved := listChanges(t, l)
			runDirectly(t, s.root, row.others)
			before := dumpTree(t, s.root)
			c := listChanges(t, l)
			found, err := l.Conflicts(t.Context(), c)
			require.NoError(t, err, name)
			_, err = l.Commit(t.Context(), approved.Digest, CommitOptions{})
			if row.want == nil {
				require.NoError(t, err, name)
				require.Empty(t, found, name)
				continue
			}
			var conflict *ConflictError
			require.ErrorAs(t, err, &conflict, name)
			require.Equal(t, row.want, conflict.Conflicts, name)
			require.Equal(t, found, conflict.Conflicts, name)
			require.Equal(t, before, dumpTree(t, s.root), name)
			state, err := l.State()
			require.NoError(t, err)
			require.Equal(t, StateOpen, state, name)
			require.Equal(t, c, listChanges(t, l), "%s: the layer must keep the changes", name)
		}
	})
}

// What others do at the very last moment, between the look at a path and the move, isn't
// overwritten either.
func TestLastMoment(t *testing.T) {
	for name, row := range map[string]struct {
		program, point, others string
		want                   Conflict
	}{
		"another file":  {"echo 1 >a/f", "swap", "echo 2 >x; mv x a/f", Conflict{0, "a/f", ConflictEdited}},
		"an edit":       {"echo 1 >a/f", "swap", "echo longer >>a/f", Conflict{0, "a/f", ConflictEdited}},
		"a chmod":       {"echo 1 >a/f", "swap", "chmod 600 a/f", Conflict{0, "a/f", ConflictEdited}},
		"a folder":      {"chmod 700 a/deep", "finish", "mv a/deep x; mkdir a/deep", Conflict{0, "a/deep", ConflictMoved}},
		"a removal":     {"echo 1 >a/f", "swap", "rm a/f", Conflict{0, "a/f", ConflictGone}},
		"a new file":    {"echo 1 >a/new", "swap", "echo 2 >a/new", Conflict{0, "a/new", ConflictAppeared}},
		"one to remove": {"rm a/f", "take", "printf 2 >x; mv x a/f", Conflict{0, "a/f", ConflictEdited}},
		"below":         {"rm -r a", "take", "echo 2 >a/deep/new", Conflict{0, "a", ConflictEdited}},
		"an edit below": {"rm -r a", "take", "echo 2 >a/deep/x", Conflict{0, "a", ConflictEdited}},
		"for a file":    {"rm -r a; echo 1 >a", "take", "echo 2 >a/deep/new", Conflict{0, "a", ConflictEdited}},
	} {
		for _, apart := range []bool{false, true} {
			s := newSite(t, apart)
			fillTree(t, s.root, map[string]string{"a/f": "f", "a/deep/x": "x"})
			l := s.open(t)
			runIn(t, l, row.program)
			digest := listChanges(t, l).Digest
			var after []string
			l.reach = func(point string) {
				if point == row.point && after == nil {
					runDirectly(t, s.root, row.others)
					after = dumpTree(t, s.root)
				}
			}
			_, err := l.Commit(t.Context(), digest, CommitOptions{})
			var conflict *ConflictError
			require.ErrorAs(t, err, &conflict, name)
			require.Equal(t, []Conflict{row.want}, conflict.Conflicts, name)
			if apart && row.point == "swap" { // the copy stood beside when others came
				after = slices.DeleteFunc(after, func(line string) bool { return strings.Contains(line, ".vedette-") })
			}
			require.Equal(t, after, dumpTree(t, s.root), name)
			state, err := l.State()
			require.NoError(t, err)
			require.Equal(t, StateOpen, state, name)
		}
	}
}

// A clock that was set back hides what others did, so nothing is committed.
func TestClockSetBack(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": "1"})
	l := s.open(t)
	runIn(t, l, "echo 2 >a")
	l.meta.Offset += 1e9
	_, err := l.Commit(t.Context(), listChanges(t, l).Digest, CommitOptions{})
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, []Conflict{{0, ".", ConflictClock}}, conflict.Conflicts)
	l.meta.Offset -= 1e9
	_, err = l.Commit(t.Context(), listChanges(t, l).Digest, CommitOptions{})
	require.NoError(t, err)
}

// What was changed right before the start is no conflict, however coarse the clock is.
func TestChangedBeforeTheStart(t *testing.T) {
	for range 50 {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"a/f": "1"})
		l := s.open(t)
		fillUpper(t, l, map[string]string{"a/f": "2", "a/new": "2"})
		_, err := l.Commit(t.Context(), listChanges(t, l).Digest, CommitOptions{})
		require.NoError(t, err)
	}
}

// fillUpper writes to an upper layer as a program would, without running one.
func fillUpper(t testing.TB, l *Layer, files map[string]string) {
	t.Helper()
	fillTree(t, filepath.Join(l.rootFolder(0), "upper"), files)
}

// flipper exchanges a folder with a link that leads outside, as fast as it can.
type flipper struct {
	t       *testing.T
	root    string
	on      atomic.Bool
	flips   atomic.Int64
	stopped sync.WaitGroup
}

func (f *flipper) start() {
	f.on.Store(true)
	f.stopped.Go(func() {
		for f.on.Load() {
			f.exchange()
		}
	})
}

func (f *flipper) exchange() {
	err := unix.Renameat2(unix.AT_FDCWD, f.root+"/dir", unix.AT_FDCWD, f.root+"/link", unix.RENAME_EXCHANGE)
	if err == nil {
		f.flips.Add(1)
	}
}

func (f *flipper) stop() {
	f.on.Store(false)
	f.stopped.Wait()
	st, err := os.Lstat(filepath.Join(f.root, "dir"))
	require.NoError(f.t, err)
	if !st.IsDir() {
		f.exchange()
	}
}

// 300 commits run against another that exchanges a folder above theirs with a link outside:
// half of them all the time, half from the moment of the decision on. Each is done in the
// folder or refused, and the outside is untouched.
func TestLinkFlipper(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		s := newSite(t, false)
		outside := filepath.Join(filepath.Dir(s.root), "outside")
		fillTree(t, outside, map[string]string{"sub/f": "outside", "sub/gone/x": "outside"})
		untouched := dumpTree(t, outside)
		fillTree(t, s.root, map[string]string{"dir/sub/f": "0", "link": "->../outside"})
		f := &flipper{t: t, root: s.root}
		done, refused, late := 0, 0, 0
		commits := 24 // ./test -long makes as many as the flipper was tried with
		if os.Getenv("VEDETTE_LONG") != "" {
			commits = 300
		}
		for i := range commits {
			fillTree(t, s.root, map[string]string{"dir/sub/f": "0", "dir/sub/gone/x": "x"})
			l := s.open(t)
			fillUpper(t, l, map[string]string{"dir/sub/f": "2", "dir/sub/new": "2", "dir/sub/newer/n": "2"})
			require.NoError(t, unix.Mknod(filepath.Join(l.rootFolder(0), "upper/dir/sub/gone"), unix.S_IFCHR, 0))
			c := listChanges(t, l)
			if i%2 == 0 {
				f.start()
			}
			l.reach = func(point string) {
				if point == "journal" && i%2 == 1 {
					f.start()
				}
			}
			_, err := l.Commit(t.Context(), c.Digest, CommitOptions{})
			f.stop()
			require.Equal(t, untouched, dumpTree(t, outside), "commit %d touched the outside", i)
			var unfinished *UnfinishedError
			switch {
			case err == nil:
				done++
				require.Contains(t, dumpTree(t, s.root), `"dir/sub/new" file 0644 "2"`)
			case errors.As(err, &unfinished):
				late++
				_, err := l.Resume(t.Context())
				require.NoError(t, err, "what was begun is finished when no one is in the way")
			default:
				refused++
			}
			require.NoError(t, os.RemoveAll(filepath.Join(s.root, "dir")))
			require.NoError(t, l.Discard())
		}
		require.Equal(t, commits, done+refused+late)
		require.Positive(t, refused)
		t.Logf("%d done, %d refused, %d finished later, %d flips", done, refused, late, f.flips.Load())
	})
}
