package assembly_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/unfinished"
	"github.com/vedette-dev/vedette/skills"
)

// interruptedFile names the configuration for the process that gets killed.
const interruptedFile = "VEDETTE_TEST_INTERRUPTED"

// beAsked becomes the process that a test kills, where the environment says so.
func beAsked() {
	if file := os.Getenv(interruptedFile); file != "" {
		beInterrupted(file)
	}
	dieWhereAsked()
}

type fatal interface{ Fatal(...any) }

// marker is a skill that leaves a line for each run and then waits for as long
// as its argument says so.
func marker(t fatal, dir string, running func()) *skills.GoSkill {
	spec := skills.Spec{Name: "mark.write", Effect: skills.Create, Output: skills.Trusted, Timeout: time.Minute}
	g, err := skills.Func(spec, func(ctx context.Context, in note) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, "ran"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		if _, err := fmt.Fprintln(f, in.Text); err != nil {
			return "", err
		}
		if err := f.Close(); err != nil {
			return "", err
		}
		if in.Text == "hangs" {
			running()
			<-ctx.Done()
		}
		return "ok", ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

type exits struct{}

func (exits) Fatal(v ...any) {
	fmt.Fprintln(os.Stderr, v...)
	os.Exit(3)
}

// beInterrupted is the process that gets killed while its second call runs.
func beInterrupted(file string) {
	ctx, e := context.Background(), exits{}
	cfg, err := config.Load(file, config.Options{})
	if err != nil {
		e.Fatal(err)
	}
	p, err := assembly.Build(ctx, cfg, assembly.Options{Skills: []*skills.GoSkill{
		marker(e, filepath.Dir(file), func() { fmt.Println("running") }),
	}})
	if err != nil {
		e.Fatal(err)
	}
	sc, err := skills.NewScope("mark.write")
	if err != nil {
		e.Fatal(err)
	}
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", User: "ann", Conversation: "c", Turn: "t", Agent: "a", Scope: sc})
	if err != nil {
		e.Fatal(err)
	}
	for _, text := range []string{"ends", "hangs"} {
		_, err = p.Checkpoint.Desk(g).Invoke(ctx, "mark.write", json.RawMessage(`{"text":"`+text+`"}`))
	}
	e.Fatal("the call ended", err)
}

// A call that was under way when its process was killed is unknown after the
// next start, once; the call that had ended is left alone, and nothing runs
// again. (Invariant 12.)
func TestKilledWhileASkillRuns(t *testing.T) {
	file := write(t, "")
	dir := filepath.Dir(file)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), interruptedFile+"="+file), os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "running\n", line)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	before := records(t, load(t, file), ledger.Query{Kind: sentinel.RecordOutcome})
	require.Len(t, before, 1, "the second call has no outcome yet")
	for range 2 {
		p, err := assembly.Build(t.Context(), load(t, file), assembly.Options{Skills: []*skills.GoSkill{marker(t, dir, func() {})}})
		require.NoError(t, err)
		decisions := records(t, p.Config, ledger.Query{Kind: sentinel.RecordDecision})
		outcomes := records(t, p.Config, ledger.Query{Kind: sentinel.RecordOutcome})
		require.Len(t, decisions, 2)
		require.Len(t, outcomes, 2)
		require.Equal(t, before[0], outcomes[0])
		o, d := outcomes[1], decisions[1]
		require.Equal(t, sentinel.StatusUnknown, o.Outcome)
		require.Equal(t, unfinished.CodeInterrupted, o.Code)
		require.Equal(t, []string{d.Call, d.Decision, d.Conversation, d.User, d.Agent, d.Skill},
			[]string{o.Call, o.Decision, o.Conversation, o.User, o.Agent, o.Skill})
		var body struct{ Call, Status, Code string }
		require.NoError(t, json.Unmarshal(o.Body, &body))
		require.Equal(t, d.Call+" unknown interrupted", body.Call+" "+body.Status+" "+body.Code)
		rep, err := ledger.Verify(t.Context(), p.Config.Ledger.Path, ledger.VerifyOptions{PublicKey: p.Keys.LedgerPublic()})
		require.NoError(t, err)
		require.True(t, rep.OK())
		require.EqualValues(t, 4, rep.Proved)
		require.NoError(t, p.Close())
	}
	ran, err := os.ReadFile(filepath.Join(dir, "ran"))
	require.NoError(t, err)
	require.Equal(t, "ends\nhangs\n", string(ran))
}

func records(t testing.TB, cfg *config.Config, q ledger.Query) []ledger.Record {
	t.Helper()
	r, err := ledger.OpenReader(t.Context(), cfg.Ledger.Path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	list, err := r.List(t.Context(), q)
	require.NoError(t, err)
	return list
}
