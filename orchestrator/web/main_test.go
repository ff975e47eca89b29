package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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
	"github.com/vedette-dev/vedette/orchestrator/web"
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

// The configuration of these tests: mail.send asks a person, and carl's calls are bob's to answer.
const houseConfig = `version: 1
models:
  m: {model: m, base_url: "%s", timeout: 20s}
roles: {orchestrator: m, agent: m, sentinel: m}
judge: {threshold: 0, ask_below: 0}
ledger: {path: ./v.db}
permissions:
  - {id: mails, skill: "mail.send", then: ask, reason: "mails leave the house"}
  - {id: records, skill: "crm.update", then: ask, reason: "records are dear"}
skills:
  known:
    - {name: crm.update, description: Change a record., effect: modify, reaches: self,
       parameters: {type: object, required: [id], additionalProperties: false, properties: {id: {type: string, x-target: true}}}}
approvals: {inbox: true, timeout: 10m, pending: {user: 100, conversation: 100, process: 1000}, who: [{users: ["carl"], approvers: ["bob"]}]}
limits: {turn: {calls: 1000}, agent: {calls: 1000}, conversation: {calls: 10000}}
`

// house is a process with its pages on the loopback: a configuration in a folder, SQLite, gates, a
// guard with tokens, and a model server that plays a script.
type house struct {
	t      testing.TB
	dir    string
	o      *orchestrator.Orchestrator
	tokens *access.Tokens
	guard  *access.Guard
	secret map[string]string // by name
	ids    map[string]string
	pages  *web.Pages
	server *httptest.Server
	ran    *syncBuffer
	log    *syncBuffer
	clock  *clock
	calls  context.Context //nolint:containedctx // of the calls of ask
	leave  context.CancelFunc
	asked  sync.WaitGroup
}

// clock is the time of the pages; it moves by hand on top of the real one.
type clock struct {
	mu sync.Mutex
	by time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += d
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

// changes are what a test changes about its house.
type changes struct {
	rules []map[string]any
	pages web.Options
	short bool // approvals expire after a moment
	clock *clock
	// intent is beside the configuration of all.
	intent string
}

func open(t testing.TB, c changes) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), ran: &syncBuffer{}, log: &syncBuffer{}, clock: &clock{}, secret: map[string]string{},
		ids: map[string]string{}}
	if c.clock != nil {
		h.clock = c.clock
	}
	src, err := json.Marshal(map[string]any{"rules": append(c.rules, map[string]any{"when": map[string]any{},
		"reply": map[string]any{"content": "I say nothing."}})})
	require.NoError(t, err)
	script, err := scripted.Load(src)
	require.NoError(t, err)
	model, err := scripted.Serve(context.Background(), script, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "vedette.yaml"), fmt.Appendf(nil, houseConfig+c.intent, model.BaseURL()), 0o600))
	if c.short {
		file := filepath.Join(h.dir, "vedette.yaml")
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, bytes.Replace(b, []byte("timeout: 10m"), []byte("timeout: 2s"), 1), 0o600))
	}
	h.start(c)
	t.Cleanup(h.stop)
	return h
}

// mailSkill asks a person each time it is called.
func (h *house) mailSkill() *skills.GoSkill {
	type in struct {
		To   string `json:"to" jsonschema_extras:"x-target=true"`
		Text string `json:"text,omitempty" jsonschema_extras:"x-content=true"`
		Pass string `json:"pass,omitempty" jsonschema_extras:"x-secret=true"`
	}
	g, err := skills.Func(skills.Spec{Name: "mail.send", Description: "For tests.", Effect: skills.Create, Output: skills.Trusted,
		Reaches: skills.Others, Timeout: 20 * time.Second},
		func(_ context.Context, i in) (string, error) {
			_, _ = fmt.Fprintln(h.ran, "mail.send", i.To, i.Text)
			return "sent", nil
		})
	require.NoError(h.t, err)
	return g
}

// start starts the process over what is in the folder.
func (h *house) start(c changes) {
	h.calls, h.leave = context.WithCancel(context.Background())
	cfg, err := config.Load(filepath.Join(h.dir, "vedette.yaml"), config.Options{KnownSkills: []string{"mail.send"}})
	require.NoError(h.t, err)
	log := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.o, err = orchestrator.New(context.Background(), cfg, orchestrator.Options{Skills: []*skills.GoSkill{h.mailSkill()}, NoReview: true,
		Log: log})
	require.NoError(h.t, err)
	h.tokens = h.o.Parts().Tokens
	scopes := []access.Scope{access.Chat, access.Approve}
	for _, w := range []access.Wanted{
		{Name: "ann", User: "ann", Scopes: scopes, UserTurns: access.UserTurnsHuman},
		{Name: "bob", User: "bob", Scopes: scopes, UserTurns: access.UserTurnsHuman},
		{Name: "chat", User: "ann", Scopes: []access.Scope{access.Chat}, UserTurns: access.UserTurnsHuman},
		{Name: "robot", User: "ann", Scopes: []access.Scope{access.Chat}},
		{Name: "review", User: "ann", Scopes: []access.Scope{access.Review}},
		{Name: "check", User: "ann", Scopes: []access.Scope{access.Check}},
		{Name: "rita", User: "rita", Scopes: []access.Scope{access.Review, access.Label}},
		{Name: "rob", User: "rob", Scopes: []access.Scope{access.Review, access.Label}},
		{Name: "away", Scopes: append(scopes, access.ActAs)},
		{Name: "olga", User: "olga", Scopes: append(scopes, access.Review, access.Label, access.Values), UserTurns: access.UserTurnsHuman},
		{Name: "reader", User: "ron", Scopes: []access.Scope{access.Chat, access.Review}},
		{Name: "values", User: "vera", Scopes: []access.Scope{access.Chat, access.Review, access.Values}},
	} {
		made, err := h.tokens.Create(context.Background(), w, "local:test")
		require.NoError(h.t, err)
		h.secret[w.Name], h.ids[w.Name] = made.Secret, made.ID
	}
	h.server = httptest.NewUnstartedServer(nil)
	address := h.server.Listener.Addr().String()
	h.guard, err = access.NewGuard(access.GuardOptions{Tokens: h.tokens, Hosts: []string{"127.0.0.1"},
		Origins: []string{"http://" + address}, Log: log, Now: h.clock.now})
	require.NoError(h.t, err)
	o := c.pages
	o.Orchestrator, o.Guard, o.Log, o.Now = h.o, h.guard, log, h.clock.now
	if o.PublicURL == "" {
		o.PublicURL = "http://" + address
	}
	h.pages, err = web.New(o)
	require.NoError(h.t, err)
	h.server.Config.Handler = h.pages
	h.server.Start()
}

func (h *house) stop() {
	h.leave()
	h.asked.Wait()
	h.pages.Close()
	h.server.CloseClientConnections()
	h.server.Close()
	require.NoError(h.t, h.o.Close(context.Background()))
}

// ask makes a call of the user's that asks a person, and returns its approval and what the call comes to.
func (h *house) ask(user string, args map[string]any) (approval.Item, <-chan error) {
	h.t.Helper()
	return h.askWith(user, "send the mail", "send what the user wants", args)
}

func (h *house) askWith(user, request, mission string, args map[string]any) (approval.Item, <-chan error) {
	h.t.Helper()
	sc, err := skills.NewScope("mail.send")
	require.NoError(h.t, err)
	c := "c-" + sentinel.NewID()
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: sentinel.NewID(), User: user, Conversation: c, Turn: "t1", Agent: "clerk", Mission: mission, MissionBy: sentinel.ByOrchestrator,
		Request: &request, Scope: sc,
	})
	require.NoError(h.t, err)
	raw, err := json.Marshal(args)
	require.NoError(h.t, err)
	ended := make(chan error, 1)
	desk := h.o.Parts().Checkpoint.Desk(g)
	h.asked.Go(func() {
		_, err := desk.Invoke(h.calls, "mail.send", raw)
		ended <- err
	})
	var list []approval.Item
	require.Eventually(h.t, func() bool {
		list, err = h.o.Parts().Inbox.List(context.Background(), approval.Filter{Conversation: c})
		return err == nil && len(list) == 1 || len(ended) > 0
	}, eventually, tick)
	if len(list) == 0 {
		require.NoError(h.t, <-ended, "no person was asked")
	}
	return list[0], ended
}

// browser is a person's: it keeps cookies and follows where it is led.
type browser struct {
	h      *house
	client *http.Client
	jar    *cookiejar.Jar
}

func (h *house) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(h.t, err)
	c := *h.server.Client()
	c.Jar = jar
	return &browser{h, &c, jar}
}

// signIn is a browser in which a token has signed in.
func (h *house) signIn(name string) *browser {
	h.t.Helper()
	b := h.browser()
	p := b.get("/login")
	p = b.post("/login", url.Values{"csrf": {p.field("csrf")}, "token": {h.secret[name]}})
	require.Equal(h.t, 200, p.StatusCode, p.body)
	return b
}

// shown is a page that a browser shows.
type shown struct {
	*http.Response
	body string
}

// do sends a request. header is pairs of names and values.
func (b *browser) do(method, path, body string, header ...string) shown {
	b.h.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, b.h.server.URL+path, strings.NewReader(body))
	require.NoError(b.h.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Add(header[i], header[i+1])
	}
	res, err := b.client.Do(r)
	require.NoError(b.h.t, err)
	defer func() { require.NoError(b.h.t, res.Body.Close()) }()
	out, err := io.ReadAll(res.Body)
	require.NoError(b.h.t, err)
	return shown{res, string(out)}
}

func (b *browser) get(path string, header ...string) shown {
	b.h.t.Helper()
	return b.do(http.MethodGet, path, "", header...)
}

func (b *browser) post(path string, form url.Values, header ...string) shown {
	b.h.t.Helper()
	header = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)
	return b.do(http.MethodPost, path, form.Encode(), header...)
}

// answer opens an approval and sends one of its forms.
func (b *browser) answer(id string, more url.Values) shown {
	b.h.t.Helper()
	p := b.get("/approvals/" + id)
	require.Equal(b.h.t, 200, p.StatusCode, p.body)
	form := url.Values{"csrf": {p.field("csrf")}, "digest": {p.field("digest")}}
	for name, list := range more {
		form[name] = list
	}
	return b.post("/approvals/"+id, form)
}

// field is the value of a page's hidden field.
func (p shown) field(name string) string {
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(p.body)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}

var tags = regexp.MustCompile(`<[^>]*>`)

// text is what the page says.
func (p shown) text() string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(p.body, ""))), " ")
}
