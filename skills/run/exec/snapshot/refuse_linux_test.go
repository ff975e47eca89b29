package snapshot

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
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

// What a program writes to a folder that it closed to readers isn't out of measure.
func TestMeasureOfAClosedFolder(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for _, script := range []string{
			"mkdir d; chmod 300 d; head -c 300000 /dev/zero >d/hidden", "mkdir d; chmod 400 d; head -c 300000 /dev/zero >seen",
			"chmod 300 .; head -c 300000 /dev/zero >hidden",
		} {
			s := newSite(t, false)
			l := s.open(t, func(o *Options) { o.Limits = Limits{Bytes: 200_000} })
			runIn(t, l, script)
			_, err := l.Measure(t.Context())
			var limit *LimitError
			require.ErrorAs(t, err, &limit, script)
		}
	})
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

// A layer is bounded in paths, bytes and depth, while the program runs and when it is listed.
func TestLimits(t *testing.T) {
	rows := map[string]struct {
		script string
		limits Limits
		want   *LimitError
		usage  bool // seen while the program runs
	}{
		"paths": {"for i in $(seq 30); do : >$i; done", Limits{Changes: 20}, &LimitError{"changes", 20}, true},
		"paths in folder": {"mkdir a b c; for i in $(seq 9); do : >a/$i; : >b/$i; : >c/$i; done", Limits{Changes: 20},
			&LimitError{"changes", 20}, true},
		"removed": {"rm -r many", Limits{Changes: 20}, &LimitError{"changes", 20}, false},
		"bytes":   {"head -c 300000 /dev/zero >zero", Limits{Bytes: 200_000}, &LimitError{"bytes", 200_000}, true},
		"sparse":  {"truncate -s 1T zero", Limits{}, &LimitError{"bytes", 1 << 30}, false},
		"bytes of many": {"for i in $(seq 4); do head -c 60000 /dev/zero >$i; done", Limits{Bytes: 200_000},
			&LimitError{"bytes", 200_000}, true},
		"depth": {"mkdir -p 1/2/3/4/5/6/7", Limits{Depth: 5}, &LimitError{"folders in each other", 5}, true},
		"path": {`n=$(printf "n%.0s" {1..250}); for i in $(seq 17); do mkdir $n; cd $n; done`, Limits{},
			&LimitError{"bytes of a path", maxPath}, false},
		"within": {"mkdir -p 1/2; head -c 1000 /dev/zero >1/2/z", Limits{Changes: 20, Bytes: 200_000, Depth: 3}, nil, false},
	}
	for name, row := range rows {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"many/": ""})
		runDirectly(t, s.root, "for i in $(seq 30); do : >many/$i; done")
		before := dumpTree(t, s.root)
		l := s.open(t, func(o *Options) { o.Limits = row.limits })
		runIn(t, l, row.script)
		_, err := l.Measure(t.Context())
		if row.usage {
			require.Equal(t, row.want, err, name)
		} else {
			require.NoError(t, err, name)
		}
		_, err = l.Changes(t.Context())
		if row.want == nil {
			require.NoError(t, err, name)
		} else {
			var limit *LimitError
			require.ErrorAs(t, err, &limit, name)
			require.Equal(t, row.want, limit, name)
		}
		require.Equal(t, before, dumpTree(t, s.root))
		require.NoError(t, l.Discard(), name)
	}
}

// A program that takes most of the disk is ended, also where no name leads to what it took.
func TestMeasureOfTheDisk(t *testing.T) {
	s := newSite(t, false)
	l := s.open(t)
	_, err := l.Measure(t.Context())
	require.NoError(t, err)
	again, err := Load(s.state, l.ID())
	require.NoError(t, err)
	require.Equal(t, l.meta.Free, again.meta.Free)
	require.Positive(t, again.meta.Free)
	again.meta.Free *= 5 // as if four fifths had been taken since
	_, err = again.Measure(t.Context())
	require.Equal(t, &LimitError{"percent of the disk that was free", 75}, err)
}

// A person is asked where many files are gone or something is written that runs later.
func TestFindings(t *testing.T) {
	limit := MaxDeleted{Files: 50, Percent: 20}
	rows := map[string]struct {
		files  int // of the root, besides one in .git/hooks
		script string
		want   []Removal
		many   bool
		later  []string
	}{
		"nothing":               {200, "true", nil, false, nil},
		"few":                   {200, "rm {1..40}", []Removal{{0, 40, 201, true}}, false, nil},
		"beyond the count":      {300, "rm {1..51}", []Removal{{0, 51, 256, true}}, true, nil},
		"a fifth":               {9, "rm 1 2", []Removal{{0, 2, 10, false}}, false, nil},
		"beyond a fifth":        {9, "rm 1 2 3", []Removal{{0, 3, 10, false}}, true, nil},
		"all of it":             {9, "rm -r ./* .git", []Removal{{0, 10, 10, false}}, true, nil},
		"emptied":               {9, ": >1; : >2; : >3", []Removal{{0, 3, 10, false}}, true, nil},
		"replaced by links":     {9, "ln -sf 9 1; ln -sf 9 2; ln -sf 9 3", []Removal{{0, 3, 10, false}}, true, nil},
		"made again":            {9, "rm 1 2 3; echo x >1; echo x >2; echo x >3", nil, false, nil},
		"changed":               {9, "for i in {1..9}; do echo x >$i; done", nil, false, nil},
		"a hook":                {9, "echo x >.git/hooks/post-commit", nil, false, []string{".git/hooks/post-commit"}},
		"a hook made to run":    {9, "chmod 755 .git/hooks/old", nil, false, []string{".git/hooks/old"}},
		"a hook that goes":      {9, "rm .git/hooks/old", []Removal{{0, 1, 6, true}}, false, nil},
		"hooks by a link":       {9, "rm -r .git/hooks; ln -s ../sub .git/hooks", []Removal{{0, 1, 6, true}}, false, []string{".git/hooks"}},
		"configuration and env": {9, "echo x >.git/config; echo x >.envrc; echo x >Makefile", nil, false, []string{".envrc", ".git/config"}},
		"a new repository":      {9, "mkdir -p new/.git; printf '[core]\\n\\tbare = false\\n' >new/.git/config", nil, false, nil},
		"that runs something": {9, "mkdir -p new/.git; printf '[core]\\n\\thooksPath = h\\n' >new/.git/config", nil, false,
			[]string{"new/.git/config"}},
		"with a hook": {9, "mkdir -p new/.git/hooks; echo x >new/.git/hooks/update; : >new/.git/config", nil, false,
			[]string{"new/.git/hooks/update"}},
		"an old one, plain":     {9, "printf '[core]\\n\\tbare = false\\n' >.git/config", nil, false, []string{".git/config"}},
		"an old one, made anew": {9, "rm -r .git; mkdir .git; : >.git/config", []Removal{{0, 1, 6, true}}, false, []string{".git/config"}},
	}
	for name, row := range rows {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{".git/hooks/old": "old", "sub/": ""})
		for i := range row.files {
			require.NoError(t, os.WriteFile(filepath.Join(s.root, strconv.Itoa(i+1)), []byte("x"), 0o644))
		}
		l := s.open(t)
		runIn(t, l, row.script)
		f, err := l.Findings(t.Context(), listChanges(t, l), limit)
		require.NoError(t, err)
		require.Equal(t, row.want, f.Removals, name)
		require.Equal(t, row.many, f.TooMany, name)
		var later []string
		for _, c := range f.RunsLater {
			later = append(later, c.Path)
		}
		require.Equal(t, row.later, later, name)
		require.Equal(t, row.many || row.later != nil, f.Asks(), name)
	}
}

// A folder that git takes for a bare repository runs what its configuration says, whatever
// its name is and in however many calls it was made.
func TestABareRepositoryRunsLater(t *testing.T) {
	for name, row := range map[string]struct {
		script string
		want   []string
	}{
		"whole": {"mkdir -p b/objects b/refs; echo ref >b/HEAD; echo x >b/config", []string{"b/HEAD", "b/config",
			"b/objects", "b/refs"}},
		"last file":  {"echo x >half/config", []string{"half/config"}},
		"at the top": {"mkdir objects refs; echo ref >HEAD; echo x >config", []string{"HEAD", "config", "objects", "refs"}},
		"by a link": {"mkdir -p l/refs; ln -s ../half/objects l/objects; echo r >l/HEAD; echo x >l/config",
			[]string{"l/HEAD", "l/config", "l/objects", "l/refs"}},
		"incomplete":   {"mkdir -p c/objects; echo x >c/config; echo x >c/HEAD.md", nil},
		"taken apart":  {"rm whole/HEAD; echo x >whole/config", nil},
		"in its trees": {"echo x >whole/objects/x", nil},
	} {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"half/objects/": "", "half/refs/": "", "half/HEAD": "r",
			"whole/objects/": "", "whole/refs/": "",
			"whole/HEAD": "r", "whole/config": ""})
		l := s.open(t)
		runIn(t, l, row.script)
		f, err := l.Findings(t.Context(), listChanges(t, l), MaxDeleted{Files: 50})
		require.NoError(t, err)
		var later []string
		for _, c := range f.RunsLater {
			later = append(later, c.Path)
		}
		require.Equal(t, row.want, later, name)
	}
}

// A file that keeps less than a tenth of its bytes counts as one that is gone.
func TestAFileCutToLittleIsLost(t *testing.T) {
	s := newSite(t, false)
	fillTree(t, s.root, map[string]string{"a": strings.Repeat("a", 100), "b": strings.Repeat("b", 100), "c": "c"})
	l := s.open(t)
	runIn(t, l, "echo 12345678 >a; echo 123456789 >b; echo 2 >c")
	f, err := l.Findings(t.Context(), listChanges(t, l), MaxDeleted{Files: 50, Percent: 20})
	require.NoError(t, err)
	require.Equal(t, []Removal{{0, 1, 3, false}}, f.Removals)
	require.True(t, f.TooMany)
}

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
