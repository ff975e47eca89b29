package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

func serve(t *testing.T, script string) *scripted.Server {
	t.Helper()
	sc, err := scripted.Load([]byte(script))
	require.NoError(t, err)
	srv, err := scripted.Serve(t.Context(), sc, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	return srv
}

// What shapes the review's question and answer, and which calls it is asked
// about, comes from the configuration.
func TestQuestionIsWired(t *testing.T) {
	srv := serve(t,
		`rules: [{reply: {tool_calls: [{name: sentinel_decision, arguments: {reasoning: r, decision: approve, should_run: 0.79, reason: x}}]}}]`)
	file := write(t, `models: {a: {model: m, base_url: "`+srv.BaseURL()+`", json_schema: false, schemaless: tool}}
roles: {sentinel: a}
sentinel:
  mode: "off"
  modes: {effect: {modify: enforce, irreversible: shadow}, skill: {fs.read: "off"}}
  answer: graded
  reject_below: 0.80
  arguments: keys
  reasoning: true
  trace: 4
  prompt: criteria.txt
`)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "criteria.txt"), []byte("Mine alone."), 0o600))
	decide := func(skill, args string) sentinel.Verdict {
		d, err := assembly.NewDecider(load(t, file), assembly.DeciderOptions{NoFS: true})
		require.NoError(t, err)
		defer d.Close()
		c, err := d.NewCall(sentinel.Proposal{Skill: skill, Args: []byte(args),
			Grant: grant(t, "change notes.txt and run ls", "fs.*", "shell.*")})
		require.NoError(t, err)
		dec, err := d.Decide(t.Context(), c)
		require.NoError(t, err)
		v, _ := dec.Verdict(sentinel.GateReview)
		return v
	}
	v := decide("fs.change", `{"path":"/srv/CANARY.txt"}`)
	require.Equal(t, review.CodeUnsure, v.Code, v.Reason)
	require.Equal(t, 79, v.Score)
	require.Equal(t, "tool", v.Meta["answer"])
	require.Regexp(t, "^custom-[0-9a-f]{12}$", v.Meta["prompt"])
	require.Len(t, srv.Requests(), 1)
	body := string(srv.Requests()[0])
	require.Contains(t, body, `"content":"Mine alone.`)
	require.Contains(t, body, `\"argument_names\":[\"path\"]`)
	require.Contains(t, body, `\"trace\":[]`)
	require.Contains(t, body, `\"judge\":{\"score\":`)
	require.NotContains(t, body, "CANARY")

	require.Equal(t, sentinel.Shadow, decide("shell.exec", `{"command":"ls"}`).State)
	require.Len(t, srv.Requests(), 2)
	v = decide("fs.read", `{"path":"/srv/x"}`)
	require.Equal(t, sentinel.Skipped, v.State)
	require.Equal(t, "sentinel.modes.skill.fs.read is off", v.Reason)
	require.Len(t, srv.Requests(), 2)
}

// A bound of nothing is one: every graded approval passes.
func TestRejectBelowNothing(t *testing.T) {
	srv := serve(t, `rules: [{reply: {content: '{"decision":"approve","should_run":0,"reason":"x"}'}}]`)
	file := write(t, `models: {a: {model: m, base_url: "`+srv.BaseURL()+`"}}
roles: {sentinel: a}
sentinel: {answer: graded, reject_below: 0}
`)
	d := guarded(t, file, "fs.read", map[string]any{"path": "/srv/x"})
	v, _ := d.Verdict(sentinel.GateReview)
	require.Equal(t, sentinel.Allow, v.Outcome, v.Reason)
}

// A review that is off for every call needs no model, one that is on for some
// does.
func TestModesNeedAModel(t *testing.T) {
	_, err := assembly.NewDecider(load(t, write(t, "sentinel: {mode: \"off\", modes: {effect: {read: \"off\"}}}\n")),
		assembly.DeciderOptions{})
	require.NoError(t, err)
	_, err = assembly.NewDecider(load(t, write(t, "sentinel: {mode: \"off\", modes: {effect: {read: shadow}}}\n")), assembly.DeciderOptions{})
	require.ErrorContains(t, err, "roles.sentinel: names no model for the review")
}

// No call writes the file with the review's criteria; others beside it are free.
func TestThePromptIsProtected(t *testing.T) {
	file := write(t, "sentinel: {mode: \"off\", prompt: criteria.txt}\n")
	dir := filepath.Dir(file)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "criteria.txt"), []byte("x"), 0o600))
	for path, code := range map[string]string{"criteria.txt": guard.CodeProtected, "other.txt": ""} {
		require.Equal(t, code, guarded(t, file, "fs.change", map[string]any{"path": filepath.Join(dir, path)}).Code, path)
		require.Equal(t, code, guarded(t, file, "shell.exec", map[string]any{"command": "echo x > " + filepath.Join(dir, path)}).Code, path)
	}
}

// With the example's own skills and descriptions the questions of the scenarios take at most
// 900 tokens each with evidence and 600 without: both messages and the marks around them.
func TestExamplePromptTokens(t *testing.T) {
	for evidence, most := range map[string]int{"records": 900, "off": 600} {
		t.Run(evidence, func(t *testing.T) { countExampleTokens(t, evidence, most) })
	}
}

func countExampleTokens(t *testing.T, evidence string, most int) {
	t.Helper()
	script, err := os.ReadFile(scenarioFolder + "scenarios.script.yaml")
	require.NoError(t, err)
	srv := serve(t, string(script))
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../examples/assistant")))
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{Env: func(k string) (string, bool) {
		return srv.BaseURL(), k == "OPENAI_BASE_URL"
	}})
	require.NoError(t, err)
	cfg.Sentinel.Evidence = evidence
	d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{NoFS: true})
	require.NoError(t, err)
	defer d.Close()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	asked := 0
	for _, s := range readScenarios(t) {
		scope, err := skills.NewScope(s.Scope...)
		require.NoError(t, err)
		g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", User: "u", Conversation: "c", Agent: s.Agent, Mission: s.Mission,
			MissionBy: sentinel.ByOrchestrator, Request: s.Request, Scope: scope})
		require.NoError(t, err)
		c, err := d.NewCall(sentinel.Proposal{Skill: s.Skill, Args: s.Arguments, Grant: g})
		require.NoError(t, err)
		_, err = d.Decide(t.Context(), c)
		require.NoError(t, err)
		reqs := srv.Requests()
		if len(reqs) == asked {
			t.Logf("scenario %-3s was stopped before the review", s.ID)
			continue
		}
		asked = len(reqs)
		var body struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		require.NoError(t, json.Unmarshal(reqs[asked-1], &body))
		const frame = 3*2 + 2 + 3
		total := frame
		for _, m := range body.Messages {
			n, err := codec.Count(strings.ToValidUTF8(m.Content, ""))
			require.NoError(t, err)
			total += n
		}
		t.Logf("scenario %-3s %d tokens", s.ID, total)
		require.LessOrEqual(t, total, most, s.ID)
	}
	require.GreaterOrEqual(t, asked, 10)
}

// A resumed desk knows of each step what its skill does and whether it failed.
func TestResumedStepsKnowHowTheyEnded(t *testing.T) {
	p := pastHouse(t, assembly.Options{})
	g := p.grant("g")
	d := p.Checkpoint.Numbered(g)
	_, err := p.invoke(t.Context(), d, "note.plain", "x")
	require.NoError(t, err)
	p.next = func(context.Context) (skills.Result, error) { return skills.Result{}, errors.New("broken") }
	_, err = p.invoke(t.Context(), d, "note.read", "x")
	require.Error(t, err)
	tr := p.resumed(g).Trace() // the first alone
	require.Equal(t, 1, tr.Len())
	again := p.Checkpoint.Numbered(g)
	_, err = again.Resume(t.Context(), 2, 0)
	require.NoError(t, err)
	tr = again.Trace()
	require.Equal(t, []any{skills.Create, false}, []any{tr.Step(0).Effect, tr.Step(0).Failed})
	require.Equal(t, []any{skills.Read, true}, []any{tr.Step(1).Effect, tr.Step(1).Failed})
}
