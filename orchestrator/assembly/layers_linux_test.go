package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
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
	for name, answer := range map[string]sentinel.Verdict{"yes": sentinel.Pass(), "no": sentinel.Refuse("approval.denied", "a person said no")} {
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

// No model can propose a commit, whatever it was granted; rules lower the commit alone.
func TestACommitIsNoModelsToPropose(t *testing.T) {
	file, tree := writeBox(t, "permissions_default: allow\npermissions:\n  - {skill: exec.commit, then: deny}\n")
	p := build(t, file, assembly.Options{})
	args := `{"call":"x","layer":"` + strings.Repeat("0", 32) + `","digest":"sha256:` + strings.Repeat("0", 64) +
		`","roots":[],"created":0,"changed":0,"deleted":0,"lost":0,"bytes":0,"reasons":[],"paths":[],"more":0}`
	_, err := p.Checkpoint.Desk(grant(t, "commit it", "box.*", "exec.*")).Invoke(t.Context(), "exec.commit", json.RawMessage(args))
	var no *skills.Refusal
	require.ErrorAs(t, err, &no)
	require.Equal(t, "scope.not_granted", no.Code)

	_, err = runBox(t, p, "echo new > made")
	require.ErrorContains(t, err, "permission.denied")
	require.Len(t, listTree(t, tree), 61)
	requireNoLayers(t, file)
}

// A path of the program's own, and one that is forbidden, is never committed.
func TestACommitOfAForbiddenPathIsDenied(t *testing.T) {
	file, tree := writeBox(t, "guard: {forbid_paths: [\"**/*.pem\"]}\n")
	p := build(t, file, assembly.Options{})
	_, err := runBox(t, p, "n=key; echo x > $n.$(printf '%s' mep | rev)")
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
	p, err := assembly.Build(ctx, cfg, assembly.Options{Observe: func(ev sentinel.Event) {
		if ev.Kind == sentinel.RecordDecision && ev.Call.Name() == skills.CommitName {
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
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", User: "ann", Conversation: "c", Turn: "t", Agent: "a", Scope: sc, Request: &request})
	if err != nil {
		e.Fatal(err)
	}
	_, err = p.Checkpoint.Desk(g).Invoke(ctx, "box.run", json.RawMessage(`{"command":"echo new > made; echo done"}`))
	e.Fatal("the call ended", err)
}

// A process that dies between the decision and the commit leaves a commit that the next
// one ends, once; both calls are ok then.
func TestAnAllowedCommitIsEndedAfterACrash(t *testing.T) {
	file, tree := writeBox(t, "")
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.CommandContext(t.Context(), exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), committedFile+"="+file), os.Stderr
	var exit *osexec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.Equal(t, 9, exit.ExitCode())
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
