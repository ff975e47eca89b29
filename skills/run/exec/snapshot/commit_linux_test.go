package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// start is the root of most tests.
var start = map[string]string{
	"edit": "old", "keep": "same", "rm": "x", "folder/a": "a", "folder/b": "b", "folder/sub/c": "c", "whole/1": "1", "whole/2": "2",
	"whole/deep/3": "3", "again/1": "1", "again/2": "2", "again/in/x": "x", "tofolder": "file", "tofile/x": "x", "tofile/y/z": "z",
	"link": "->edit", "mode": "m", "name": "moved", "touch": "t", "empty": "full", "tolink": "was a file", "closed/in": "in",
}

// script changes the root in every way that a commit knows.
const script = `
echo new >edit; rm rm; rm -r whole
echo made >made; mkdir -p new/sub; echo 1 >new/sub/one; ln -s one new/sub/link
rm -r again; mkdir again; echo 2 >again/2; mkdir again/in; echo y >again/in/y
rm tofolder; mkdir tofolder; echo in >tofolder/in
rm -r tofile; echo file >tofile
ln -sfn keep link; chmod 600 mode; mv name folder/name; touch -d 2001-01-01 touch; : >empty
rm tolink; ln -s keep tolink
mv folder/sub folder/moved; rm folder/a; echo b2 >folder/b
mkdir ro; echo ro >ro/f; chmod 444 ro/f; chmod 555 ro
chmod 755 closed; echo more >closed/more; chmod 555 closed
chmod 750 .`

var scriptChanges = []string{
	"attributes folder . 0750",
	"replaced folder again",
	"deleted - again/1 was file lost 1",
	"changed file again/2",
	"deleted - again/in/x was file lost 1",
	"created file again/in/y 0644",
	"created file closed/more 0644",
	"changed file edit",
	"changed file empty lost 1",
	"deleted - folder/a was file lost 1",
	"changed file folder/b",
	"created folder folder/moved 0755",
	"created file folder/moved/c 0644",
	"created file folder/name 0644",
	"deleted - folder/sub was folder lost 1",
	"changed link link to keep",
	"created file made 0644",
	"attributes file mode 0600",
	"deleted - name was file lost 1",
	"created folder new 0755",
	"created folder new/sub 0755",
	"created link new/sub/link to one",
	"created file new/sub/one 0644",
	"deleted - rm was file lost 1",
	"created folder ro 0555",
	"created file ro/f 0444",
	"changed file tofile was folder 0644 lost 2",
	"changed folder tofolder was file 0755 lost 1",
	"created file tofolder/in 0644",
	"changed link tolink was file to keep lost 1",
	"touched file touch",
	"deleted - whole was folder lost 3",
}

// prepareRoot fills a root with what the script starts from.
func prepareRoot(t testing.TB, s site) {
	t.Helper()
	fillTree(t, s.root, start)
	require.NoError(t, os.Chmod(filepath.Join(s.root, "closed"), 0o555))
}

// viewDirectly is the tree that the program sees at its end, without the program's own eyes: a copy
// of the root on which the script ran directly.
func viewDirectly(t *testing.T, script string) []string {
	t.Helper()
	s := newSite(t, false)
	prepareRoot(t, s)
	runDirectly(t, s.root, script)
	return dumpTree(t, s.root)
}

// Every kind of change is listed, committed, and gone from the state afterwards; the root is
// what it would be had the program written to it. On one file system and on two.
func TestCommit(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		want := viewDirectly(t, script)
		for _, apart := range []bool{false, true} {
			s := newSite(t, apart)
			prepareRoot(t, s)
			before := dumpTree(t, s.root)
			l := s.open(t)
			runIn(t, l, script)
			require.Equal(t, before, dumpTree(t, s.root), "the program wrote to the root itself")

			changes, err := l.Changes(t.Context())
			require.NoError(t, err)
			require.Equal(t, scriptChanges, showLines(changes.List))
			again, err := l.Changes(t.Context())
			require.NoError(t, err)
			require.Equal(t, changes, again)

			report, err := l.Commit(t.Context(), changes.Digest, CommitOptions{})
			require.NoError(t, err)
			require.Equal(t, Report{Digest: changes.Digest, Written: 25, Deleted: 7}, report)
			require.Equal(t, want, dumpTree(t, s.root))
			st, err := os.Stat(filepath.Join(s.root, "touch"))
			require.NoError(t, err)
			require.Equal(t, 2001, st.ModTime().Year())

			state, err := l.State()
			require.NoError(t, err)
			require.Equal(t, StateCommitted, state)
			_, err = l.Commit(t.Context(), changes.Digest, CommitOptions{})
			require.ErrorIs(t, err, ErrBegun)
			report, err = l.Resume(t.Context())
			require.NoError(t, err)
			require.Equal(t, changes.Digest, report.Digest)
			require.Equal(t, want, dumpTree(t, s.root))
			require.NoError(t, l.Discard())
			ids, err := IDs(s.state)
			require.NoError(t, err)
			require.Empty(t, ids)
		}
	})
}

// What is thrown away leaves the root byte for byte as it was, whatever the program left.
func TestDiscard(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		s := newSite(t, false)
		prepareRoot(t, s)
		before := dumpTree(t, s.root)
		l := s.open(t)
		runIn(t, l, `chmod 755 closed; rm -rf ./*; mkdir -p a/b; echo x >a/b/c; chmod 000 a/b a
			p=$(printf "d/%.0s" {1..400}); mkdir -p deep/$p; echo x >deep/$p/x; chmod 500 deep/$p`)
		_, err := l.Resume(t.Context())
		require.ErrorIs(t, err, ErrNotBegun)
		require.NoError(t, l.Discard())
		require.Equal(t, before, dumpTree(t, s.root))
		ids, err := IDs(s.state)
		require.NoError(t, err)
		require.Empty(t, ids)
		_, err = Load(s.state, l.ID())
		require.ErrorIs(t, err, ErrNoLayer)
	})
}

// The digest is over what was done and where, and over nothing of the layer.
func TestDigest(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": "1"})
	digest := func(script string) string {
		l := s.open(t)
		runIn(t, l, script)
		c, err := l.Changes(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.Discard())
		return c.Digest
	}
	one := digest("echo 2 >a")
	require.Equal(t, one, digest("echo 2 >a"))
	for _, other := range []string{"echo 3 >a", "echo 2 >a; chmod 600 a", "echo 2 >b", "rm a", "true", "ln -sf x a", "mkdir a.d"} {
		require.NotEqual(t, one, digest(other), other)
	}
}

// A commit of another digest than the layer's writes nothing.
func TestChangedAfterApproval(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": "1"})
	l := s.open(t)
	runIn(t, l, "echo 2 >a")
	c, err := l.Changes(t.Context())
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(sumOf("2\n")), c.List[0].SHA256)
	upper := filepath.Join(l.rootFolder(0), "upper", "a")
	require.NoError(t, os.WriteFile(upper, []byte("3\n"), 0o644))
	_, err = l.Commit(t.Context(), c.Digest, CommitOptions{})
	require.ErrorIs(t, err, ErrDigest)
	require.Equal(t, []string{`"." folder 0755`, `"a" file 0644 "1"`}, dumpTree(t, s.root))
}

func sumOf(s string) []byte {
	b := sha256.Sum256([]byte(s))
	return b[:]
}
