package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

var hostileNames = []string{
	"a b", " lead", "trail ", "-rf", "--", "a\nb", "a\tb",
	"\x1b[31mred", "\xff\xfe", "a\"b'c`d", "$(id)", "`id`", "\\x41", "\u202egnp.exe", "...", ".\x01", "*",
	"~", "c:\\x",
	".vedette-0.aside", ".wh.f", strings.Repeat("n", 255), "upper", "created file - 0644", "\u00e9", "e\u0301",
}

// Names that a program chose come out byte for byte, and nothing else does.
func TestHostileNames(t *testing.T) {
	for _, apart := range []bool{false, true} {
		s := newSite(t, apart)
		for _, n := range hostileNames {
			fillTree(t, s.root, map[string]string{n: "1"})
			fillTree(t, s.root, map[string]string{"gone/" + n: "1"})
		}
		l := s.open(t)
		for _, n := range hostileNames {
			fillUpper(t, l, map[string]string{n: "2", "new/" + n: "3"})
			require.NoError(t, os.MkdirAll(filepath.Join(l.rootFolder(0), mount.Upper, "gone"), 0o755))
			require.NoError(t, unix.Mknod(filepath.Join(l.rootFolder(0), mount.Upper, "gone", n), unix.S_IFCHR, 0))
		}
		c := listChanges(t, l)
		require.Len(t, c.List, 3*len(hostileNames)+1)
		for _, one := range c.List {
			require.NotContains(t, one.Show(), "\n")
			require.NotContains(t, one.Show(), "\x1b")
		}
		_, err := l.Commit(t.Context(), c.Digest, CommitOptions{})
		require.NoError(t, err)
		for _, n := range hostileNames {
			got, err := os.ReadFile(filepath.Join(s.root, n))
			require.NoError(t, err)
			require.Equal(t, "2", string(got))
			got, err = os.ReadFile(filepath.Join(s.root, "new", n))
			require.NoError(t, err)
			require.Equal(t, "3", string(got))
		}
		left, err := os.ReadDir(filepath.Join(s.root, "gone"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// FuzzUpper lists and commits an upper layer of hostile names, contents and links. The root
// has the name too, or hasn't. The outside stays as it is.
func FuzzUpper(f *testing.F) {
	for i, n := range hostileNames {
		f.Add(n, "content", "target/"+n, uint8(i))
	}
	f.Add("a", "b", "../../outside", uint8(3))
	f.Add("l", "", "/etc", uint8(7))
	f.Fuzz(func(t *testing.T, name, content, target string, how uint8) {
		if name == "" || name == "." || name == ".." || len(name) > 200 || strings.ContainsAny(name, "/\x00") ||
			target == "" || len(target) > 2000 || strings.Contains(target, "\x00") || name == "link" || name == "keep" {
			t.Skip("no such name can be")
		}
		s := newSite(t, false)
		outside := filepath.Join(filepath.Dir(s.root), "outside")
		fillTree(t, outside, map[string]string{"f": "outside"})
		fillTree(t, s.root, map[string]string{"keep": "keep"})
		if how&1 != 0 {
			fillTree(t, s.root, map[string]string{name: "old"})
		} else if how&2 != 0 {
			fillTree(t, s.root, map[string]string{name + "/in": "old"})
		}
		l := s.open(t)
		upper := filepath.Join(l.rootFolder(0), mount.Upper)
		switch {
		case how&4 != 0:
			require.NoError(t, os.WriteFile(filepath.Join(upper, name), []byte(content), 0o644))
		case how&8 != 0:
			require.NoError(t, os.Mkdir(filepath.Join(upper, name), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(upper, name, name), []byte(content), 0o644))
		default:
			require.NoError(t, unix.Mknod(filepath.Join(upper, name), unix.S_IFCHR, 0))
		}
		require.NoError(t, os.Symlink(target, filepath.Join(upper, "link")))
		c, err := l.Changes(t.Context())
		require.NoError(t, err)
		_, err = l.Commit(t.Context(), c.Digest, CommitOptions{LeaveRefused: true})
		var conflict *ConflictError
		if !errors.As(err, &conflict) {
			require.NoError(t, err)
		}
		require.Equal(t, []string{`"." folder 0755`, `"f" file 0644 "outside"`}, dumpTree(t, outside))
		if link, err := os.Readlink(filepath.Join(s.root, "link")); err == nil {
			require.True(t, staysInside(s.root, "link", link, nil))
		}
		require.NoError(t, l.Discard())
	})
}
