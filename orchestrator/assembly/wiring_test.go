package assembly_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
	runhttp "github.com/vedette-dev/vedette/skills/run/http"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// guarded asks what a configuration's decider says of one call.
func guarded(t *testing.T, file, skill string, args map[string]any) sentinel.Decision {
	t.Helper()
	d, err := assembly.NewDecider(load(t, file), assembly.DeciderOptions{})
	require.NoError(t, err)
	defer d.Close()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	c, err := d.NewCall(sentinel.Proposal{Skill: skill, Args: raw,
		Grant: grant(t, "do it", "fs.read", "fs.change", "shell.exec", "doc.write")})
	require.NoError(t, err)
	dec, err := d.Decide(t.Context(), c)
	require.NoError(t, err)
	return dec
}

// What the guard protects comes from the configuration: its files, database and
// program from writing, its keys from reading too, and forbid_paths from all.
func TestGuardIsWired(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	file := write(t, "guard: {forbid_paths: [\"**/*.secret\"]}\n")
	cfg := load(t, file)
	for _, tc := range []struct{ skill, path, code string }{
		{"fs.change", file, guard.CodeProtected},
		{"fs.change", filepath.Join(filepath.Dir(file), "skills.yaml"), guard.CodeProtected},
		{"fs.change", cfg.Ledger.Path, guard.CodeProtected},
		{"fs.change", cfg.Ledger.Path + "-wal", guard.CodeProtected},
		{"fs.change", exe, guard.CodeProtected},
		{"fs.read", file, ""},
		{"fs.read", filepath.Join(cfg.Keys.Dir, "journal.key"), guard.CodeProtected},
		{"fs.read", "/srv/x.secret", guard.CodeForbidden},
		{"fs.read", "/srv/x.public", ""},
	} {
		d := guarded(t, file, tc.skill, map[string]any{"path": tc.path})
		require.Equal(t, tc.code, d.Code, tc)
	}
}

// Nobody can make a skill file that the next start would find, by whatever way
// a call writes; reading them is free, and so is writing elsewhere.
func TestSkillFoldersAreProtected(t *testing.T) {
	for _, roots := range []string{"", "guard: {roots: [\"./workspace\"]}\n"} {
		dir := t.TempDir()
		for _, d := range []string{"skills/more", "plugins/a", "nested", "elsewhere", "workspace"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o700))
		}
		const doc = "name: doc.write\neffect: modify\nreaches: self\nparameters: {type: object, properties: {path: {type: string, x-path: " +
			"true}}}\nrun: {template: x}\n"
		const other = "name: other.%s\neffect: read\nrun: {template: x}\n"
		for name, text := range map[string]string{
			"skills.yaml": skillsYAML, "skills/doc.yaml": doc, "plugins/a/skill.yaml": fmt.Sprintf(other, "a"), "root.yml": fmt.Sprintf(other, "b"),
			"skills/list.yaml": "include: [\"../nested/*.yaml\"]\n", "nested/n.yaml": fmt.Sprintf(other, "c"),
			"elsewhere/e.yaml": fmt.Sprintf(other, "d"),
			"vedette.yaml": "version: 1\nsentinel: {mode: \"off\"}\nskills: {include: [skills.yaml, \"skills/*.yaml\", " +
				"\"plugins/**/skill.yaml\", \"*.yml\", \"linked/*.yaml\"]}\n" + roots,
		} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, "linked")))
		file := filepath.Join(dir, "vedette.yaml")
		at := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
		for _, line := range []string{
			"echo x > DIR/skills/evil.yaml", "cp evil.yaml DIR/skills/", "cp evil.yaml DIR/s*ls/", "mv DIR/skills DIR/x", "tee DIR/evil.yml",
			"mkdir DIR/plugins/b", "echo x > DIR/plugins/b/skill.yaml", "echo x > DIR/nested/evil.yaml", "echo x > DIR/linked/evil.yaml",
			"echo x > DIR/elsewhere/evil.yaml",
		} {
			require.Equal(t, guard.CodeProtected, guarded(t, file, "shell.exec", map[string]any{"command": at(line)}).Code, line)
		}
		for _, p := range []string{"DIR/skills/evil.yaml", "DIR/skills"} {
			require.Equal(t, guard.CodeProtected, guarded(t, file, "fs.change", map[string]any{"path": at(p)}).Code, "unannotated: "+p)
			require.Equal(t, guard.CodeProtected, guarded(t, file, "doc.write", map[string]any{"path": at(p)}).Code, "x-path: "+p)
			require.Equal(t, sentinel.Allow, guarded(t, file, "fs.read", map[string]any{"path": at(p)}).Outcome, "reading is free: "+p)
		}
		for _, line := range []string{"cat DIR/skills/doc.yaml", "ls DIR/skills", "echo x > DIR/workspace/a.yml", "echo x > DIR/a.txt",
			"echo x > DIR/skills/notes.md"} {
			require.Equal(t, sentinel.Allow, guarded(t, file, "shell.exec", map[string]any{"command": at(line)}).Outcome, line)
		}
	}
}

// A breaker that is open defers a call, and says when to come again: nothing was
// judged, and no person is asked.
func TestOpenBreakerDefers(t *testing.T) {
	clock, n := newHands(), &notes{fail: errors.New("broken")}
	p := build(t, write(t, "limits: {skill: {failures: 1, window: 1m, open_for: 10s}}\n"),
		assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}, Now: clock.now})
	call := func() error {
		_, err := p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"milk"}`))
		return err
	}
	var f *skills.Failure
	require.ErrorAs(t, call(), &f)
	var no *skills.Refusal
	require.ErrorAs(t, call(), &no)
	require.Equal(t, []any{skills.KindDefer, limits.CodeSkillOpen}, []any{no.Kind, no.Code})
	require.Equal(t, 10*time.Second, no.RetryAfter)
	list := records(t, p.Config, ledger.Query{Kind: sentinel.RecordDecision})
	require.Equal(t, sentinel.Defer.String(), list[len(list)-1].Outcome)
}

// A denied call doesn't keep the probe of a breaker that is about to close.
func TestReleaseFreesTheProbe(t *testing.T) {
	clock, n := newHands(), &notes{fail: errors.New("broken")}
	p := build(t, write(t, "limits: {skill: {failures: 1, window: 1m, open_for: 10s}}\n"),
		assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}, Now: clock.now})
	call := func(args string) error {
		_, err := p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", json.RawMessage(args))
		return err
	}
	code := func(err error) string {
		var r *skills.Refusal
		require.ErrorAs(t, err, &r)
		return r.Code
	}
	var f *skills.Failure
	require.ErrorAs(t, call(`{"text":"milk"}`), &f)
	require.Equal(t, limits.CodeSkillOpen, code(call(`{"text":"milk"}`)))
	clock.move(11 * time.Second)
	require.NotEqual(t, limits.CodeSkillOpen, code(call(`{"text":1}`)), "it is the probe, and denied")
	n.mu.Lock()
	n.fail = nil
	n.mu.Unlock()
	require.NoError(t, call(`{"text":"milk"}`))
}

// Only the orchestrator's own calls are counted as agents: a skill of somebody
// else's that is named like one counts as a call.
func TestOnlyOwnCallsCountAsAgents(t *testing.T) {
	g, err := skills.Func(skills.Spec{Name: "agent.shell", Effect: skills.Create, Output: skills.Trusted},
		func(context.Context, note) (string, error) { return "ok", nil })
	require.NoError(t, err)
	var natives []assembly.Native
	for _, name := range []string{"agent.dispatch", "agent.update", "agent.extend"} {
		natives = append(natives, assembly.Native{
			Spec: skills.Spec{Name: name, Effect: skills.Create, Reaches: skills.Self, Output: skills.Trusted, Run: skills.Run{Kind: "native"}},
			Run:  func(context.Context, skills.Order) (skills.Result, error) { return skills.Result{}, nil },
		})
	}
	p := build(t, write(t, "limits: {agent: {calls: 2}, turn: {agents: 3}}\njudge: {threshold: 0, ask_below: 0}\n"),
		assembly.Options{Skills: []*skills.GoSkill{g}, Natives: natives})
	desk := p.Checkpoint.Desk(grant(t, "start agents", "agent.shell", "agent.dispatch", "agent.update", "agent.extend"))
	for _, tc := range []struct{ skill, code string }{
		{"agent.dispatch", ""}, {"agent.update", ""}, {"agent.extend", ""}, {"agent.dispatch", limits.CodeTurnAgents},
		{"agent.shell", ""}, {"agent.shell", ""}, {"agent.shell", limits.CodeAgentCalls},
	} {
		args := `{}`
		if tc.skill == "agent.shell" {
			args = `{"text":"x"}`
		}
		_, err := desk.Invoke(t.Context(), tc.skill, json.RawMessage(args))
		if tc.code == "" {
			require.NoError(t, err, tc)
			continue
		}
		var r *skills.Refusal
		require.ErrorAs(t, err, &r)
		require.Equal(t, tc.code, r.Code)
	}
}

// The receiver of an http skill's call accepts its token as meant for itself
// and this call; the same call sent again has a token of its own.
func TestTokensOfCallsThatLeave(t *testing.T) {
	clock := newHands()
	var o warrant.VerifyOptions
	claims, keys := make(chan warrant.Claims, 3), make(chan string, 3)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := warrant.VerifyHTTP(r, o)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		b, _ := io.ReadAll(r.Body)
		claims <- c
		keys <- r.Header.Get("Idempotency-Key")
		_, _ = fmt.Fprintf(w, "sent %s", b)
	}))
	defer srv.Close()
	file := write(t, "")
	text := skillsYAML +
		"  - name: mail.send\n    effect: create\n    idempotent: true\n    parameters: {type: object, properties: {to: {type: string}}}\n" +
		"    run: {http: {url: \"" + srv.URL + "/send\", allow_hosts: [\"127.0.0.1\"], allow_private: [\"127.0.0.1\"]}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "skills.yaml"), []byte(text), 0o600))
	p := build(t, file, assembly.Options{Now: clock.now})
	o = warrant.VerifyOptions{
		Key: p.Keys.WarrantPublic(), Audience: srv.URL, Seen: warrant.NewSeen(warrant.SeenOptions{Now: clock.now}).First, Now: clock.now,
	}
	clock.move(-240 * time.Hour) // the tokens are of the clock that was given
	res, err := p.Checkpoint.Desk(grant(t, "mail ann", "mail.send")).Invoke(t.Context(), "mail.send", json.RawMessage(`{"to":"ann"}`))
	require.NoError(t, err)
	require.Equal(t, `sent {"to":"ann"}`, res.Content)
	got := <-claims
	call := records(t, p.Config, ledger.Query{Kind: sentinel.RecordDecision})[0].Call
	require.Equal(t, call, got.CallID)
	require.Equal(t, call, <-keys)
	require.NotEqual(t, call, got.ID)
	life := got.Expires.Sub(got.IssuedAt)
	require.True(t, life >= time.Minute && life <= time.Minute+time.Second, "a receiver takes it for a minute, in whole seconds: %s", life)

	order := skills.Order{CallID: call, Skill: "mail.send", SkillDigest: "d", Args: `{"to":"ann"}`}
	for range 2 {
		token, err := p.Token(clock.now, order, runhttp.Request{Audience: srv.URL, Method: "POST", Target: "/send", Body: []byte(order.Args)})
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/send", strings.NewReader(order.Args))
		require.NoError(t, err)
		req.Header.Set(warrant.Header, token)
		answer, err := srv.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Equal(t, call, (<-claims).CallID)
	}
}

// The digest in a record is salted with a key that is not in the database:
// without it nobody can try values against it.
func TestRecordsHoldSaltedDigests(t *testing.T) {
	p := build(t, write(t, ""), assembly.Options{})
	g := grant(t, "read it", "fs.read")
	args := json.RawMessage(`{"path":"/srv/x"}`)
	_, err := p.Checkpoint.Desk(g).Invoke(t.Context(), "fs.read", args)
	require.NoError(t, err)
	c, err := p.Checkpoint.NewCall(sentinel.Proposal{Skill: "fs.read", Args: args, Grant: g})
	require.NoError(t, err)
	key := p.Keys.Digest()
	m := hmac.New(sha256.New, key[:])
	m.Write([]byte(c.Digest()))
	var body struct{ Digest string }
	raw := records(t, p.Config, ledger.Query{Kind: sentinel.RecordDecision})[0].Body
	require.NoError(t, json.Unmarshal(raw, &body))
	require.Equal(t, "hmac:"+hex.EncodeToString(m.Sum(nil)), body.Digest)
	_, plain, _ := strings.Cut(c.Digest(), ":")
	require.NotContains(t, string(raw), plain)
}

// The journal takes the largest values that a call may have, however long JSON
// makes them.
func TestLargestValuesFit(t *testing.T) {
	n := &notes{}
	p := build(t, write(t, ""), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
	for _, r := range []string{"<", "\u2028", "\x01"} {
		raw, err := json.Marshal(map[string]string{"text": strings.Repeat(r, (1<<20-64)/6)})
		require.NoError(t, err)
		if r == "<" {
			raw = []byte(`{"text":"` + strings.Repeat(r, 1<<20-64) + `"}`)
		}
		_, err = p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", raw)
		require.NoError(t, err)
	}
	rec := sentinel.Record{Kind: sentinel.RecordOutcome, ID: "big", At: time.Now(), CallID: "c", DecisionID: "d", Outcome: "ok"}
	rec.Values = []sentinel.Value{{Name: "args", Data: make([]byte, 8<<20)}}
	require.NoError(t, p.Recorder().Record(t.Context(), rec))
	values, err := p.Journal.ByCall(t.Context(), "c")
	require.NoError(t, err)
	require.Len(t, values[0].Data, 8<<20)
}
