package review_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) {
	if takes := os.Getenv(farModel); takes != "" {
		if err := beModel(takes); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	approves = `{"decision":"approve","reason":"fits"}`
	rejects  = `{"decision":"reject","reason":"does not fit"}`
)

// soon is how long a test waits for a model that never answers.
const soon = 25 * time.Millisecond

// play serves a script until the test ends.
func play(t testing.TB, script string) *scripted.Server {
	t.Helper()
	s, err := scripted.Load([]byte(script))
	require.NoError(t, err)
	srv, err := scripted.Serve(t.Context(), s, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	return srv
}

// server is a real HTTP server that counts and keeps requests; h gets the
// number of the request from 1.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func serve(t testing.TB, h func(w http.ResponseWriter, r *http.Request, n int)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, b)
		n := len(s.bodies)
		s.mu.Unlock()
		h(w, r, n)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.bodies...)
}

// say answers as a chat completion.
func say(w http.ResponseWriter, content string) {
	b, err := json.Marshal(map[string]any{"choices": []any{map[string]any{
		"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": content},
	}}, "usage": map[string]int{"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

func client(t testing.TB, cfg llm.Config) *llm.Client {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "fast"
	}
	if cfg.Model == "" {
		cfg.Model = "plain"
	}
	c, err := llm.New(cfg, nil)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdle)
	return c
}

// gate is one whose models fail other users too.
func gate(t testing.TB, o review.Options, urls ...string) *review.Gate {
	t.Helper()
	return quiet(t, o, urls...).MetElsewhere()
}

// quiet is a gate of which no other user asks anything but in the test.
func quiet(t testing.TB, o review.Options, urls ...string) *review.Gate {
	t.Helper()
	names := []string{"fast", "primary", "third"}
	o.Doubts = cmp.Or(o.Doubts, review.DoubtsCount) // else forty more canaries are asked
	for i, u := range urls {
		o.Models = append(o.Models, client(t, llm.Config{Name: names[i], BaseURL: u}))
	}
	g, err := review.New(o)
	require.NoError(t, err)
	return g
}

// closedPort returns an address where no server listens.
func closedPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String() + "/v1"
}

const anyArgs = `{"type":"object","additionalProperties":true,"properties":{
	"url":{"type":"string","x-url":true},"key":{"type":"string","x-secret":true},
	"secret_path":{"type":"string","x-secret":true,"x-path":true},"note":{"type":"string","x-content":true}}}`

// specs hold a skill of every effect that stays with the user, and one of every effect that
// reaches others. Those of the scenarios are among them.
func specs() []skills.Spec {
	var out []skills.Spec
	for _, e := range skills.Effects() {
		out = append(out,
			skills.Spec{Name: "self." + string(e), Effect: e, Reaches: skills.Self, Description: "does it", Parameters: json.RawMessage(anyArgs)},
			skills.Spec{Name: "others." + string(e), Effect: e, Reaches: skills.Others, Parameters: json.RawMessage(anyArgs)})
	}
	mail := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","x-target":true},"subject":{"type":"string",` +
		`"x-content":true},"body":{"type":"string","x-content":true}}}`)
	query := json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","x-content":true},"due_before":{"type":"string",` +
		`"x-content":true}}}`)
	return append(out,
		skills.Spec{Name: "email.send", Description: "Send an email from the user's mailbox.", Effect: skills.Irreversible,
			Reaches: skills.Others, Parameters: mail},
		skills.Spec{Name: "email.draft", Description: "Save an email as a draft.", Effect: skills.Create, Parameters: mail},
		skills.Spec{Name: "tasks.delete", Description: "Delete a task.", Effect: skills.Irreversible,
			Parameters: json.RawMessage(`{"type":"object","properties":{"task_id":{"type":"string","x-target":true}}}`)},
		skills.Spec{Name: "tasks.search", Description: "Search the user's tasks.", Effect: skills.Read, Parameters: query},
		skills.Spec{Name: "files.search", Description: "Search the user's files.", Effect: skills.Read, Parameters: query},
		skills.Spec{Name: "memory.search", Description: "Search what is remembered.", Effect: skills.Read, Parameters: query},
		skills.Spec{Name: "calendar.create", Description: "Create a calendar event.", Effect: skills.Create,
			Parameters: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","x-content":true},"start":{"type":"string",` +
				`"x-content":true}}}`)},
		skills.Spec{Name: "files.write", Description: "Write a file.", Effect: skills.Modify,
			Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","x-path":true},"content":{"type":"string",` +
				`"x-content":true}}}`)})
}

// compiled is the registry of specs, which does not change.
var compiled = sync.OnceValues(func() (*skills.Registry, error) {
	var list []*skills.Skill
	for _, s := range specs() {
		c, err := skills.Compile(s)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return skills.NewRegistry(list...)
})

func registry(t testing.TB) *skills.Registry {
	t.Helper()
	r, err := compiled()
	require.NoError(t, err)
	return r
}

func ptr[T any](v T) *T { return &v }

// proposal makes a call; its zero fields are harmless.
type proposal struct {
	skill, args string
	grant       sentinel.GrantOptions
	scope       []string
	trace       sentinel.Trace
}

func call(t testing.TB, p proposal) sentinel.Call {
	t.Helper()
	if p.args == "" {
		p.args = `{"note":"x"}`
	}
	if p.scope == nil {
		p.scope = []string{"self.*", "others.*"}
	}
	scope, err := skills.NewScope(p.scope...)
	require.NoError(t, err)
	o := p.grant
	if o.ID == "" {
		o.ID = "g1"
	}
	o.Scope = scope
	if o.Conversation == "" {
		o.Conversation = "c1"
	}
	if o.Agent == "" {
		o.Agent = "helper"
	}
	if o.MissionBy == "" {
		o.MissionBy = sentinel.ByOrchestrator
	}
	g, err := sentinel.NewGrant(o)
	require.NoError(t, err)
	c, err := sentinel.NewCall(registry(t), touch.Env{Root: "/workspace", NoFS: true},
		sentinel.Proposal{Skill: p.skill, Args: []byte(p.args), Grant: g, Trace: p.trace})
	require.NoError(t, err)
	return c
}

// others counts the calls that alike has made.
var others atomic.Int64

// alike returns a call that differs from c in one argument and is of another
// turn.
func alike(c sentinel.Call) (sentinel.Call, error) { return alikeOf(c, c.Grant().User()) }

// alikeOf is alike for a call of another user.
func alikeOf(c sentinel.Call, user string) (sentinel.Call, error) {
	reg, err := compiled()
	if err != nil {
		return sentinel.Call{}, err
	}
	n, was := others.Add(1), c.Grant()
	args := fmt.Sprintf(`%s,"own_%d":1}`, strings.TrimSuffix(c.Args(), "}"), n)
	o := sentinel.GrantOptions{
		ID: fmt.Sprintf("own-%d", n), User: user, Conversation: was.Conversation(), Agent: was.Agent(), Mission: was.Mission(),
		MissionBy: was.MissionBy(), MissionTainted: was.MissionTainted(), Scope: was.Scope(), Tainted: was.Tainted(),
	}
	if text, ok := was.Request(); ok {
		o.Request = &text
	}
	g, err := sentinel.NewGrant(o)
	if err != nil {
		return sentinel.Call{}, err
	}
	return sentinel.NewCall(reg, touch.Env{Root: "/workspace", NoFS: true},
		sentinel.Proposal{Skill: c.Name(), Args: []byte(args), Grant: g, Trace: c.Trace()})
}

// another is alike for a test's own goroutine.
func another(t testing.TB, c sentinel.Call) sentinel.Call {
	t.Helper()
	own, err := alike(c)
	require.NoError(t, err)
	return own
}

// users makes the calls of as many users out of one.
func users(t testing.TB, c sentinel.Call, names ...string) []sentinel.Call {
	t.Helper()
	var out []sentinel.Call
	for _, name := range names {
		own, err := alikeOf(c, name)
		require.NoError(t, err)
		out = append(out, own)
	}
	return out
}

func check(t testing.TB, g *review.Gate, c sentinel.Call) sentinel.Verdict {
	t.Helper()
	v, err := g.Check(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, sentinel.GateReview, v.Gate)
	return v
}

// oneLine makes an agent's id of a text: a grant takes no other.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	return strings.ToValidUTF8(s[:min(len(s), 200)], "")
}
