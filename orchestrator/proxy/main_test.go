package proxy_test

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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/proxy"
	"github.com/vedette-dev/vedette/orchestrator/threads"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// How long a test waits for what must come, a little less than the watchdog does, and how often it looks.
const (
	eventually = 4 * time.Minute
	tick       = 2 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// houseConfig has two doors to one upstream. Bash asks no model: rules alone decide.
const houseConfig = `version: 1
sentinel: {mode: "off"}
judge: {threshold: 0, ask_below: 0}
ledger: {path: ./v.db}
limits: {agent: {calls: 1000}, turn: {calls: 1000}, conversation: {calls: 10000, window: 5m}}
approvals: {inbox: true, timeout: 10m}
permissions:
  - {skill: tool.b-uash, when: "args.command.contains('forbidden')", then: deny, reason: "that command is forbidden"}
  - {skill: tool.b-uash, when: "args.command.contains('careful')", then: ask, reason: "that command needs a person"}
proxy:
  openai: [{url: "%[1]s/v1", api_key: upstream-secret}]
  anthropic: [{url: "%[1]s", api_key: upstream-secret}]
  tools:
    - {tool: Bash, effect: modify, reaches: self, arguments: {command: content}}
    - {tool: Read, effect: read, reaches: self, arguments: {file_path: content}}
    - {tool: "mcp__git__*", effect: read, reaches: self}
`

// upstream answers as a provider does, by what a test sets.
type upstream struct {
	*httptest.Server
	mu       sync.Mutex
	answer   http.HandlerFunc
	requests []asked
}

// asked is a request as the upstream got it.
type asked struct {
	path, query string
	header      http.Header
	body        string
}

func startUpstream(t testing.TB) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.requests = append(u.requests, asked{r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(raw)})
		answer := u.answer
		u.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(raw))
		answer(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// says has the upstream answer so.
func (u *upstream) says(answer http.HandlerFunc) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer = answer
}

// last is the newest request.
func (u *upstream) last() asked {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.requests[len(u.requests)-1]
}

// streams has the upstream send an event stream in one piece.
func (u *upstream) streams(events string) {
	u.says(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
	})
}

// replies has the upstream send one JSON answer.
func (u *upstream) replies(status int, body string) {
	u.says(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// house is a process with its proxy on the loopback.
type house struct {
	t      testing.TB
	up     *upstream
	o      *orchestrator.Orchestrator
	door   *proxy.Door
	server *httptest.Server
	guard  *access.Guard
	tokens map[string]string
	file   string
	log    *logBuffer
	times  proxy.Options // Hold, KeepAlive and Idle

	mu     sync.Mutex
	now    time.Time
	events []proxy.Event
}

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// open starts a house. more changes its configuration: pairs of a text and what stands in its place.
func open(t testing.TB, more ...string) *house { return openWith(t, proxy.Options{}, more...) }

// openWith is open with other times than the configuration's.
func openWith(t testing.TB, times proxy.Options, more ...string) *house {
	t.Helper()
	h := &house{t: t, times: times, up: startUpstream(t), tokens: map[string]string{}, now: time.Now(), log: &logBuffer{}}
	h.file = filepath.Join(t.TempDir(), "vedette.yaml")
	text := fmt.Sprintf(strings.NewReplacer(more...).Replace(houseConfig), h.up.URL)
	require.NoError(t, os.WriteFile(h.file, []byte(text), 0o600))
	h.start()
	t.Cleanup(h.stop)
	return h
}

// start opens the house, for the first time or again after stop.
func (h *house) start() {
	h.t.Helper()
	cfg, err := config.Load(h.file, config.Options{})
	require.NoError(h.t, err)
	log := slog.New(slog.NewTextHandler(h.log, nil))
	h.o, err = orchestrator.New(context.Background(), cfg, orchestrator.Options{Log: log})
	require.NoError(h.t, err)
	parts := h.o.Parts()
	keys, err := threads.OpenKeys(context.Background(), threads.KeyOptions{Store: parts.Store, Idle: cfg.Proxy.Idle,
		Keep: cfg.Journal.Retention, Now: h.clock})
	require.NoError(h.t, err)
	h.door, err = proxy.New(context.Background(), proxy.Options{
		Handover: parts.Handover, Registry: parts.Registry, Keys: keys, Running: parts.Running, Key: parts.Keys.Digest(),
		Credential: parts.FindCredential, PublicURL: "https://vedette.example", LocalUser: "ann", Log: log, Now: h.clock,
		Hold: h.times.Hold, KeepAlive: h.times.KeepAlive, Idle: h.times.Idle, Transport: h.times.Transport,
		Begin: func(ctx context.Context, _ string) (context.Context, func(proxy.Event)) {
			return ctx, func(e proxy.Event) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.events = append(h.events, e)
			}
		},
	})
	require.NoError(h.t, err)
	h.server = httptest.NewUnstartedServer(nil)
	h.guard, err = access.NewGuard(access.GuardOptions{Tokens: parts.Tokens, Hosts: []string{h.server.Listener.Addr().String()},
		Usual: access.Limits{PerMinute: 1_000_000}})
	require.NoError(h.t, err)
	h.server.Config.Handler = h.door.Guarded(h.guard)
	h.server.Start()
}

// stop ends the house as a process ends.
func (h *house) stop() {
	if h.server == nil {
		return
	}
	h.server.Client().CloseIdleConnections()
	h.server.Close()
	h.door.Close()
	require.NoError(h.t, h.o.Close(context.Background()))
	h.server = nil
}

// key returns a token of a user, made where there is none.
func (h *house) key(name string, change func(*access.Wanted)) string {
	h.t.Helper()
	if k, ok := h.tokens[name]; ok {
		return k
	}
	w := access.Wanted{Name: name, User: "ann", Scopes: []access.Scope{access.Call}, UserTurns: access.UserTurnsHuman}
	if change != nil {
		change(&w)
	}
	made, err := h.o.Parts().Tokens.Create(context.Background(), w, "test")
	require.NoError(h.t, err)
	h.tokens[name] = made.Secret
	return made.Secret
}

// got is an answer as the client has it.
type got struct {
	status  int
	header  http.Header
	trailer http.Header
	body    string
}

// post sends a request and reads the answer to its end.
func (h *house) post(path, body string, headers ...string) got {
	h.t.Helper()
	res := h.send(path, body, headers...)
	defer func() { require.NoError(h.t, res.Body.Close()) }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return got{res.StatusCode, res.Header, res.Trailer, string(raw)}
}

// send sends a request with the key of the token "key" unless the headers say another.
func (h *house) send(path, body string, headers ...string) *http.Response {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.server.URL+path, strings.NewReader(body))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.key("key", nil))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := h.server.Client().Do(req)
	require.NoError(h.t, err)
	return res
}

// records returns the records of a kind, newest first.
func (h *house) records(kind string) []ledger.Record {
	h.t.Helper()
	list, err := h.o.Parts().Ledger.List(context.Background(), ledger.Query{Kind: kind, Newest: true, Limit: 1000})
	require.NoError(h.t, err)
	return list
}

// awaitRecords waits until there are so many records of a kind, and returns them.
func (h *house) awaitRecords(kind string, n int) (list []ledger.Record) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { list = h.records(kind); return len(list) >= n }, eventually, tick, "%s", h.log)
	require.Len(h.t, list, n)
	return list
}

// quote is a text as JSON.
func quote(text string) string {
	b, _ := json.Marshal(text) // a text always can be
	return string(b)
}
