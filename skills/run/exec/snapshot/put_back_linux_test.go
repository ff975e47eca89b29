package snapshot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A layer that was committed and is being thrown away never looks like one that wasn't: a
// process that dies meanwhile leaves one that says committed, or none.
func TestDiscardIsKilled(t *testing.T) {
	for _, at := range []string{"emptied", "unnamed"} {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"a": "1"})
		l := s.open(t)
		runIn(t, l, "echo 2 >a; mkdir d; echo 3 >d/f")
		digest := listChanges(t, l).Digest
		_, err := l.Commit(t.Context(), digest, CommitOptions{})
		require.NoError(t, err)
		dieAt(t, l, at, func() { _ = l.Discard() })

		left, err := Load(s.state, l.ID())
		if at == "unnamed" {
			require.ErrorIs(t, err, ErrNoLayer)
		} else {
			require.NoError(t, err)
			_, err = left.Commit(t.Context(), digest, CommitOptions{})
			require.ErrorIs(t, err, ErrBegun)
			report, err := left.Resume(t.Context())
			require.NoError(t, err)
			require.Equal(t, Report{Digest: digest, Written: 3}, report)
		}
		require.NoError(t, DiscardFolder(s.state, l.ID()))
		ids, err := IDs(s.state)
		require.NoError(t, err)
		require.Empty(t, ids)
	}
}

// dieAt runs what dies at a point: the layer is as a killed process leaves it.
func dieAt(t *testing.T, l *Layer, at string, run func()) {
	t.Helper()
	l.reach = func(point string) {
		if point == at {
			panic("the process dies")
		}
	}
	require.Panics(t, run)
	l.reach = nil
}

// Others replace a file just before it is exchanged, and the process dies before it sees that:
// the redo tells of it, and what they wrote is kept.
func TestReplacedBeforeAKill(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": "1"})
	l := s.open(t)
	runIn(t, l, "echo 2 >a")
	digest := listChanges(t, l).Digest
	l.reach = func(point string) {
		switch point {
		case "swap":
			runDirectly(t, s.root, "echo theirs >b; mv b a")
		case "swapped":
			panic("the process dies")
		}
	}
	require.Panics(t, func() { _, _ = l.Commit(t.Context(), digest, CommitOptions{}) })
	l.reach = nil
	_, err := l.Resume(t.Context())
	var unfinished *UnfinishedError
	require.ErrorAs(t, err, &unfinished)
	require.Equal(t, []Conflict{{0, "a", ConflictEdited}}, unfinished.Conflicts)
	require.ErrorIs(t, l.Discard(), ErrBegun)
	kept, err := os.ReadFile(filepath.Join(l.rootFolder(0), "upper/a"))
	require.NoError(t, err)
	require.Equal(t, "theirs\n", string(kept))
}

// Others replace a file twice, before it is exchanged and before it is put back: nothing of
// theirs is thrown away, and the commit is unknown.
func TestReplacedTwice(t *testing.T) {
	for _, apart := range []bool{false, true} {
		s := newSite(t, apart)
		fillTree(t, s.root, map[string]string{"a": "1"})
		l := s.open(t)
		runIn(t, l, "echo 2 >a")
		digest := listChanges(t, l).Digest
		l.reach = func(point string) {
			switch point {
			case "swap":
				runDirectly(t, s.root, "echo first >b; mv b a")
			case "swapped":
				runDirectly(t, s.root, "echo second >b; mv b a")
			}
		}
		_, err := l.Commit(t.Context(), digest, CommitOptions{})
		var unfinished *UnfinishedError
		require.ErrorAs(t, err, &unfinished)
		require.ErrorIs(t, l.Discard(), ErrBegun)
		found := ""
		for _, folder := range []string{s.root, filepath.Join(l.rootFolder(0), "upper")} {
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			for _, e := range entries {
				content, err := os.ReadFile(filepath.Join(folder, e.Name()))
				require.NoError(t, err)
				found += string(content)
			}
		}
		require.Contains(t, found, "first\n")
		require.Contains(t, found, "second\n")
	}
}
