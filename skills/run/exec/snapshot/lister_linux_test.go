package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/snapshot/mount"
)

// What can't be committed refuses the commit, which then writes nothing; or it stays behind
// where the caller says so.
func TestRefused(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"sub/f": "f"})
		before := dumpTree(t, s.root)
		l := s.open(t, func(o *Options) { o.LinkTargets = []string{"/usr"} })
		runIn(t, l, `mkfifo pipe; ln -s /etc/passwd out; ln -s ../../x sub/up; ln -s /usr/bin/env env; ln -s ../sub sub/in
			ln -s sub/../../y sneaky; ln -s "$PWD/sub/f" abs; echo good >good`)
		listen(t, filepath.Join(l.rootFolder(0), mount.Upper, "socket"))
		c := listChanges(t, l)
		require.Equal(t, []string{
			"created link abs to " + s.root + "/sub/f",
			"created link env to /usr/bin/env",
			"created file good 0644",
			"created link out to /etc/passwd refused link",
			"created pipe pipe refused type",
			"created link sneaky to sub/../../y refused link",
			"created socket socket refused type",
			"created link sub/in to ../sub",
			"created link sub/up to ../../x refused link",
		}, showLines(c.List))
		require.Len(t, c.Refused(), 5)

		_, err := l.Commit(t.Context(), c.Digest, CommitOptions{})
		var refused *RefusedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, c.Refused(), refused.Changes)
		require.Equal(t, before, dumpTree(t, s.root))

		report, err := l.Commit(t.Context(), c.Digest, CommitOptions{LeaveRefused: true})
		require.NoError(t, err)
		require.Equal(t, Report{Digest: c.Digest, Written: 4, Left: 5}, report)
		require.Equal(t, []string{
			`"." folder 0755`, `"abs" link -> ` + s.root + "/sub/f", `"env" link -> /usr/bin/env`, `"good" file 0644 "good\n"`,
			`"sub" folder 0755`, `"sub/f" file 0644 "f"`, `"sub/in" link -> ../sub`,
		}, dumpTree(t, s.root))
	})
}

// A link that leads outside through a link that was there before is refused too: its text
// alone says nothing of that.
func TestRefusedThroughALink(t *testing.T) {
	s := newSite(t, false)
	outside := filepath.Join(filepath.Dir(s.root), "outside")
	fillTree(t, s.root, map[string]string{"ext": "->" + outside, "up": "->..", "tool": "->/usr/bin/env", "d/f": "f",
		"in": "->d", "self": "->" + s.root,
		"loop": "->loop", "chain": "->in/../ext"})
	l := s.open(t, func(o *Options) { o.LinkTargets = []string{"/usr"} })
	runIn(t, l,
		`ln -s ext/keys a; ln -s ../ext/keys d/b; ln -s up/outside c; ln -s "$PWD/ext/keys" e; ln -s self/ext/keys g; ln -s loop h
		ln -s chain/keys i; ln -s tool j; ln -s in/f k; ln -s self/d/f m; ln -s none/f n; ln -s ext o; mkdir p; ln -s ../in/none p/q`)
	require.Equal(t, []string{
		"created link a to ext/keys refused link", "created link c to up/outside refused link",
		"created link d/b to ../ext/keys refused link",
		"created link e to " + s.root + "/ext/keys refused link", "created link g to self/ext/keys refused link",
		"created link h to loop refused link", "created link i to chain/keys refused link", "created link j to tool",
		"created link k to in/f",
		"created link m to self/d/f", "created link n to none/f", "created link o to ext refused link",
		"created folder p 0755", "created link p/q to ../in/none",
	}, showLines(listChanges(t, l).List))
}

// listen leaves a socket, by a short way since a socket's address is short.
func listen(t *testing.T, path string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Chdir(filepath.Dir(path))
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Base(path)}))
	require.NoError(t, unix.Close(fd))
}

// What its owner can't read isn't committed. Root reads everything.
func TestUnreadable(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"was/x": "x"})
		l := s.open(t)
		runIn(t, l, `echo 1 >f; chmod 000 f; mkdir d; echo 1 >d/f; chmod 600 d; chmod 300 was`)
		want := []string{"created folder d refused unreadable", "created file f refused unreadable", "changed folder was refused unreadable"}
		got := showLines(listChanges(t, l).Refused())
		if os.Geteuid() == 0 {
			want = []string{"created folder d refused unreadable", "changed folder was refused unreadable"}
		}
		for i, line := range got {
			got[i] = strings.Replace(line, " 0000", "", 1)
		}
		require.Equal(t, want, got)
	})
}

// No setuid bit, no setgid bit and no overlay attribute comes out, and the list says so. A
// user's own attributes do.
func TestStripped(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for _, apart := range []bool{false, true} {
			s := newSite(t, apart)
			fillTree(t, s.root, map[string]string{"old": "old", "sub/x": "x", "again/x": "x"})
			l := s.open(t)
			runIn(t, l, `cp /bin/true s; chmod 6755 s; chmod 4711 old; mkdir g; chmod 2775 g; echo more >>sub/x; chmod 444 sub/x
				rm -r again; mkdir again`)
			upper := filepath.Join(l.rootFolder(0), mount.Upper)
			for _, name := range []string{"s", "g", "sub/x"} {
				require.NoError(t, unix.Chmod(filepath.Join(upper, "sub/x"), 0o644))
				require.NoError(t, unix.Setxattr(filepath.Join(upper, name), "user.note", []byte("kept"), 0))
				require.NoError(t, unix.Setxattr(filepath.Join(upper, name), "user.overlay.overlay.opaque", []byte("y"), 0))
			}
			c := listChanges(t, l)
			require.Equal(t, []string{
				"replaced folder again", "deleted - again/x was file lost 1",
				"created folder g 0775 stripped setgid", "attributes file old 0711 stripped setuid", "created file s 0755 stripped setuid,setgid",
				"changed file sub/x",
			}, showLines(c.List))
			f, err := l.Findings(t.Context(), c, MaxDeleted{Files: 50})
			require.NoError(t, err)
			require.Len(t, f.Stripped, 3)
			_, err = l.Commit(t.Context(), c.Digest, CommitOptions{})
			require.NoError(t, err)
			got := dumpTree(t, s.root)
			for i, line := range got {
				got[i], _, _ = strings.Cut(line, ` "\x7f`)
			}
			require.Equal(t, []string{
				`"." folder 0755`, `"again" folder 0755`, `"g" folder 0775 [user.note]`, `"old" file 0711 "old"`, `"s" file 0755`,
				`"sub" folder 0755`, `"sub/x" file 0644 "xmore\n" [user.note]`,
			}, got)
			value := make([]byte, 10)
			n, err := unix.Getxattr(filepath.Join(s.root, "s"), "user.note", value)
			require.NoError(t, err)
			require.Equal(t, "kept", string(value[:n]))
		}
	})
}

// A program can't forge what the overlay itself writes.
func TestForgedOpaque(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a/f": "1"})
	l := s.open(t)
	runIn(t, l, "echo 2 >a/g", "SNAPSHOT_ATTR=a=user.overlay.opaque")
	c := listChanges(t, l)
	require.Equal(t, []string{"created file a/g 0644"}, showLines(c.List))
	_, err := l.Commit(t.Context(), c.Digest, CommitOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{`"." folder 0755`, `"a" folder 0755`, `"a/f" file 0644 "1"`, `"a/g" file 0644 "2\n"`}, dumpTree(t, s.root))
}

// A file with other names loses them, which the list says.
func TestHardLinks(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": "1"})
	require.NoError(t, os.Link(filepath.Join(s.root, "a"), filepath.Join(s.root, "b")))
	l := s.open(t)
	runIn(t, l, "echo 2 >a; ln a c")
	c := listChanges(t, l)
	require.Equal(t, []string{"changed file a hard-linked", "created file c 0644"}, showLines(c.List))
	_, err := l.Commit(t.Context(), c.Digest, CommitOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{`"." folder 0755`, `"a" file 0644 "2\n"`, `"b" file 0644 "1"`, `"c" file 0644 "2\n"`}, dumpTree(t, s.root))
}

// A folder of hard-linked files goes as a whole.
func TestRemovedHardLinks(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"d/a": "1", "keep": "k"})
	for _, n := range []string{"b", "c"} {
		require.NoError(t, os.Link(filepath.Join(s.root, "d/a"), filepath.Join(s.root, "d", n)))
	}
	l := s.open(t)
	runIn(t, l, "rm -r d")
	_, err := l.Commit(t.Context(), listChanges(t, l).Digest, CommitOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{`"." folder 0755`, `"keep" file 0644 "k"`}, dumpTree(t, s.root))
}
