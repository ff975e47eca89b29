package assembly_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// committedFile names the configuration for the process that dies before its commit.
const committedFile = "VEDETTE_TEST_COMMITTED"

const snapshotsYAML = `skills:
  - name: box.run
    effect: irreversible
    parameters: {type: object, required: [command], properties: {command: {type: string, x-shell: true}}}
    run:
      exec:
        argv: [sh, -c, 'eval "$1"', sh, "{{command}}"]
        env: [PATH]
        dir: tree
        write: [tree]
`

// writeBox is a configuration with a skill that takes a command line and writes to a tree
// of sixty files.
func writeBox(t *testing.T, extra string) (file, tree string) {
	t.Helper()
	file = write(t, extra)
	dir := filepath.Dir(file)
	tree = filepath.Join(dir, "tree")
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "sub"), 0o700))
	for i := range 60 {
		require.NoError(t, os.WriteFile(filepath.Join(tree, fmt.Sprintf("f%d", i)), []byte("old"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(snapshotsYAML), 0o600))
	return file, tree
}

func listTree(t *testing.T, tree string) []string {
	t.Helper()
	entries, err := os.ReadDir(tree)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// requireNoLayers says that nothing waits any more.
func requireNoLayers(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(load(t, file).Ledger.Path), "snapshots"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	require.Empty(t, entries)
}

func runBox(t *testing.T, p *assembly.Parts, line string) (skills.Result, error) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	require.NoError(t, err)
	return p.Checkpoint.Desk(grant(t, "run "+line+" please", "box.*")).Invoke(t.Context(), "box.run", args)
}

type person func(sentinel.Call) sentinel.Verdict

func (a person) Approve(_ context.Context, c sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
	return a(c), nil
}

// statuses are skill, outcome and code of each outcome record.
func statuses(t *testing.T, p *assembly.Parts) (out []string) {
	t.Helper()
	for _, r := range records(t, p.Config, ledger.Query{Kind: sentinel.RecordOutcome}) {
		out = append(out, strings.TrimSpace(r.Skill+" "+r.Outcome+" "+r.Code))
	}
	return out
}

// A small change is committed without a question, and both calls are on record.
func TestASmallChangeIsCommitted(t *testing.T) {
	file, tree := writeBox(t, "")
	p := build(t, file, assembly.Options{})
	res, err := runBox(t, p, "echo new > made; cat f1")
	require.NoError(t, err)
	require.Equal(t, "old", res.Content)
	raw, err := os.ReadFile(filepath.Join(tree, "made"))
	require.NoError(t, err)
	require.Equal(t, "new\n", string(raw))
	require.Equal(t, []string{"exec.commit ok", "box.run ok"}, statuses(t, p))
	requireNoLayers(t, file)
	rep, err := ledger.Verify(t.Context(), p.Config.Ledger.Path, ledger.VerifyOptions{PublicKey: p.Keys.LedgerPublic()})
	require.NoError(t, err)
	require.EqualValues(t, 4, rep.Proved)
}

// What removes a whole tree is seen by a person before it is true.
func TestARemovalIsShownBeforeItIsTrue(t *testing.T) {
	for name, answer := range map[string]sentinel.Verdict{"yes": sentinel.Pass(), "no": sentinel.Refuse("approval.denied",
		"a person said no")} {
		t.Run(name, func(t *testing.T) {
			file, tree := writeBox(t, "")
			var shown []sentinel.Call
			var before []string
			p := build(t, file, assembly.Options{Approver: person(func(c sentinel.Call) sentinel.Verdict {
				shown, before = append(shown, c), listTree(t, tree)
				return answer
			})})
			_, err := runBox(t, p, "set -- f*; find . -name 'f*' -newer /nowhere; for f in \"$@\"; do unlink $f; done")
			require.Len(t, before, 61, "nothing was removed when the person was asked")
			commit := shown[len(shown)-1]
			require.Equal(t, skills.CommitName, commit.Name())
			require.Contains(t, commit.Args(), filepath.Join(tree, "f59"))
			require.Contains(t, commit.Args(), `"deleted":60`)
			if name == "yes" {
				require.NoError(t, err)
				require.Equal(t, []string{"sub"}, listTree(t, tree))
				require.Equal(t, []string{"exec.commit ok", "box.run ok"}, statuses(t, p))
			} else {
				require.ErrorContains(t, err, "not committed")
				require.Len(t, listTree(t, tree), 61)
				require.Equal(t, []string{"box.run failed not_committed"}, statuses(t, p))
			}
			requireNoLayers(t, file)
		})
	}
}

// gitBox is a box whose tree is a git repository with a commit, and with work that is in none.
func gitBox(t *testing.T, extra string) (file, tree string) {
	t.Helper()
	file, tree = writeBox(t, extra)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "Ann"}, {"config", "user.email", "ann@git.example"},
		{"add", "."}, {"commit", "-qm", "first"},
	} {
		cmd := osexec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = tree, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for i := range 55 {
		require.NoError(t, os.WriteFile(filepath.Join(tree, "sub", fmt.Sprintf("draft%d", i)), []byte("work"), 0o600))
	}
	return file, tree
}

// sumTree is a digest of all names, modes, contents and links below a folder.
func sumTree(t *testing.T, tree string) string {
	t.Helper()
	h := sha256.New()
	require.NoError(t, filepath.WalkDir(tree, func(path string, e os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := e.Info()
		require.NoError(t, err)
		var content []byte
		switch {
		case info.Mode().IsRegular():
			content, err = os.ReadFile(path)
		case info.Mode()&os.ModeSymlink != 0:
			var to string
			to, err = os.Readlink(path)
			content = []byte(to)
		}
		require.NoError(t, err)
		_, err = fmt.Fprintf(h, "%q %v %x\n", path, info.Mode(), sha256.Sum256(content))
		return err
	}))
	return hex.EncodeToString(h.Sum(nil))
}

// A person sees what a command line removes from a real repository before it is removed. A
// no leaves every byte as it was, a yes makes it true.
func TestDestructionOfARepositoryIsShownFirst(t *testing.T) {
	for line, row := range map[string]struct {
		deletes string
		left    []string // after a yes
	}{
		"git clean -xffd":          {`"deleted":1,`, nil}, // the folder with all that is in it
		"rm -rf ./* .git":          {`"deleted":62,`, []string{}},
		"rm -rf . ; rm -rf $PWD/*": {`"deleted":61,`, []string{".git"}}, // rm itself refuses "."
	} {
		for _, yes := range []bool{false, true} {
			file, tree := gitBox(t, "")
			before, asked := sumTree(t, tree), []string{} // a test must not end in the approver's goroutine
			p := build(t, file, assembly.Options{Approver: person(func(c sentinel.Call) sentinel.Verdict {
				if c.Name() != skills.CommitName {
					return sentinel.Pass() // the command line itself may run: nothing is true by that
				}
				asked = append(asked, c.Args(), approval.Describe(c, sentinel.Decision{}), sumTree(t, tree))
				if yes {
					return sentinel.Pass()
				}
				return sentinel.Refuse("approval.denied", "a person said no")
			})})
			_, err := runBox(t, p, line)
			require.Len(t, asked, 3, "%s: %v", line, err)
			require.Contains(t, asked[0], row.deletes, line)
			require.Contains(t, asked[1], "  deleted  ", line)
			require.Contains(t, asked[1], "files that are gone, emptied or replaced: ", line)
			require.Equal(t, before, asked[2], "%s: nothing was true when the person was asked", line)
			if !yes {
				require.ErrorContains(t, err, "not committed", line)
				require.Equal(t, before, sumTree(t, tree), line)
				continue
			}
			if row.left != nil {
				require.ElementsMatch(t, row.left, listTree(t, tree), line)
			}
			require.NoDirExists(t, filepath.Join(tree, "sub"), line)
			requireNoLayers(t, file)
		}
	}
}

// What runs later by itself asks; a repository that is made or cloned with git's own
// settings doesn't.
func TestWhatRunsLaterIsAskedAbout(t *testing.T) {
	for line, want := range map[string]string{
		"n=hooks; echo x > .git/$n/post-commit":                             "guard.commit",
		"n=config; echo '[alias]' >> .git/$n":                               "guard.commit",
		"n=envrc; echo x > .$n":                                             "guard.commit",
		"git clone -q --no-hardlinks . sub/copy && cat sub/copy/f1":         "",
		"git init -q sub/fresh":                                             "",
		"git init -q sub/fresh; git -C sub/fresh config core.fsmonitor ./x": "guard.commit",
	} {
		file, tree := gitBox(t, "")
		before, codes := sumTree(t, tree), ""
		p := build(t, file, assembly.Options{
			Approver: person(func(c sentinel.Call) sentinel.Verdict {
				if c.Name() != skills.CommitName {
					return sentinel.Pass()
				}
				return sentinel.Refuse("approval.denied", "a person said no")
			}),
			Observe: func(e sentinel.Event) {
				if v, ok := e.Decision.Verdict(sentinel.GateGuard); ok && e.Kind == sentinel.RecordHeld && e.Call.Name() == skills.CommitName {
					codes = v.Code
				}
			},
		})
		_, err := runBox(t, p, line)
		require.Equal(t, want, codes, "%s: %v", line, err)
		if want == "" {
			require.NoError(t, err, line)
			require.NotEqual(t, before, sumTree(t, tree), line)
		} else {
			require.ErrorContains(t, err, "not committed", line)
			require.Equal(t, before, sumTree(t, tree), line)
		}
	}
}

// Where no overlay can be had, a command line that does more than read asks before it runs,
// and a yes lets it write at once.
func TestWithoutSnapshotsAPersonIsAsked(t *testing.T) {
	file, tree := writeBox(t, "")
	dir := filepath.Dir(file)
	made := filepath.Join(tree, "made")
	require.NoError(t, os.WriteFile(made, nil, 0o600))
	yaml := strings.Replace(snapshotsYAML, "write: [tree]", "read: [tree]\n        write: [tree/made]", 1) // a file alone can't be an overlay
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(yaml), 0o600))
	var log buffer
	var asked []string
	p := build(t, file, assembly.Options{Log: log.logger(), Approver: person(func(c sentinel.Call) sentinel.Verdict {
		asked = append(asked, c.Name())
		return sentinel.Pass()
	})})
	require.Contains(t, log.String(), "a person is asked about each command line")
	res, err := runBox(t, p, "cat f1")
	require.NoError(t, err)
	require.Equal(t, "old", res.Content)
	require.Empty(t, asked)
	_, err = runBox(t, p, "echo new > made")
	require.NoError(t, err)
	require.Equal(t, []string{"box.run"}, asked)
	text, err := os.ReadFile(made)
	require.NoError(t, err)
	require.Equal(t, "new\n", string(text))
	held := records(t, p.Config, ledger.Query{Kind: sentinel.RecordHeld})
	require.Len(t, held, 1)
	require.Equal(t, "guard.no_undo", held[0].Code)
	w := assembly.Writers(t.Context(), p.Config)
	require.Len(t, w, 1)
	require.Equal(t, "direct", w[0].Mode)
	require.NotEmpty(t, w[0].Why)
}

// A commit that a person is asked about outlives the process: nothing is true meanwhile, the
// next one asks again, and the answer is the last word.
func TestAHeldCommitOutlivesTheProcess(t *testing.T) {
	const line = `{"command":"rm -f f*; echo gone"}`
	for name, tc := range map[string]struct {
		answer   sentinel.Verdict
		left     int
		statuses []string
	}{
		"yes": {sentinel.Pass(), 1, []string{"exec.commit ok", "box.run ok"}},
		"no":  {sentinel.Refuse("approval.denied", "a person said no"), 61, []string{"box.run failed not_committed"}},
	} {
		t.Run(name, func(t *testing.T) {
			file, tree := writeBox(t, "approvals: {timeout: 1h}\n")
			g := grant(t, "remove the files please", "box.*")
			for range 2 { // the second process ends as the first did
				ctx, cancel := context.WithCancel(t.Context())
				p, err := assembly.Build(t.Context(), load(t, file), assembly.Options{Approver: leaving(func(c sentinel.Call) bool {
					if c.Name() == skills.CommitName {
						cancel()
						return true
					}
					return false
				})})
				require.NoError(t, err)
				d := p.Checkpoint.Numbered(g)
				_, err = d.Resume(t.Context(), 0, 1)
				require.NoError(t, err)
				_, err = d.Invoke(ctx, "box.run", json.RawMessage(line))
				require.ErrorIs(t, err, sentinel.ErrHeld)
				require.Empty(t, statuses(t, p))
				require.Len(t, listTree(t, tree), 61)
				require.NoError(t, p.Close())
				cancel()
			}
			var asked []string
			p := build(t, file, assembly.Options{Approver: person(func(c sentinel.Call) sentinel.Verdict {
				asked = append(asked, c.Name(), approval.Describe(c, sentinel.Decision{}))
				return tc.answer
			})})
			d := p.Checkpoint.Numbered(g)
			_, err := d.Resume(t.Context(), 0, 1)
			require.NoError(t, err)
			res, err := d.Invoke(t.Context(), "box.run", json.RawMessage(line))
			require.Len(t, asked, 2, "%v", err)
			require.Equal(t, skills.CommitName, asked[0], "the program doesn't run again")
			require.Contains(t, asked[1], "0 created, 0 changed, 60 deleted")
			if name == "yes" {
				require.NoError(t, err)
				require.Equal(t, "gone\n", res.Content)
				require.Equal(t, "full", res.Isolation)
			} else {
				require.ErrorContains(t, err, "not committed")
			}
			require.Len(t, listTree(t, tree), tc.left)
			require.Equal(t, tc.statuses, statuses(t, p))
			requireNoLayers(t, file)
			rep, err := ledger.Verify(t.Context(), p.Config.Ledger.Path, ledger.VerifyOptions{PublicKey: p.Keys.LedgerPublic()})
			require.NoError(t, err)
			require.Positive(t, rep.Proved)
		})
	}
}

// A question that nothing puts again ends at its time, and what waited is thrown away.
func TestAHeldCommitExpires(t *testing.T) {
	file, tree := writeBox(t, "approvals: {timeout: 1h}\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var late atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	ticks := make(chan time.Time)
	p := build(t, file, assembly.Options{Now: now, Maintain: ticks, Approver: leaving(func(c sentinel.Call) bool {
		if c.Name() == skills.CommitName {
			cancel()
			return true
		}
		return false
	})})
	_, err := p.Checkpoint.Desk(grant(t, "remove the files please", "box.*")).Invoke(ctx, "box.run", json.RawMessage(`{"command":"rm -f f*"}`))
	require.ErrorIs(t, err, sentinel.ErrHeld)
	ticks <- now()
	ticks <- now() // the one before is over
	require.Empty(t, statuses(t, p))
	late.Store(int64(2 * time.Hour))
	ticks <- now()
	ticks <- now()
	require.Equal(t, []string{"box.run failed not_committed"}, statuses(t, p))
	require.Len(t, listTree(t, tree), 61)
	requireNoLayers(t, file)
}

// leaving is a person who says yes until the caller leaves in the middle of a question.
type leaving func(sentinel.Call) bool

func (l leaving) Approve(ctx context.Context, c sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
	if l(c) {
		<-ctx.Done()
		return sentinel.Verdict{}, ctx.Err()
	}
	return sentinel.Pass(), nil
}

// No model can propose a commit, whatever it was granted; rules lower the commit alone.
func TestACommitIsNoModelsToPropose(t *testing.T) {
	file, tree := writeBox(t, "permissions_default: allow\npermissions:\n  - {skill: exec.commit, then: deny}\n")
	p := build(t, file, assembly.Options{})
	args := `{"call":"x","layer":"` + strings.Repeat("0", 32) + `","digest":"sha256:` + strings.Repeat("0", 64) +
		`","roots":[],"created":0,"changed":0,"deleted":0,"lost":0,"bytes":0,"reasons":[],"paths":[],"more":0}`
	for _, held := range [][]string{{"box.*", "exec.*"}, {"exec.commit"}} {
		_, err := p.Checkpoint.Desk(grant(t, "commit it", held...)).Invoke(t.Context(), "exec.commit", json.RawMessage(args))
		var no *skills.Refusal
		require.ErrorAs(t, err, &no)
		require.Equal(t, "scope.not_granted", no.Code, held)
	}

	_, err := runBox(t, p, "echo new > made")
	require.ErrorContains(t, err, "permission.denied")
	require.Len(t, listTree(t, tree), 61)
	requireNoLayers(t, file)
}

// A path of the program's own, and one that is forbidden, is never committed.
func TestACommitOfAForbiddenPathIsDenied(t *testing.T) {
	file, tree := writeBox(t, "guard: {forbid_paths: [\"**/*.pem\"]}\n")
	p := build(t, file, assembly.Options{Approver: person(func(sentinel.Call) sentinel.Verdict { return sentinel.Pass() })})
	_, err := runBox(t, p, "n=key; echo x > $n.$(printf '%s' mep | rev)") // what the line writes isn't known before it ran
	require.ErrorContains(t, err, "guard.forbidden_path")
	require.Len(t, listTree(t, tree), 61)
	requireNoLayers(t, file)
}

// What others changed meanwhile is not overwritten.
func TestAConflictIsToldAndNothingIsCommitted(t *testing.T) {
	file, tree := writeBox(t, "")
	p := build(t, file, assembly.Options{Approver: person(func(c sentinel.Call) sentinel.Verdict {
		if c.Name() == skills.CommitName {
			require.NoError(t, os.WriteFile(filepath.Join(tree, "f1"), []byte("theirs"), 0o600))
		}
		return sentinel.Pass()
	})})
	_, err := runBox(t, p, "echo ours > f1; echo x > .envrc")
	require.ErrorContains(t, err, "f1")
	raw, err := os.ReadFile(filepath.Join(tree, "f1"))
	require.NoError(t, err)
	require.Equal(t, "theirs", string(raw))
	require.Equal(t, []string{"exec.commit failed failed", "box.run failed not_committed"}, statuses(t, p))
	requireNoLayers(t, file)
}

// dieWhereAsked becomes the process that dies before its commit.
func dieWhereAsked() {
	if file := os.Getenv(committedFile); file != "" {
		dieBeforeCommit(file)
	}
}

// dieBeforeCommit is the process that dies when its commit is allowed, on record, and has
// not begun.
func dieBeforeCommit(file string) {
	ctx, e := context.Background(), exits{}
	cfg, err := config.Load(file, config.Options{})
	if err != nil {
		e.Fatal(err)
	}
	many := os.Getenv("VEDETTE_TEST_MANY") != ""
	p, err := assembly.Build(ctx, cfg, assembly.Options{Observe: func(ev sentinel.Event) {
		switch {
		case ev.Kind != sentinel.RecordDecision || ev.Call.Name() != skills.CommitName:
		case many:
			if err := dieAtExchange(); err != nil {
				e.Fatal("no kill was arranged", err)
			}
		default:
			os.Exit(9)
		}
	}})
	if err != nil {
		e.Fatal(err)
	}
	sc, err := skills.NewScope("box.run")
	if err != nil {
		e.Fatal(err)
	}
	request := "echo new into made"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", User: "ann", Conversation: "c", Turn: "t", Agent: "a", Scope: sc,
		Request: &request})
	if err != nil {
		e.Fatal(err)
	}
	line := `{"command":"echo new > made; echo done"}`
	if many { // f30 lies between what is new
		line = `{"command":"echo new > f30; i=0; while [ $i -lt 300 ]; do : > a$i; : > n$i; i=$((i+1)); done"}`
	}
	_, err = p.Checkpoint.Desk(g).Invoke(ctx, "box.run", json.RawMessage(line))
	e.Fatal("the call ended", err)
}

// dieAtExchange lets the kernel kill this process where it exchanges one file for another,
// as a commit does with a file that was changed.
func dieAtExchange() error {
	const number, flags = 0, 16 + 4*8 // of the call, and its fifth argument
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: unix.SYS_RENAMEAT2},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: unix.RENAME_EXCHANGE},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil { // it leaves no image behind
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog))) //nolint:gosec // how the kernel is told
	runtime.KeepAlive(code)
	if no != 0 {
		return no
	}
	return nil
}

// A process that is killed in the middle of a commit leaves one that the next one finishes:
// all of it is true then, and both calls say so.
func TestACommitThatWasKilledIsFinished(t *testing.T) {
	file, tree := writeBox(t, "")
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.CommandContext(t.Context(), exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), committedFile+"="+file, "VEDETTE_TEST_MANY=yes"), os.Stderr
	var exit *osexec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.Equal(t, syscall.SIGSYS, exit.Sys().(syscall.WaitStatus).Signal(), "it was killed while it committed")
	there := listTree(t, tree)
	require.Contains(t, there, "a0", "a part is there")
	require.Less(t, len(there), 61+600)
	old, err := os.ReadFile(filepath.Join(tree, "f30"))
	require.NoError(t, err)
	require.Equal(t, "old", string(old))

	p := build(t, file, assembly.Options{})
	require.Len(t, listTree(t, tree), 61+600)
	changed, err := os.ReadFile(filepath.Join(tree, "f30"))
	require.NoError(t, err)
	require.Equal(t, "new\n", string(changed))
	require.Equal(t, []string{"exec.commit ok", "box.run ok"}, statuses(t, p))
	requireNoLayers(t, file)
}

// crashBeforeCommit runs a process that dies when its commit is allowed and has not begun.
func crashBeforeCommit(t *testing.T, file string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.CommandContext(t.Context(), exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), committedFile+"="+file), os.Stderr
	var exit *osexec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.Equal(t, 9, exit.ExitCode())
}

// A process that dies between the decision and the commit leaves a commit that the next
// one ends, once; both calls are ok then.
func TestAnAllowedCommitIsEndedAfterACrash(t *testing.T) {
	file, tree := writeBox(t, "")
	crashBeforeCommit(t, file)
	require.NotContains(t, listTree(t, tree), "made")

	for range 2 {
		p, err := assembly.Build(t.Context(), load(t, file), assembly.Options{})
		require.NoError(t, err)
		require.Contains(t, listTree(t, tree), "made")
		require.Equal(t, []string{"exec.commit ok", "box.run ok"}, statuses(t, p))
		first := records(t, p.Config, ledger.Query{Kind: sentinel.RecordDecision})[0]
		values, err := p.Journal.ByCall(t.Context(), first.Call)
		require.NoError(t, err)
		require.Equal(t, "done\n", string(values[len(values)-1].Data))
		require.NoError(t, p.Close())
	}
	requireNoLayers(t, file)
}

// A commit that was allowed is ended though the next process's configuration has no skill
// any more that writes by snapshot.
func TestAnAllowedCommitIsEndedThoughItsSkillIsGone(t *testing.T) {
	file, tree := writeBox(t, "")
	crashBeforeCommit(t, file)
	skillsFile := filepath.Join(filepath.Dir(file), "skills.yaml")
	require.NoError(t, os.WriteFile(skillsFile, []byte(strings.Replace(snapshotsYAML, "        write: [tree]\n", "", 1)), 0o600))

	p := build(t, file, assembly.Options{})
	require.Contains(t, listTree(t, tree), "made")
	require.Equal(t, []string{"exec.commit ok", "box.run ok"}, statuses(t, p))
	requireNoLayers(t, file)
	require.NoError(t, p.Close())
	_, registered := build(t, file, assembly.Options{}).Registry.Get(skills.CommitName)
	require.False(t, registered, "nothing is left to commit")
}
