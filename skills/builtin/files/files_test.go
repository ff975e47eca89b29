//go:build unix

package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type args = map[string]any

// desk holds the five executors over one folder.
type desk struct {
	*runtest.Kit
	root   string
	skills map[string]*skills.Skill
	execs  map[string]skills.Executor
}

func open(t *testing.T, options any) *desk {
	t.Helper()
	d := &desk{Kit: runtest.New(t), root: t.TempDir(), skills: map[string]*skills.Skill{}, execs: map[string]skills.Executor{}}
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }
	for _, spec := range Specs() {
		s := runtest.Compile(t, spec, options)
		e, err := New(s, d.Redeemer, Options{Root: d.root, Now: now})
		require.NoError(t, err)
		d.skills[spec.Name], d.execs[spec.Name] = s, e
	}
	return d
}

func (d *desk) do(t *testing.T, op string, a args) (string, error) {
	t.Helper()
	res, err := d.Run(t, d.execs["files."+op], d.skills["files."+op], a)
	if err == nil {
		require.Equal(t, isolation, res.Isolation)
	}
	return res.Content, err
}

func (d *desk) put(t *testing.T, name, content string) {
	t.Helper()
	p := filepath.Join(d.root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
	require.NoError(t, os.WriteFile(p, []byte(content), 0o644))
}

func (d *desk) get(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.root, name))
	require.NoError(t, err)
	return string(b)
}

// tree lists every name below the root with its content, to see that nothing changed.
func (d *desk) tree(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(d.root, func(p string, e fs.DirEntry, err error) error {
		fmt.Fprintf(&b, "%s %v", p, e.Type())
		if e.Type().IsRegular() {
			c, _ := os.ReadFile(p)
			fmt.Fprintf(&b, " %q", c)
		}
		b.WriteByte('\n')
		return err
	}))
	return b.String()
}

// What is written is read back, by relative and absolute path. Replacing keeps the mode and
// leaves no temporary file.
func TestWriteAndRead(t *testing.T) {
	d := open(t, nil)
	for _, content := range []string{"", "héllo\n", strings.Repeat("long line\n", 1000)} {
		_, err := d.do(t, "write", args{"path": "a/b/c.txt", "content": content})
		require.NoError(t, err)
		for _, p := range []string{"a/b/c.txt", "./a/../a/b/c.txt", filepath.Join(d.root, "a/b/c.txt")} {
			got, err := d.do(t, "read", args{"path": p})
			require.NoError(t, err)
			require.Equal(t, content, got)
		}
		require.NoError(t, os.Chmod(filepath.Join(d.root, "a/b/c.txt"), 0o600))
	}
	st, err := os.Stat(filepath.Join(d.root, "a/b/c.txt"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode().Perm())
	require.NotContains(t, d.tree(t), tempPrefix)
}

// Pages of a file join up again and never split a character.
func TestReadInPages(t *testing.T) {
	d := open(t, nil)
	text := strings.Repeat("aé€😀", 100)
	d.put(t, "f", text)
	var got strings.Builder
	for offset := 0; offset < len(text); {
		page, err := d.do(t, "read", args{"path": "f", "offset": offset, "max_bytes": 7})
		require.NoError(t, err)
		require.NotEmpty(t, page)
		got.WriteString(page)
		offset += len(page)
	}
	require.Equal(t, text, got.String())
	_, err := d.do(t, "read", args{"path": "f", "offset": len(text) + 1})
	require.ErrorIs(t, err, skills.ErrNoEffect)
}

// No path leads out of the root or to what is no plain file, for any skill.
func TestBadPaths(t *testing.T) {
	d := open(t, nil)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("canary"), 0o644))
	d.put(t, "dir/file", "x")
	d.put(t, ".archive/old", "canary")
	require.NoError(t, os.Symlink(secret, filepath.Join(d.root, "link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(d.root, "linkdir")))
	require.NoError(t, os.Symlink("../"+filepath.Base(outside), filepath.Join(d.root, "rellink")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(d.root, "dev")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(d.root, "fifo"), 0o600))
	paths := []string{"../secret", "dir/../../secret", "..", secret, "/etc/passwd", "link", "linkdir/secret", "linkdir/new", "rellink/secret",
		"dev", "fifo",
		"dir", ".", "a\x00b", ".archive/old", ".ARCHIVE/old", "./.archive/old", "dir/../.archive/old", ".vedette-x.tmp", "dir/file/below",
		strings.Repeat("x", 300), filepath.Join(d.root, "..", filepath.Base(outside), "secret")}
	// Only root can make a device.
	if err := syscall.Mknod(filepath.Join(d.root, "null"), syscall.S_IFCHR|0o666, 1<<8|3); err == nil {
		paths = append(paths, "null")
	} else {
		require.ErrorIs(t, err, syscall.EPERM)
	}
	before := d.tree(t)
	for _, p := range paths {
		for op, a := range map[string]args{"read": {}, "write": {"content": "new"}, "update": {"find": "x", "replace": "y"}, "archive": {}} {
			a["path"] = p
			got, err := d.do(t, op, a)
			require.ErrorIs(t, err, skills.ErrNoEffect, "%s %q", op, p)
			require.NotContains(t, got+err.Error(), "canary")
			require.NotContains(t, err.Error(), outside)
		}
	}
	for _, op := range []string{"read", "archive"} {
		_, err := d.do(t, op, args{"path": "missing"})
		require.ErrorContains(t, err, "no such file")
	}
	require.Equal(t, before, d.tree(t))
	b, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "canary", string(b))
	require.NoFileExists(t, filepath.Join(outside, "new"))
}

// Content that is too large or no text is refused both ways, and a file stays as it was.
func TestBadContent(t *testing.T) {
	d := open(t, nil)
	d.put(t, "f", "kept")
	big := strings.Repeat("x", 10<<20)
	for name, content := range map[string]string{"10 MB": big, "NUL": "a\x00b"} {
		_, err := d.do(t, "write", args{"path": "f", "content": content})
		require.ErrorIs(t, err, skills.ErrNoEffect, name)
	}
	require.Equal(t, "kept", d.get(t, "f"))
	d.put(t, "big", big)
	d.put(t, "bin", "MZ\x90\xff\x00")
	d.put(t, "latin", "caf\xe9")
	for _, p := range []string{"big", "bin", "latin"} {
		_, err := d.do(t, "read", args{"path": p})
		require.ErrorIs(t, err, skills.ErrNoEffect, p)
		_, err = d.do(t, "update", args{"path": p, "find": "c", "replace": "d"})
		require.ErrorIs(t, err, skills.ErrNoEffect, p)
	}
	d.put(t, "ones", strings.Repeat("x", 1<<20))
	_, err := d.do(t, "update", args{"path": "ones", "find": "x", "replace": "xxxxxxxxxx", "all": true})
	require.ErrorIs(t, err, skills.ErrNoEffect)
}

// A text to replace must be there, and once unless all is said.
func TestUpdate(t *testing.T) {
	d := open(t, nil)
	d.put(t, "f", "one two two")
	for _, find := range []string{"three", "two", "ONE"} {
		_, err := d.do(t, "update", args{"path": "f", "find": find, "replace": "x"})
		require.ErrorIs(t, err, skills.ErrNoEffect, find)
	}
	_, err := d.do(t, "update", args{"path": "f", "find": "one", "replace": "1"})
	require.NoError(t, err)
	_, err = d.do(t, "update", args{"path": "f", "find": "two", "replace": "2", "all": true})
	require.NoError(t, err)
	require.Equal(t, "1 2 2", d.get(t, "f"))
}

// Writers at the same time lose no update.
func TestUpdatesTakeTurns(t *testing.T) {
	d := open(t, nil)
	var want strings.Builder
	for i := range 20 {
		fmt.Fprintf(&want, "<%d>", i)
	}
	d.put(t, "f", want.String())
	errs := make([]error, 20)
	var wg sync.WaitGroup
	s, e := d.skills["files.update"], d.execs["files.update"]
	for i := range errs {
		o := runtest.Order(t, s, args{"path": "f", "find": fmt.Sprintf("<%d>", i), "replace": "."})
		w := d.Issue(t, o)
		wg.Go(func() { _, errs[i] = e.Execute(t.Context(), w, o) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, strings.Repeat(".", 20), d.get(t, "f"))
}

// Archived files are all kept, out of sight and out of reach.
func TestArchive(t *testing.T) {
	d := open(t, nil)
	for i := range 3 {
		d.put(t, "sub/note.txt", fmt.Sprint("version ", i))
		_, err := d.do(t, "archive", args{"path": "sub/note.txt"})
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(d.root, "sub/note.txt"))
	}
	require.Equal(t, "version 0", d.get(t, ".archive/20260102T030405.000000006Z-note.txt"))
	require.Equal(t, "version 2", d.get(t, ".archive/20260102T030405.000000006Z.2-note.txt"))
	got, err := d.do(t, "search", args{"query": "version"})
	require.NoError(t, err)
	require.JSONEq(t, `{"matches":[]}`, got)
}

// Search finds names and lines, within its limit and its glob, and follows no link out.
func TestSearch(t *testing.T) {
	d := open(t, nil)
	d.put(t, "plan.md", "first\nThe Budget is here\n")
	d.put(t, "docs/budget.txt", "nothing\n")
	d.put(t, "docs/bin", "budget\x00")
	require.NoError(t, os.Symlink("/etc", filepath.Join(d.root, "etc")))
	find := func(a args) found {
		got, err := d.do(t, "search", a)
		require.NoError(t, err)
		var f found
		require.NoError(t, json.Unmarshal([]byte(got), &f))
		return f
	}
	require.Equal(t, found{Matches: []match{{Path: "docs/budget.txt"}, {Path: "plan.md", Line: 2, Text: "The Budget is here"}}, Skipped: 1},
		find(args{"query": "bUDget"}))
	require.Equal(t, []match{{Path: "docs/budget.txt"}}, find(args{"query": "budget", "glob": "*.txt"}).Matches)
	require.Equal(t, []match{{Path: "docs/budget.txt"}}, find(args{"query": "budget", "path": "docs"}).Matches)
	require.Empty(t, find(args{"query": "root:"}).Matches)
	limited := find(args{"query": "budget", "limit": 1})
	require.Len(t, limited.Matches, 1)
	require.True(t, limited.Incomplete)
	for _, a := range []args{{"query": "x", "path": "../"}, {"query": "x", "path": "nope"}, {"query": "x", "glob": "[a"},
		{"query": "x", "glob": strings.Repeat("*", 13)}, {"query": "x", "path": ".archive"}, {"query": "x", "path": "etc"}} {
		_, err := d.do(t, "search", a)
		require.ErrorIs(t, err, skills.ErrNoEffect, "%v", a)
	}
}

// Without a valid warrant nothing is read, written or moved.
func TestRefusesWithoutWarrant(t *testing.T) {
	d := open(t, nil)
	d.put(t, "f", "kept")
	before := d.tree(t)
	for op, a := range map[string]args{"write": {"path": "f", "content": "x"}, "update": {"path": "f", "find": "kept", "replace": "x"},
		"archive": {"path": "f"}, "read": {"path": "f"}, "search": {"query": "k"}} {
		d.Unwarranted(t, d.execs["files."+op], d.skills["files."+op], a, func() bool { return d.tree(t) == before })
	}
}

// Options, names and effects that don't fit are reported with their paths.
func TestRefusesBadOptions(t *testing.T) {
	kit := runtest.New(t)
	write := Specs()[2]
	try := func(spec skills.Spec, options any) []string {
		_, err := New(runtest.Compile(t, spec, options), kit.Redeemer, Options{Dir: t.TempDir()})
		return runtest.Paths(err)
	}
	require.Equal(t, []string{"run.builtin.root"}, try(write, nil))
	require.Equal(t, []string{"run.builtin.root"}, try(write, args{"root": "missing"}))
	require.Equal(t, []string{"run.builtin.rot"}, try(write, args{"rot": "."}))
	require.Equal(t, []string{"run.builtin.max_file"}, try(write, args{"root": "/tmp", "max_file": 0}))
	require.Nil(t, try(write, args{"root": "."}))
	mild := write
	mild.Effect = skills.Read
	require.Equal(t, []string{"effect"}, try(mild, args{"root": "."}))
	odd := write
	odd.Name = "files.wirte"
	require.Equal(t, []string{"name"}, try(odd, args{"root": "."}))
}

// Every default spec compiles, and its paths are marked as such.
func TestSpecs(t *testing.T) {
	for _, spec := range Specs() {
		marked := false
		runtest.Compile(t, spec, nil).Walk(args{"path": "p"}, func(a skills.Arg) { marked = a.Marks.Has(skills.Path) })
		require.True(t, marked, spec.Name)
	}
}

// Whatever the argument, a name stays local and out of the archive.
func FuzzName(f *testing.F) {
	for _, s := range []string{"a", "../a", "/etc/passwd", ".archive/x", "a/../.archive", "a\x00", "//x", "././/.archive"} {
		f.Add(s)
	}
	fo := &folder{path: "/srv/work"}
	f.Fuzz(func(t *testing.T, arg string) {
		name, err := fo.resolveName(arg)
		if err == nil && (!filepath.IsLocal(name) || strings.HasPrefix(strings.ToLower(name)+"/", archiveDir+"/")) {
			t.Fatalf("%q gave %q", arg, name)
		}
	})
}
