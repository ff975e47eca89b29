package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

func TestMain(m *testing.M) {
	exec.MaybeChild()
	beAsked()
	goleak.VerifyTestMain(m)
}

const canary = "CANARY-7f3a"

// skillsYAML are skills of every effect that a test can call.
const skillsYAML = `skills:
  - name: fs.read
    effect: read
    parameters: &path {type: object, required: [path], properties: {path: {type: string}}}
    run: {template: "text"}
  - name: fs.change
    effect: modify
    parameters: *path
    run: {template: "text"}
  - name: shell.exec
    effect: irreversible
    parameters: {type: object, required: [command], properties: {command: {type: string, x-shell: true}}}
    run: {template: "text"}
`

// write puts a configuration and its skills into a new folder.
func write(t testing.TB, extra string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "workspace"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(skillsYAML), 0o600))
	file := filepath.Join(dir, "vedette.yaml")
	text := "version: 1\nskills: {include: [\"skills.yaml\"]}\n"
	if !strings.Contains(extra, "sentinel:") {
		text += "sentinel: {mode: \"off\"}\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(text+extra), 0o600))
	return file
}

func load(t testing.TB, file string) *config.Config {
	t.Helper()
	cfg, err := config.Load(file, config.Options{})
	require.NoError(t, err)
	return cfg
}

// note is what the Go skill of these tests is given.
type note struct {
	Text string `json:"text"`
}

type notes struct {
	mu   sync.Mutex
	seen []string
	fail error
}

func (n *notes) skill(t testing.TB) *skills.GoSkill {
	t.Helper()
	g, err := skills.Func(skills.Spec{Name: "notes.add", Effect: skills.Create, Output: skills.Trusted},
		func(_ context.Context, in note) (string, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.seen = append(n.seen, in.Text)
			return "noted " + in.Text, n.fail
		})
	require.NoError(t, err)
	return g
}

func build(t testing.TB, file string, o assembly.Options) *assembly.Parts {
	t.Helper()
	p, err := assembly.Build(t.Context(), load(t, file), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func grant(t testing.TB, request string, names ...string) sentinel.Grant {
	t.Helper()
	sc, err := skills.NewScope(names...)
	require.NoError(t, err)
	o := sentinel.GrantOptions{
		ID: "g1", User: "ann", Conversation: "c1", Turn: "t1", Agent: "helper", Mission: "do what was asked",
		MissionBy: sentinel.ByOrchestrator, Scope: sc,
	}
	if request != "" {
		o.Request = &request
	}
	g, err := sentinel.NewGrant(o)
	require.NoError(t, err)
	return g
}

// A call goes through every gate, is durable before it runs, runs once, and
// can be read and verified afterwards, by another process as well.
func TestOneCallThroughTheWholeHouse(t *testing.T) {
	n := &notes{}
	p := build(t, write(t, ""), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
	desk := p.Checkpoint.Desk(grant(t, "add a note", "notes.add"))
	res, err := desk.Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"milk"}`))
	require.NoError(t, err)
	require.Equal(t, "noted milk", res.Content)
	require.Equal(t, skills.Trusted, res.Trust)
	require.False(t, desk.Tainted())

	r, err := ledger.OpenReader(t.Context(), p.Config.Ledger.Path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	list, err := r.List(t.Context(), ledger.Query{})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "decision", list[0].Kind)
	require.Equal(t, "allow", list[0].Outcome)
	require.Equal(t, "outcome", list[1].Kind)
	require.Equal(t, "ok", list[1].Outcome)
	var body struct {
		Gates []struct{ Gate, Outcome string }
	}
	require.NoError(t, json.Unmarshal(list[0].Body, &body))
	require.Len(t, body.Gates, len(sentinel.GateNames()))
	rep, err := ledger.Verify(t.Context(), p.Config.Ledger.Path, ledger.VerifyOptions{PublicKey: p.Keys.LedgerPublic()})
	require.NoError(t, err)
	require.EqualValues(t, 2, rep.Proved)
	values, err := p.Journal.ByCall(t.Context(), list[0].Call)
	require.NoError(t, err)
	require.Len(t, values, 3, "arguments, premises and result are in the journal")
}

// While the store is away nothing runs, and the caller is told. (Invariant 1.)
func TestStoreAway(t *testing.T) {
	n := &notes{}
	p, err := assembly.Build(t.Context(), load(t, write(t, "")), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
	require.NoError(t, err)
	require.NoError(t, p.Store.Close())
	_, err = p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"milk"}`))
	require.ErrorIs(t, err, sentinel.ErrNotRecorded)
	require.Empty(t, n.seen)
	require.NoError(t, p.Close())
}

// A warrant can't be spent twice, also not by way of the store. (Invariant 1.)
func TestSpentWarrantsAreDurable(t *testing.T) {
	file := write(t, "")
	p := build(t, file, assembly.Options{})
	expires := p.Config.Journal.Retention
	require.Positive(t, expires)
	spend := func() error {
		return p.Store.Submit(t.Context(), func(tx *store.Tx) error { return store.Spend(tx, "w1", farAway()) })
	}
	require.NoError(t, spend())
	require.ErrorIs(t, spend(), store.ErrSpent)
}

// leaky are skills that put their argument into everything that they hand back.
func leaky(t testing.TB) []assembly.Native {
	t.Helper()
	word := func(o skills.Order) string {
		var in note
		_ = json.Unmarshal([]byte(o.Args), &in)
		return in.Text
	}
	runs := map[string]skills.RunFunc{
		"leak.panics":    func(_ context.Context, o skills.Order) (skills.Result, error) { panic(word(o)) },
		"leak.panics_as": func(_ context.Context, o skills.Order) (skills.Result, error) { panic(errors.New(word(o))) },
		"leak.fails": func(_ context.Context, o skills.Order) (skills.Result, error) {
			return skills.Result{}, &skills.Failure{Code: word(o), Err: errors.New(word(o))}
		},
		"leak.unknown": func(_ context.Context, o skills.Order) (skills.Result, error) {
			return skills.Result{}, &skills.Failure{Code: skills.FailFailed + " " + word(o), Unknown: true}
		},
		"leak.returns": func(_ context.Context, o skills.Order) (skills.Result, error) {
			return skills.Result{Content: word(o), Isolation: word(o), Trust: skills.Trust(word(o))}, nil
		},
	}
	var out []assembly.Native
	for name, run := range runs {
		out = append(out, assembly.Native{Run: run, Spec: skills.Spec{
			Name: name, Effect: skills.Create, Run: skills.Run{Kind: "native"},
			Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		}})
	}
	return out
}

// No byte that anything wrote holds a value: not the database, not its log,
// not the program's own log, whatever the values stand in. (Invariant 7.)
func TestNoValueIsWrittenInTheClear(t *testing.T) {
	for _, mode := range []string{"keys", "hmac"} {
		t.Run(mode, func(t *testing.T) { noValueInTheClear(t, mode) })
	}
}

func noValueInTheClear(t *testing.T, mode string) {
	n := &notes{fail: errors.New("failed on " + canary)}
	logs := &buffer{}
	file := write(t, "ledger: {values: "+mode+"}\nlimits: {agent: {calls: 20}}\n")
	p := build(t, file, assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}, Natives: leaky(t), Log: logs.logger()})
	req := "please handle " + canary
	desk := p.Checkpoint.Desk(grant(t, req, "notes.add", "fs.read", "shell.exec", "leak.*"))
	ran := 0
	for _, c := range []struct{ skill, args string }{
		{"notes.add", `{"text":"` + canary + `"}`},
		{"notes.add", `{"` + canary + `":1}`},
		{"notes.add", `{"text":"x","text":"` + canary + `"}`},
		{"notes.add", `[` + canary},
		{"fs.read", `{"path":"/` + canary + `/../x"}`},
		{"fs.read", `{"path":"~/.ssh/` + canary + `"}`},
		{"shell.exec", `{"command":"rm -rf / # ` + canary + `"}`},
		{"shell.exec", `{"command":"echo '` + canary + `"}`},
		{"leak.panics", `{"text":"` + canary + `"}`},
		{"leak.panics_as", `{"text":"` + canary + `"}`},
		{"leak.fails", `{"text":"` + canary + `"}`},
		{"leak.unknown", `{"text":"` + canary + `"}`},
		{"leak.returns", `{"text":"` + canary + `"}`},
		{strings.ToLower(canary) + "." + canary, `{"a":"` + canary + `"}`},
		{canary + "\n\x1b[2J", `{}`},
		{"", `{"` + canary + `":"` + canary + `"}`},
	} {
		_, err := desk.Invoke(t.Context(), c.skill, json.RawMessage(c.args))
		var f *skills.Failure
		if errors.As(err, &f) || err == nil {
			ran++
		}
	}
	require.Equal(t, 7, ran, "notes.add, fs.read and all that leak")
	requireNowhere(t, filepath.Dir(file), "vedette-keys")
	require.NotContains(t, strings.ToLower(logs.String()), strings.ToLower(canary))
	hmacs := 0
	for _, r := range records(t, p.Config, ledger.Query{Kind: "decision"}) {
		hmacs += strings.Count(string(r.Body), `"/text":"hmac:`)
	}
	require.Equal(t, mode == "hmac", hmacs > 0)
}

func requireNowhere(t *testing.T, dir, except string) {
	t.Helper()
	found := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, except) {
			return err
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, strings.ToLower(string(data)), strings.ToLower(canary), path)
		if strings.Contains(path, "vedette.db") {
			found++
		}
		return nil
	}))
	require.GreaterOrEqual(t, found, 2, "the database and its write-ahead log were searched")
}
