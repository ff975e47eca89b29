package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/api"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

// How long a test waits for what must come, a little less than the watchdog does, and how often it looks.
const (
	eventually = 4 * time.Minute
	tick       = 2 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a process with its API on the loopback: a configuration in a folder, SQLite, gates, a
// guard with tokens, and a model server that plays a script.
type house struct {
	t      testing.TB
	dir    string
	o      *orchestrator.Orchestrator
	api    *api.API
	server *httptest.Server
	model  *scripted.Server
	tokens map[string]string // secrets by name
	all    *access.Tokens
	log    *syncBuffer
	ran    *syncBuffer
	calls  context.Context //nolint:containedctx // of the calls of ask
	leave  context.CancelFunc
	asked  sync.WaitGroup
	// started, where set, is told when a skill starts.
	started chan time.Time
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// The skills of these tests: mail.send asks a person, note.read reads.
const houseConfig = `version: 1
models:
  m: {model: m, base_url: "%s", timeout: 20s}
roles: {orchestrator: m, agent: m, sentinel: m}
judge: {threshold: 0, ask_below: 0}
ledger: {path: ./v.db}
skills:
  known:
    - {name: crm.update, description: Change a record., effect: modify, reaches: self, output: untrusted,
       parameters: {type: object, required: [id], additionalProperties: false, properties: {id: {type: string, x-target: true},
	note: {type: string}}}}
permissions:
  - {skill: "mail.send", then: ask, reason: "mails leave the house"}
  - {skill: "crm.update", then: ask, when: "args.id == 'vip'", reason: "an important customer"}
  - {skill: "crm.update", then: deny, when: "args.id == 'no'", reason: "this one never"}
approvals:
  inbox: true
  timeout: 10m
  who: [{users: ["carl"], approvers: ["bob"]}, {users: ["dora"], exclude_requester: true}]
limits: {turn: {calls: 1000}, agent: {calls: 1000}, conversation: {calls: 10000}}
`

// people are the tokens of these tests.
func people() []access.Wanted {
	all := []access.Scope{access.Chat, access.Check, access.Call, access.Approve, access.Review, access.Values,
		access.Admin}
	human := access.UserTurnsHuman
	return []access.Wanted{
		{Name: "ann", User: "ann", Scopes: all, UserTurns: human},
		{Name: "bob", User: "bob", Scopes: all, UserTurns: human},
		{Name: "chat", User: "ann", Scopes: []access.Scope{access.Chat}, UserTurns: human},
		{Name: "robot", User: "ann", Scopes: []access.Scope{access.Chat}},
		{Name: "check", User: "ann", Scopes: []access.Scope{access.Check}},
		{Name: "narrow", User: "ann", Scopes: []access.Scope{access.Chat, access.Check, access.Call}, Skills: []string{"note.read"},
			UserTurns: human},
		{Name: "gateway", Scopes: []access.Scope{access.Chat, access.Check, access.Call, access.ActAs}, UserTurns: human},
		{Name: "root", Scopes: []access.Scope{access.Admin, access.ActAs}},
		{Name: "deputy", User: "carl", Scopes: []access.Scope{access.Call, access.Approve, access.ActAs}},
		{Name: "desk", User: "carl", Scopes: []access.Scope{access.Chat, access.Approve, access.ActAs}, UserTurns: human},
		{Name: "carls-other", User: "carl", Scopes: []access.Scope{access.Approve}},
		{Name: "doras", User: "dora", Scopes: []access.Scope{access.Approve}},
		{Name: "nobody", User: "eve", Scopes: []access.Scope{access.Review}},
	}
}

func (h *house) skill(name string, effect skills.Effect, out skills.Trust) *skills.GoSkill {
	type in struct {
		To   string `json:"to,omitempty"`
		Text string `json:"text,omitempty"`
	}
	g, err := skills.Func(skills.Spec{Name: name, Description: "For tests.", Effect: effect, Output: out, Reaches: skills.Self,
		Timeout: 20 * time.Second},
		func(_ context.Context, i in) (string, error) {
			if h.started != nil {
				h.started <- time.Now()
			}
			_, _ = fmt.Fprintln(h.ran, name, i.To)
			return "done " + i.Text, nil
		})
	require.NoError(h.t, err)
	return g
}

// changes are what a test changes about its house.
type changes struct {
	rules []map[string]any
	api   api.Options
	usual access.Limits
	// intent is beside the configuration of all, and handlers do its actions.
	intent   string
	handlers map[string]intake.Handler
}

func open(t testing.TB, c changes) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), log: &syncBuffer{}, ran: &syncBuffer{}, tokens: map[string]string{}}
	src, err := json.Marshal(map[string]any{"rules": append(c.rules, map[string]any{"when": map[string]any{},
		"reply": map[string]any{"content": "I say nothing."}})})
	require.NoError(t, err)
	script, err := scripted.Load(src)
	require.NoError(t, err)
	h.model, err = scripted.Serve(context.Background(), script, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(h.model.Close)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "vedette.yaml"), fmt.Appendf(nil, houseConfig+c.intent, h.model.BaseURL()), 0o600))
	h.start(c)
	t.Cleanup(h.stop)
	return h
}

// start starts the process over what is in the folder.
func (h *house) start(c changes) {
	h.calls, h.leave = context.WithCancel(context.Background())
	goSkills := []*skills.GoSkill{
		h.skill("mail.send", skills.Create, skills.Trusted), h.skill("note.read", skills.Read, skills.Trusted),
		h.skill("web.read", skills.Read, skills.Untrusted),
	}
	var known []string
	for _, g := range goSkills {
		known = append(known, g.Skill().Name())
	}
	cfg, err := config.Load(filepath.Join(h.dir, "vedette.yaml"), config.Options{KnownSkills: known})
	require.NoError(h.t, err)
	log := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.o, err = orchestrator.New(context.Background(), cfg, orchestrator.Options{
		Skills: goSkills, NoReview: true, Log: log, Handlers: c.handlers,
	})
	require.NoError(h.t, err)
	parts := h.o.Parts()
	h.all, err = access.OpenTokens(context.Background(), access.TokenOptions{Store: parts.Store, Ledger: parts.Ledger,
		Key: parts.Keys.Digest()})
	require.NoError(h.t, err)
	for _, w := range people() {
		if h.tokens[w.Name] == "" {
			made, err := h.all.Create(context.Background(), w, "local:test")
			require.NoError(h.t, err)
			h.tokens[w.Name] = made.Secret
		}
	}
	if c.usual.PerMinute == 0 {
		c.usual = access.Limits{PerMinute: 10_000_000}
	}
	guard, err := access.NewGuard(access.GuardOptions{Tokens: h.all, Hosts: []string{"127.0.0.1"}, Log: log, Usual: c.usual})
	require.NoError(h.t, err)
	o := c.api
	o.Orchestrator, o.Guard, o.Log, o.Version = h.o, guard, log, "test"
	h.api, err = api.New(context.Background(), o)
	require.NoError(h.t, err)
	h.server = httptest.NewServer(h.api)
}

func (h *house) stop() {
	h.leave()
	h.asked.Wait()
	h.api.Close()
	h.server.CloseClientConnections()
	h.server.Close()
	require.NoError(h.t, h.o.Close(context.Background()))
}

// grant is the authority of an agent of the user.
func (h *house) grant(user, conversation string) sentinel.Grant {
	h.t.Helper()
	sc, err := skills.NewScope("mail.send", "note.read")
	require.NoError(h.t, err)
	req := "send the mail CANARY-request to CANARY-to"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: sentinel.NewID(), User: user, Conversation: conversation, Turn: "t1", Agent: "clerk",
		Mission: "CANARY-mission", MissionBy: sentinel.ByOrchestrator,
		Request: &req, Scope: sc,
	})
	require.NoError(h.t, err)
	return g
}

// ask makes a call of the user's that asks a person, and returns its approval and what the call comes to.
func (h *house) ask(user string) (approval.Item, <-chan error) {
	h.t.Helper()
	ended, c := make(chan error, 1), "c-"+sentinel.NewID()
	desk := h.o.Parts().Checkpoint.Desk(h.grant(user, c))
	h.asked.Go(func() {
		_, err := desk.Invoke(h.calls, "mail.send", json.RawMessage(`{"to":"CANARY-to"}`))
		ended <- err
	})
	var list struct{ Data []approval.Item }
	require.Eventually(h.t, func() bool {
		h.must("ann", "GET", "/v1/approvals?conversation="+c, nil, &list)
		return len(list.Data) == 1
	}, eventually, tick)
	return list.Data[0], ended
}

// answer is what a request was answered.
type answer struct {
	*http.Response
	body []byte
}

// into reads the answer's JSON.
func (a answer) into(t testing.TB, v any) answer {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.body, v), string(a.body))
	return a
}

// code returns the problem's code; empty where the answer is none.
func (a answer) code() string {
	var p struct{ Code string }
	if a.Header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}

// do sends a request in the name of a token. header is pairs of names and values.
func (h *house) do(who, method, path string, body any, header ...string) answer {
	h.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	case io.Reader:
		in = b
	default:
		raw, err := json.Marshal(b)
		require.NoError(h.t, err)
		in = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, h.server.URL+path, in)
	require.NoError(h.t, err)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+h.tokens[who])
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	res, err := h.server.Client().Do(r)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, res.Body.Close()) }()
	out, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return answer{res, out}
}

// must is do of a request that succeeds; out takes its answer.
func (h *house) must(who, method, path string, body, out any, header ...string) answer {
	h.t.Helper()
	a := h.do(who, method, path, body, header...)
	require.Less(h.t, a.StatusCode, 300, "%s %s: %s", method, path, a.body)
	if out != nil {
		a.into(h.t, out)
	}
	return a
}
