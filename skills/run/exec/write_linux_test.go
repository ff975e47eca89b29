package exec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// Snapshot is the mode of a skill that takes a command line and can have it; one that is
// written and can't be had is a mistake.
func TestWriteMode(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	mode := []string{"run.exec.write_mode"}
	for name, row := range map[string]struct {
		o      opts
		params string
		state  string
		want   []string // mistakes
		mode   string
	}{
		"default of a shell":     {opts{"write": []string{dir}}, shellSchema, state, nil, WriteSnapshot},
		"default of another":     {opts{"write": []string{dir}}, anything, state, nil, WriteDirect},
		"default without state":  {opts{"write": []string{dir}}, shellSchema, "", nil, WriteDirect},
		"default without roots":  {opts{}, shellSchema, state, nil, WriteDirect},
		"default with a file":    {opts{"write": []string{file}}, shellSchema, state, nil, WriteDirect},
		"default under landlock": {opts{"write": []string{dir}, "isolation": "landlock"}, shellSchema, state, nil, WriteDirect},
		"direct":                 {opts{"write": []string{dir}, "write_mode": "direct"}, shellSchema, state, nil, WriteDirect},
		"snapshot":               {opts{"write": []string{dir}, "write_mode": "snapshot"}, anything, state, nil, WriteSnapshot},
		"without state":          {opts{"write": []string{dir}, "write_mode": "snapshot"}, shellSchema, "", mode, ""},
		"without roots":          {opts{"write_mode": "snapshot"}, shellSchema, state, mode, ""},
		"with a file":            {opts{"write": []string{file}, "write_mode": "snapshot"}, shellSchema, state, mode, ""},
		"under landlock":         {opts{"write": []string{dir}, "write_mode": "snapshot", "isolation": "landlock"}, shellSchema, state, mode, ""},
		"another word":           {opts{"write": []string{dir}, "write_mode": "copy"}, shellSchema, state, mode, ""},
		"bounds of direct":       {opts{"write": []string{dir}, "write_mode": "direct", "write_limit": 1}, shellSchema, state, mode, ""},
		"bad bounds": {opts{"write": []string{dir}, "write_limit": -1, "max_deleted": opts{"percent": 101}}, shellSchema, state,
			[]string{"run.exec.write_limit", "run.exec.max_deleted"}, ""},
	} {
		row.o["argv"] = []string{"true"}
		sp := spec(row.o)
		sp.Parameters = json.RawMessage(row.params)
		kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
		_, err := New(s, kit.Redeemer, Options{Dir: dir, State: row.state})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
		if row.want == nil {
			require.Equal(t, row.mode, modeOf(t, row.o, s, row.state, dir), name)
		}
	}
}

// modeOf is the mode that a skill with these options has.
func modeOf(t *testing.T, o opts, s *skills.Skill, state, dir string) string {
	t.Helper()
	p := &program{snapshots: snapshots{state: state}}
	p.Isolation = IsolationAuto
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &p.config))
	require.NoError(t, p.resolvePaths("run.exec", dir))
	require.NoError(t, p.chooseWriteMode("run.exec", s.TakesShell(), p.snapshots))
	return p.WriteMode
}

// What snapshot needs can be tried before a call needs it.
func TestProbeSnapshot(t *testing.T) {
	state, folder := t.TempDir(), t.TempDir()
	require.NoError(t, ProbeSnapshot(t.Context(), state, folder))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
	ids, err := snapshot.IDs(state)
	require.NoError(t, err)
	require.Empty(t, ids)
	err = ProbeSnapshot(t.Context(), filepath.Join(folder, "state"), folder)
	var root *snapshot.RootError
	require.ErrorAs(t, err, &root)
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
