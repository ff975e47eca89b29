package exec

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// A file that is written to after its name is gone counts against write_limit: the program
// is ended, however long it meant to stay.
func TestNamelessFilesCountAgainstTheLimit(t *testing.T) {
	for name, line := range map[string]string{
		"removed":    "exec 9>new; rm new; head -c 3000000 /dev/zero >&9; sleep 15",
		"replaced":   "exec 9>new; : >other; mv other new; head -c 3000000 /dev/zero >&9; sleep 15",
		"in a child": "exec 9>new; rm new; setsid sh -c 'head -c 3000000 /dev/zero >&9; sleep 15' & exec 9>&-; sleep 15",
	} {
		sh := newShell(t, opts{"write_limit": 100_000})
		_, _, err := sh.do(t, line)
		require.ErrorContains(t, err, "exceed the limit of 100000 bytes", name)
		require.ErrorIs(t, err, skills.ErrNoEffect, name)
		require.Zero(t, sh.layers(t), name)
	}
}

// A program that writes over many files with as many bytes asks like one that removes them,
// and the call says how many; edits that keep most of what was there don't ask.
func TestOverwritingAsks(t *testing.T) {
	long := strings.Repeat("some words of a text that stays what it is\n", 20)
	for name, row := range map[string]struct {
		line string
		want []string
		over int
	}{
		"encrypted in place": {`for f in doc*; do head -c $(stat -c %s $f) /dev/urandom >tmp; cat tmp >$f; done; rm tmp`,
			[]string{ReasonDeleted}, 10},
		"one after another": {`for f in doc1 doc2 doc3 doc4 doc5; do head -c $(stat -c %s $f) /dev/urandom | dd of=$f conv=notrunc ` +
			`status=none; done`,
			[]string{ReasonDeleted}, 5},
		"longer than it was": {`for f in doc*; do head -c 5000 /dev/urandom >$f; done`, []string{ReasonDeleted}, 10},
		"replaced":           {`for f in doc*; do head -c 900 /dev/urandom >new; mv new $f; done`, []string{ReasonDeleted}, 10},
		"edited":             {`sed -i s/text/book/ doc*`, []string{}, 0},
		"indented":           {`sed -i 's/^/\t/' doc*`, []string{}, 0},
		"appended to":        {`for f in doc*; do echo more >>$f; done`, []string{}, 0},
		"two made again":     {`echo other >doc1; head -c 860 /dev/urandom >doc2`, []string{}, 0},
	} {
		sh := newShell(t, nil)
		for i := range 10 {
			require.NoError(t, os.WriteFile(filepath.Join(sh.root, "doc"+strconv.Itoa(i)), []byte(long), 0o600))
		}
		for _, n := range strings.Split("a b c d e f g h i j", " ") {
			require.NoError(t, os.Remove(filepath.Join(sh.root, n)))
		}
		_, args, err := sh.do(t, row.line)
		require.NoError(t, err, name)
		require.Equal(t, row.want, args.Reasons, name)
		require.Equal(t, row.over, args.Overwritten, name)
		for _, p := range args.Paths {
			require.Equal(t, row.over > 0, p.Note == noteOverwritten, name)
		}
	}
}

// What a configuration that was there before names runs later, wherever it lies.
func TestConfiguredPathsAreAskedAbout(t *testing.T) {
	for name, row := range map[string]struct {
		config, line string
		want         []string
	}{
		"a folder of hooks":     {"[core]\n\thooksPath = tools/git\n", "echo x >tools/git/pre-commit", []string{ReasonRunsLater}},
		"beside it":             {"[core]\n\thooksPath = tools/git\n", "echo x >tools/other", []string{}},
		"a program":             {"[core]\n\tfsmonitor = tools/watch\n", "echo x >tools/watch", []string{ReasonRunsLater}},
		"nothing configured":    {"[core]\n\tbare = false\n", "echo x >tools/git/pre-commit", []string{}},
		"nothing configured, 2": {"[core]\n\tbare = false\n", "echo x >tools/watch", []string{}},
	} {
		sh := newShell(t, nil)
		require.NoError(t, os.WriteFile(filepath.Join(sh.root, ".git/config"), []byte(row.config), 0o600))
		require.NoError(t, os.MkdirAll(filepath.Join(sh.root, "tools/git"), 0o755))
		_, args, err := sh.do(t, row.line)
		require.NoError(t, err, name)
		require.Equal(t, row.want, args.Reasons, name)
	}
}

// A person sees which access lists and attributes a change gives and takes.
func TestAttributesAreShown(t *testing.T) {
	sh := newShell(t, nil)
	require.NoError(t, unix.Setxattr(filepath.Join(sh.root, "a"), "user.old", []byte("1"), 0))
	require.NoError(t, unix.Setxattr(filepath.Join(sh.root, "b"), "user.same", []byte("1"), 0))
	_, args, err := sh.do(t, `python3 -c '
import os, struct
os.setxattr("a", "user.note", b"x")
os.removexattr("a", "user.old")
uid = os.getuid()
entries = [(1, 6, 0xffffffff), (2, 7, uid), (4, 4, 0xffffffff), (16, 7, 0xffffffff), (32, 6, 0xffffffff)]
os.setxattr("c", "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
'; echo more >>b`)
	require.NoError(t, err)
	shown := map[string]string{}
	for _, p := range args.Paths {
		shown[filepath.Base(p.Path)] = p.Attrs
	}
	acl := "access list user::rw-,user:" + strconv.Itoa(os.Geteuid()) + ":rwx,group::r--,mask::rwx,other::rw-"
	require.Equal(t, map[string]string{"a": "user.note, without user.old", "b": "", "c": acl}, shown)
}

// A folder that is made in one whose group goes to what is in it comes out like that too.
func TestNewFoldersKeepTheGroupsBit(t *testing.T) {
	sh := newShell(t, nil)
	shared := filepath.Join(sh.root, "shared")
	require.NoError(t, os.Mkdir(shared, 0o755))
	require.NoError(t, unix.Chmod(shared, 0o2775))
	res, args, err := sh.do(t, "mkdir -p shared/new/deep plain; echo x >shared/new/f")
	require.NoError(t, err)
	for _, p := range args.Paths {
		require.Empty(t, p.Note, p.Path)
	}
	_, err = sh.follow(t, res)
	require.NoError(t, err)
	for name, want := range map[string]uint32{"shared": unix.S_ISGID, "shared/new": unix.S_ISGID, "shared/new/deep": unix.S_ISGID,
		"plain": 0, "shared/new/f": 0} {
		var st unix.Stat_t
		require.NoError(t, unix.Stat(filepath.Join(sh.root, name), &st))
		require.Equal(t, want, st.Mode&unix.S_ISGID, name)
	}
}

// A declared path that holds another name of what is guarded is refused like the thing itself.
func TestGuardedHardLinks(t *testing.T) {
	dir, guarded := guardedPlaces(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state/keys/signing"), nil, 0o600))
	for from, to := range map[string]string{"state/v.db": "work/sub/copy", "state/keys/signing": "work/other",
		"conf/vedette.yaml": "links/conf"} {
		require.NoError(t, os.Link(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		key, path, fault string
	}{
		"read the database":         {"read", "work/sub", "holds a hard link to the database"},
		"read it alone":             {"read", "work/sub/copy", "holds a hard link to the database"},
		"write the database":        {"write", "work/sub", "holds a hard link to the database"},
		"read a key":                {"read", "work/other", "holds a hard link to the keys"},
		"read the configuration":    {"read", "links/conf", ""},
		"write the configuration":   {"write", "links/conf", "holds a hard link to the configuration"},
		"a folder without any link": {"write", "work/sub2", ""},
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "work/sub2"), 0o700))
		o := opts{"argv": []string{"true"}, row.key: []string{filepath.Join(dir, row.path)}}
		_, err := New(runtest.Compile(t, spec(o), nil), kit.Redeemer, Options{Dir: dir, Guarded: guarded})
		if row.fault == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, []string{"run.exec." + row.key + "[0]"}, runtest.Paths(err), name)
		require.ErrorContains(t, err, row.fault, name)
		require.ErrorContains(t, err, "; remove that link", name)
	}
}

// Under the landlock grade a program that multiplies comes to an end too, whoever runs Vedette.
func TestProcessesAreBoundedUnderLandlock(t *testing.T) {
	sp := spec(opts{"argv": []string{"/usr/bin/python3", "-c", multiply}, "read": []string{"/proc"}, "isolation": IsolationLandlock,
		"limits": opts{"processes": 20}})
	sp.Timeout = time.Minute
	before, err := os.ReadFile("/proc/sys/kernel/pid_max")
	require.NoError(t, err)
	kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	res, err := kit.Run(t, e, s, opts{"a": ""})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, gradeBoth, res.Isolation)
	require.Equal(t, 7, exit.Code, exit.Stderr)
	require.Equal(t, "Resource temporarily unavailable True\n", res.Content)
	after, err := os.ReadFile("/proc/sys/kernel/pid_max")
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// Where a folder gives its group to what is made in it, a commit does too.
func TestNewFilesGetTheGroupOfTheirFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		require.NotZero(t, os.Getegid(), "an ordinary user has one group, which all is of")
		return
	}
	sh := newShell(t, nil)
	require.NoError(t, os.Chown(sh.root, 0, 1234))
	require.NoError(t, unix.Chmod(sh.root, 0o2775))
	res, _, err := sh.do(t, "mkdir new; echo x >new/f; echo x >made; echo more >>a")
	require.NoError(t, err)
	_, err = sh.follow(t, res)
	require.NoError(t, err)
	for name, want := range map[string]uint32{"new": 1234, "new/f": 1234, "made": 1234, "a": 0, "b": 0} {
		var st unix.Stat_t
		require.NoError(t, unix.Stat(filepath.Join(sh.root, name), &st))
		require.Equal(t, want, st.Gid, name)
	}
}
