package exec

import (
	"encoding/json"
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
	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

const shellSchema = `{"type":"object","required":["command"],"properties":{"command":{"type":"string","x-shell":true}}}`

// shell is a skill that runs its caller's command line in a write root, with what belongs to it.
type shell struct {
	root, state string
	kit         *runtest.Kit
	skill       *skills.Skill
	run         skills.Executor
	commit      skills.Executor
	committing  *skills.Skill
}

// newShell makes one. A root has ten files and what is made there before.
func newShell(t *testing.T, o opts) *shell {
	t.Helper()
	return newShellIn(t, t.TempDir(), o)
}

// newShellIn makes one below a folder.
func newShellIn(t *testing.T, base string, o opts) *shell {
	t.Helper()
	sh := &shell{root: filepath.Join(base, "root"), state: filepath.Join(base, "state"), kit: runtest.New(t)}
	t.Cleanup(func() { // the kernel closes a folder of the layer to its owner
		ids, err := snapshot.IDs(sh.state)
		require.NoError(t, err)
		for _, id := range ids {
			require.NoError(t, snapshot.DiscardFolder(sh.state, id))
		}
	})
	require.NoError(t, os.MkdirAll(filepath.Join(sh.root, ".git/hooks"), 0o755))
	for _, n := range strings.Split("a b c d e f g h i j", " ") {
		require.NoError(t, os.WriteFile(filepath.Join(sh.root, n), []byte(n), 0o644))
	}
	all := opts{"argv": []string{"bash", "/dev/stdin"}, "stdin": "json", "dir": sh.root, "write": []string{sh.root}}
	all["argv"] = []string{"bash", "-c", `eval "$1"`, "-", "{{command}}"}
	delete(all, "stdin")
	for k, v := range o {
		all[k] = v
	}
	raw, err := json.Marshal(all)
	require.NoError(t, err)
	spec := skills.Spec{Name: "demo.shell", Effect: skills.Irreversible, Timeout: 20 * time.Second, Parameters: json.RawMessage(shellSchema),
		Run: skills.Run{Kind: "exec", Options: raw}}
	if d, ok := o["timeout"].(time.Duration); ok {
		spec.Timeout = d
		delete(all, "timeout")
		spec.Run.Options, err = json.Marshal(all)
		require.NoError(t, err)
	}
	sh.skill = runtest.Compile(t, spec, nil)
	sh.run, err = New(sh.skill, sh.kit.Redeemer, Options{State: sh.state})
	require.NoError(t, err)
	sh.committing = runtest.Compile(t, CommitSpec(), nil)
	sh.commit = NewCommit(sh.committing, sh.kit.Redeemer, CommitOptions{State: sh.state})
	return sh
}

// do runs a command line and returns what follows, with what it says.
func (sh *shell) do(t *testing.T, line string) (skills.Result, commitArgs, error) {
	t.Helper()
	res, err := sh.kit.Run(t, sh.run, sh.skill, opts{"command": line})
	var args commitArgs
	if res.Follow != nil {
		require.Equal(t, CommitSkill, res.Follow.Skill)
		require.NoError(t, json.Unmarshal(res.Follow.Args, &args))
	}
	return res, args, err
}

// follow commits what follows from a run, under a warrant of its own.
func (sh *shell) follow(t *testing.T, res skills.Result) (skills.Result, error) {
	t.Helper()
	require.NotNil(t, res.Follow)
	return sh.kit.Run(t, sh.commit, sh.committing, res.Follow.Args)
}

func (sh *shell) read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(sh.root, name))
	require.NoError(t, err)
	return string(raw)
}

// layers returns how many layers the state holds.
func (sh *shell) layers(t *testing.T) int {
	t.Helper()
	ids, err := snapshot.IDs(sh.state)
	require.NoError(t, err)
	return len(ids)
}

// What a command line writes is in no write root until the call that commits it has run, and
// that call needs a warrant of its own.
func TestSnapshotCommits(t *testing.T) {
	sh := newShell(t, nil)
	res, args, err := sh.do(t, "echo new >new; echo A >a; rm b; cat a")
	require.NoError(t, err)
	require.Equal(t, "A\n", res.Content)
	require.Equal(t, GradeFull, res.Isolation)
	require.NoFileExists(t, filepath.Join(sh.root, "new"))
	require.Equal(t, "a", sh.read(t, "a"))
	require.Equal(t, "call-1", args.Call)
	require.Equal(t, []int{1, 1, 1, 1}, []int{args.Created, args.Changed, args.Deleted, args.Lost})
	require.Empty(t, args.Reasons)
	require.Equal(t, sh.root+"/b", args.Paths[0].Path, "what is lost is shown first")
	paths := []skills.FollowPath{{Path: sh.root + "/a"}, {Path: sh.root + "/b", Deleted: true}, {Path: sh.root + "/new"}}
	require.ElementsMatch(t, paths, res.Follow.Paths)

	sh.kit.Unwarranted(t, sh.commit, sh.committing, res.Follow.Args, func() bool { return sh.read(t, "a") == "a" })
	done, err := sh.follow(t, res)
	require.NoError(t, err)
	require.Equal(t, "2 paths were written and 1 removed", done.Content)
	require.Equal(t, "A\n", sh.read(t, "a"))
	require.Equal(t, "new\n", sh.read(t, "new"))
	require.NoFileExists(t, filepath.Join(sh.root, "b"))
	require.Zero(t, sh.layers(t))
	_, err = sh.follow(t, res)
	require.ErrorIs(t, err, snapshot.ErrNoLayer)
	require.ErrorIs(t, err, skills.ErrNoEffect)
}

// What nobody should find out afterwards asks before: and nothing has happened yet.
func TestSnapshotReasons(t *testing.T) {
	for line, want := range map[string][]string{
		"rm -rf ./* .git":                         {ReasonDeleted},
		"rm a b":                                  {},
		"echo x >.git/hooks/post-commit":          {ReasonRunsLater},
		"echo x >.envrc; rm a b c d":              {ReasonDeleted, ReasonRunsLater},
		"mkfifo p":                                {ReasonRefused},
		"ln -s /etc/shadow s; ln -s /usr/bin/env": {ReasonRefused},
		`echo x >$'\xff'`:                         {ReasonNames},
		"echo x >Makefile; mkdir -p x/y":          {},
	} {
		sh := newShell(t, nil)
		res, args, err := sh.do(t, line)
		require.NoError(t, err, line)
		require.Equal(t, want, args.Reasons, line)
		require.ElementsMatch(t, want, res.Follow.Reasons, line)
		require.Equal(t, "a", sh.read(t, "a"))
		require.Equal(t, 1, sh.layers(t))
	}
}

// A program that fails by itself has written what it has; the call that follows stands
// beside its error.
func TestSnapshotOfFailure(t *testing.T) {
	sh := newShell(t, nil)
	res, _, err := sh.do(t, "echo new >new; exit 3")
	require.Equal(t, "skill failed: exit code 3", failure(t, err).Error())
	require.NoFileExists(t, filepath.Join(sh.root, "new"))
	_, err = sh.follow(t, res)
	require.NoError(t, err)
	require.Equal(t, "new\n", sh.read(t, "new"))
}

// A program that changes nothing leaves nothing, and no call follows.
func TestSnapshotOfNothing(t *testing.T) {
	sh := newShell(t, nil)
	res, _, err := sh.do(t, "echo hello; echo x >/tmp/x; touch new; rm new")
	require.NoError(t, err)
	require.Nil(t, res.Follow)
	require.Zero(t, sh.layers(t))
}

// What is ended by force is thrown away, so that it is known to have done nothing.
func TestSnapshotThrownAway(t *testing.T) {
	for name, row := range map[string]struct {
		o    opts
		line string
		code string
		want error
	}{
		"timeout":     {opts{"timeout": time.Second}, "echo new >new; rm a; sleep 100", skills.FailTimeout, skills.ErrNoEffect},
		"signal":      {nil, "echo new >new; kill -KILL $$", skills.FailFailed, skills.ErrNoEffect},
		"write limit": {opts{"write_limit": 100_000}, "yes >new; echo never", skills.FailFailed, skills.ErrNoEffect},
		"after it":    {opts{"write_limit": 10_000}, "head -c 30000 /dev/zero >new", skills.FailFailed, skills.ErrNoEffect},
	} {
		sh := newShell(t, row.o)
		res, _, err := sh.do(t, row.line)
		f := failure(t, err)
		for range 10 { // on a busy machine the end may take longer than the executor waits for word of it
			if !f.Unknown || f.Code != skills.FailTimeout {
				break
			}
			sh = newShell(t, row.o)
			res, _, err = sh.do(t, row.line)
			f = failure(t, err)
		}
		require.Equal(t, row.code, f.Code, "%s: %v", name, err)
		require.ErrorIs(t, err, row.want, name)
		require.False(t, f.Unknown, name)
		require.Nil(t, res.Follow, name)
		require.NoFileExists(t, filepath.Join(sh.root, "new"), name)
		require.Equal(t, "a", sh.read(t, "a"), name)
		require.Zero(t, sh.layers(t), name)
	}
}

// With a network, what was sent isn't undone: how far the program got stays unknown.
func TestSnapshotWithNetwork(t *testing.T) {
	sh := newShell(t, opts{"network": true})
	_, _, err := sh.do(t, "echo new >new; kill -KILL $$")
	f := failure(t, err)
	require.True(t, f.Unknown)
	require.NoFileExists(t, filepath.Join(sh.root, "new"))
	require.Zero(t, sh.layers(t))
}

// What others changed meanwhile isn't overwritten: the failure names the path, and the layer
// is kept.
func TestSnapshotConflict(t *testing.T) {
	sh := newShell(t, nil)
	res, _, err := sh.do(t, "echo A >a; echo B >b")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(sh.root, "a"), []byte("other"), 0o644))
	_, err = sh.follow(t, res)
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.ErrorContains(t, err, "others changed 1 of the paths since the start; nothing was committed: a (edited)")
	require.False(t, failure(t, err).Unknown)
	require.Equal(t, "other", sh.read(t, "a"))
	require.Equal(t, "b", sh.read(t, "b"))
	require.Equal(t, 1, sh.layers(t))
}

// What is refused is dropped, and its changes with it.
func TestSnapshotDropped(t *testing.T) {
	sh := newShell(t, nil)
	res, args, err := sh.do(t, "echo A >a")
	require.NoError(t, err)
	layer, err := snapshot.Load(sh.state, args.Layer)
	require.NoError(t, err)
	require.Equal(t, "call-1", layer.Label())
	require.NoError(t, res.Follow.Drop())
	require.Zero(t, sh.layers(t))
	_, err = sh.follow(t, res)
	require.ErrorIs(t, err, snapshot.ErrNoLayer)
	require.Equal(t, "a", sh.read(t, "a"))
}

// A commit for another list than the layer's does nothing.
func TestSnapshotOfAnotherDigest(t *testing.T) {
	sh := newShell(t, nil)
	res, args, err := sh.do(t, "echo A >a")
	require.NoError(t, err)
	args.Digest = "sha256:" + strings.Repeat("0", 64)
	res.Follow.Args, err = json.Marshal(args)
	require.NoError(t, err)
	_, err = sh.follow(t, res)
	require.ErrorIs(t, err, snapshot.ErrDigest)
	require.Equal(t, "a", sh.read(t, "a"))
}

// The arguments are bounded however much was written, and the schema takes them.
func TestSnapshotOfMany(t *testing.T) {
	sh := newShell(t, nil)
	res, args, err := sh.do(t, `n=$(printf 'n%.0s' {1..240}); mkdir -p $n/$n/$n; for i in {1..500}; do : >$n/$n/$n/$i; done; echo x >.envrc`)
	require.NoError(t, err)
	require.Len(t, args.Paths, maxShown)
	require.Equal(t, 504-maxShown, args.More)
	require.Len(t, res.Follow.Paths, 504)
	require.Equal(t, sh.root+"/.envrc", args.Paths[0].Path)
	require.Equal(t, ReasonRunsLater, args.Paths[0].Note)
	require.Less(t, len(res.Follow.Args), 200_000)
	_, err = sh.follow(t, res)
	require.NoError(t, err)
}

// What matters for one reason isn't pushed off the list by many changes that stand out for
// another, and the arguments count what runs later and what is left out.
func TestDecoysDoNotHideWhatMatters(t *testing.T) {
	sh := newShell(t, nil)
	_, args, err := sh.do(t,
		"mkdir 0 1; for i in {1..250}; do mkfifo 0/$i; mkdir 1/$i; echo x >1/$i/.envrc; done; echo x >.git/hooks/update; rm a")
	require.NoError(t, err)
	require.Len(t, args.Paths, maxShown)
	var notes []string
	for _, p := range args.Paths[:20] {
		notes = append(notes, p.Note)
	}
	require.Contains(t, notes, ReasonRefused)
	require.Contains(t, notes, ReasonRunsLater)
	require.Equal(t, sh.root+"/.git/hooks/update", args.Paths[0].Path)
	require.Contains(t, args.Paths[:20], shownPath{Path: sh.root + "/a", Kind: "deleted", Lost: 1})
	require.Equal(t, []int{251, 250}, []int{args.Later, args.Left})
}

// A person sees which permissions a change gives.
func TestPermissionsAreShown(t *testing.T) {
	sh := newShell(t, nil)
	_, args, err := sh.do(t, "chmod 666 a; echo x >new; chmod 755 new; echo b2 >b; ln -s a link; rm c")
	require.NoError(t, err)
	modes := map[string]string{}
	for _, p := range args.Paths {
		modes[filepath.Base(p.Path)] = p.Mode
	}
	require.Equal(t, map[string]string{"a": "0666", "b": "", "c": "", "link": "", "new": "0755"}, modes)
}

// Two long names of which only the middle differs aren't shown alike.
func TestLongNamesAreToldApart(t *testing.T) {
	head, tail := strings.Repeat("h", 300), strings.Repeat("t", 300)
	one, other := showPathSafely(head+"1"+tail), showPathSafely(head+"2"+tail)
	require.NotEqual(t, one, other)
	require.Contains(t, one, "601 bytes")
	require.Less(t, len(one), 600)
}

// However a write root is named, nothing reaches it before the commit.
func TestSnapshotOfOddRoots(t *testing.T) {
	for name, spell := range map[string]func(root, base string) opts{
		"slash":        func(root, _ string) opts { return opts{"write": []string{root + "/"}} },
		"dots":         func(root, _ string) opts { return opts{"write": []string{root + "/../root/."}} },
		"read too":     func(root, _ string) opts { return opts{"write": []string{root}, "read": []string{root}} },
		"read above":   func(root, base string) opts { return opts{"write": []string{root}, "read": []string{base}} },
		"read below":   func(root, _ string) opts { return opts{"write": []string{root}, "read": []string{root + "/.git"}} },
		"by a link":    func(_, base string) opts { return opts{"write": []string{base + "/link"}, "dir": base + "/link"} },
		"below a link": func(_, base string) opts { return opts{"write": []string{base + "/up/root"}, "dir": base + "/up/root"} },
	} {
		base := t.TempDir()
		root := filepath.Join(base, "root")
		require.NoError(t, os.Symlink(root, filepath.Join(base, "link")))
		require.NoError(t, os.Symlink(base, filepath.Join(base, "up")))
		sh := newShellIn(t, base, spell(root, base))
		res, _, err := sh.do(t, "echo new >new; rm b")
		require.NoError(t, err, name)
		require.NoFileExists(t, filepath.Join(root, "new"), name)
		require.FileExists(t, filepath.Join(root, "b"), name)
		require.NotNil(t, res.Follow, "%s: %s", name, res.Content)
		_, err = sh.follow(t, res)
		require.NoError(t, err, name)
		require.FileExists(t, filepath.Join(root, "new"), name)
		require.NoFileExists(t, filepath.Join(root, "b"), name)
	}
}

// A commit of as many paths as a layer may hold has time to end: one that is abandoned goes
// on, and its outcome is unknown for ever.
func TestACommitHasTimeToEnd(t *testing.T) {
	const perThousand = time.Second // twice what was measured with files on one disk
	sh := newShell(t, nil)
	require.GreaterOrEqual(t, sh.committing.Spec().Timeout, 100*perThousand)
}

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
