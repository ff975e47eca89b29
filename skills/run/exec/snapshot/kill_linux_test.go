package snapshot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const killVariable = "SNAPSHOT_KILL"

// commitAndDie is the process that dies: it begins or resumes a commit, and kills itself at
// the point of that number.
func commitAndDie(t *testing.T, point int) {
	l, err := Load(os.Getenv("SNAPSHOT_STATE"), os.Getenv("SNAPSHOT_ID"))
	require.NoError(t, err)
	reached := 0
	l.reach = func(string) {
		if reached++; reached == point {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if digest := os.Getenv("SNAPSHOT_DIGEST"); digest != "" {
		_, err = l.Commit(t.Context(), digest, CommitOptions{})
	} else {
		_, err = l.Resume(t.Context())
	}
	require.NoError(t, err)
}

// isKilled commits or resumes in another process that dies at a point, and reports false where
// that process came to its end before.
func isKilled(t *testing.T, l *Layer, digest string, point int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), killVariable+"="+strconv.Itoa(point), "SNAPSHOT_DIGEST="+digest,
		"SNAPSHOT_STATE="+filepath.Dir(l.folder), "SNAPSHOT_ID="+l.id)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "%s", out)
	return true
}

// A commit that is killed at any point, resumed, killed again and resumed once more gives
// the same tree as one that isn't.
func TestKilled(t *testing.T) {
	if point := os.Getenv(killVariable); point != "" {
		n, err := strconv.Atoi(point)
		require.NoError(t, err)
		commitAndDie(t, n)
		return
	}
	asBoth(t, func(t *testing.T) {
		want := viewDirectly(t, script)
		// Each point takes three processes, so ./test takes some, and ./test -long all.
		stride := 31
		switch {
		case os.Getenv("VEDETTE_LONG") != "":
			stride = 1
		case os.Geteuid() != 0:
			stride = 61
		}
		for i, apart := range []bool{false, true} {
			n := 1 + i*2
			for killOnce(t, apart, n, want) {
				n += stride
			}
			require.Greater(t, n, 70, "the kills ended before the commit did")
		}
	})
}

// killOnce kills a commit at point n, and its redo at another. It reports false where there
// is no such point.
func killOnce(t *testing.T, apart bool, n int, want []string) bool {
	s := newSite(t, apart)
	prepareRoot(t, s)
	before := dumpTree(t, s.root)
	l := s.open(t)
	runIn(t, l, script)
	digest := listChanges(t, l).Digest
	if !isKilled(t, l, digest, n) {
		require.Equal(t, want, dumpTree(t, s.root))
		return false
	}
	state, err := l.State()
	require.NoError(t, err)
	if state == StateOpen {
		require.Equal(t, before, dumpTree(t, s.root))
		_, err := l.Resume(t.Context())
		require.ErrorIs(t, err, ErrNotBegun)
		_, err = l.Commit(t.Context(), digest, CommitOptions{})
		require.NoError(t, err)
	} else {
		require.Equal(t, StateBegun, state)
		require.ErrorIs(t, l.Discard(), ErrBegun)
		isKilled(t, l, "", n*7%50+1)
		report, err := l.Resume(t.Context())
		require.NoError(t, err, "point %d", n)
		require.Equal(t, Report{Digest: digest, Written: 25, Deleted: 7}, report)
	}
	require.Equal(t, want, dumpTree(t, s.root), "point %d", n)
	require.NoError(t, l.Discard())
	return true
}

// What a commit placed before it died may be changed by others until it is resumed: it is
// theirs then, and the rest is finished.
func TestEditedBeforeResume(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": "1", "b": "1"})
	l := s.open(t)
	runIn(t, l, "echo 2 >a; echo 2 >b")
	digest := listChanges(t, l).Digest
	l.reach = func(point string) {
		if point == "swapped" {
			panic("the process dies")
		}
	}
	require.Panics(t, func() { _, _ = l.Commit(t.Context(), digest, CommitOptions{}) })
	l.reach = nil
	require.NoError(t, os.WriteFile(filepath.Join(s.root, "a"), []byte("other"), 0o644))
	_, err := l.Resume(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{`"." folder 0755`, `"a" file 0644 "other"`, `"b" file 0644 "2\n"`}, dumpTree(t, s.root))
}

// What others changed before its turn stops a redo, which says where; it goes on when that
// is gone.
func TestUnfinished(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": "1"})
	l := s.open(t)
	runIn(t, l, "echo 2 >a; echo 2 >b")
	digest := listChanges(t, l).Digest
	l.reach = func(point string) {
		if point == "swapped" {
			panic("the process dies")
		}
	}
	require.Panics(t, func() { _, _ = l.Commit(t.Context(), digest, CommitOptions{}) })
	l.reach = nil
	require.NoError(t, os.WriteFile(filepath.Join(s.root, "b"), []byte("other"), 0o644))
	_, err := l.Resume(t.Context())
	var unfinished *UnfinishedError
	require.ErrorAs(t, err, &unfinished)
	require.Equal(t, []Conflict{{0, "b", ConflictAppeared}}, unfinished.Conflicts)
	require.ErrorIs(t, l.Discard(), ErrBegun)
	require.Equal(t, []string{`"." folder 0755`, `"a" file 0644 "2\n"`, `"b" file 0644 "other"`}, dumpTree(t, s.root))
	require.NoError(t, os.Remove(filepath.Join(s.root, "b")))
	_, err = l.Resume(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{`"." folder 0755`, `"a" file 0644 "2\n"`, `"b" file 0644 "2\n"`}, dumpTree(t, s.root))
}
