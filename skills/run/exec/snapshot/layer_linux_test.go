package snapshot

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// A layer needs a state folder that can hold one, and roots that can have one.
func TestOpenRefuses(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"in/x": "x", "file": "f"})
	outer := filepath.Dir(s.root)
	rows := map[string]struct {
		o    Options
		want string
	}{
		"no root":         {Options{State: s.state}, "a layer has 1 to 64 roots"},
		"relative":        {Options{State: s.state, Roots: []string{"x"}}, "is no absolute path"},
		"missing":         {Options{State: s.state, Roots: []string{s.root + "/none"}}, "does not exist"},
		"a file":          {Options{State: s.state, Roots: []string{s.root + "/file"}}, "is no folder"},
		"the whole":       {Options{State: s.state, Roots: []string{"/"}}, "is no folder that can have a layer"},
		"overlap":         {Options{State: s.state, Roots: []string{s.root, s.root + "/in"}}, "overlaps another root"},
		"state in root":   {Options{State: s.root + "/state", Roots: []string{s.root}}, "has the state folder in it"},
		"root in state":   {Options{State: outer, Roots: []string{s.root}}, "or is in it"},
		"mounts in it":    {Options{State: s.state, Roots: []string{"/dev"}}, "has another file system mounted in it"},
		"long label":      {Options{State: s.state, Roots: []string{s.root}, Label: strings.Repeat("x", 201)}, "a label is UTF-8"},
		"no state":        {Options{Roots: []string{s.root}}, "has no absolute path"},
		"state of a file": {Options{State: s.root + "/file", Roots: []string{s.root}}, "put the state on a volume"},
	}
	for name, row := range rows {
		_, err := Open(row.o)
		require.ErrorContains(t, err, row.want, name)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(s.root, "state")))
	_, err := Load(s.state, "../../etc")
	require.ErrorIs(t, err, ErrNoLayer)
	require.ErrorIs(t, DiscardFolder(s.state, "../root"), ErrNoLayer)
	require.DirExists(t, s.root)
}

// On an overlay, as most containers have for their root, Open says where to put the state.
func TestStateOnOverlay(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"state/": "", "root/": ""})
		l := s.open(t)
		said := runIn(t, l, "", "SNAPSHOT_OPEN="+s.root)
		require.Contains(t, said, "true snapshot: state folder ")
		require.Contains(t, said, "is on an overlay, as containers have it, and the kernel takes no upper layer there (EINVAL)")
		require.Contains(t, said, "put the state on a volume")
	})
}

// A root that another folder took the place of is not written to.
func TestAnotherRoot(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": "1"})
	l := s.open(t)
	fillUpper(t, l, map[string]string{"a": "2"})
	digest := listChanges(t, l).Digest
	runDirectly(t, filepath.Dir(s.root), "mv root old; mkdir root; echo 1 >root/a")
	before := dumpTree(t, s.root)
	_, err := l.Commit(t.Context(), digest, CommitOptions{})
	var root *RootError
	require.ErrorAs(t, err, &root)
	_, err = mount.Detach(l.Mounts().Roots[0])
	require.ErrorIs(t, err, mount.ErrMoved)
	require.Equal(t, before, dumpTree(t, s.root))
}

// Two processes don't work on one layer.
func TestBusy(t *testing.T) {
	s := newSite(t, false)
	l := s.open(t, func(o *Options) { o.Label = "call-1" })
	other, err := Load(s.state, l.ID())
	require.NoError(t, err)
	require.Equal(t, "call-1", other.Label())
	require.Equal(t, l.Mounts(), other.Mounts())
	unlock, err := l.lock()
	require.NoError(t, err)
	_, err = other.Commit(t.Context(), listChanges(t, l).Digest, CommitOptions{})
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorIs(t, other.Discard(), ErrBusy)
	unlock()
	require.NoError(t, other.Discard())
}

// A layer of several roots is listed and committed as one, and one root's conflict refuses all.
func TestSeveralRoots(t *testing.T) {
	s := newSite(t, false)
	second := filepath.Join(filepath.Dir(s.root), "second")
	fillTree(t, s.root, map[string]string{"a": "1"})
	fillTree(t, second, map[string]string{"a": "1"})
	for _, clash := range []bool{true, false} {
		l := s.open(t, func(o *Options) { o.Roots = append(o.Roots, second) })
		runIn(t, l, `echo 2 >a; echo 2 >"`+second+`/a"`)
		if clash {
			runDirectly(t, second, "echo 3 >a")
		}
		c := listChanges(t, l)
		require.Equal(t, []int{0, 1}, []int{c.List[0].Root, c.List[1].Root})
		_, err := l.Commit(t.Context(), c.Digest, CommitOptions{})
		require.Equal(t, clash, err != nil)
		a, err := os.ReadFile(filepath.Join(s.root, "a"))
		require.NoError(t, err)
		require.Equal(t, clash, bytes.Equal(a, []byte("1")))
	}
}

// What never ran to its end has no description, and is still removed.
func TestHalfOpened(t *testing.T) {
	s := newSite(t, false)
	l := s.open(t)
	require.NoError(t, os.Remove(filepath.Join(l.folder, metaName)))
	ids, err := IDs(s.state)
	require.NoError(t, err)
	require.Equal(t, []string{l.ID()}, ids)
	_, err = Load(s.state, l.ID())
	require.ErrorIs(t, err, ErrNoLayer)
	require.NoError(t, DiscardFolder(s.state, l.ID()))
	require.NoDirExists(t, l.folder)
}
