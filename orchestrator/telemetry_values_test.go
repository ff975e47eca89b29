package orchestrator

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// spanCollector takes OTLP over HTTP as a real one does, and keeps what was sent.
type spanCollector struct {
	*httptest.Server
	mu     sync.Mutex
	spans  []*tracev1.Span
	raw    bytes.Buffer // every request, decompressed
	paths  map[string]int
	broken bool
}

func newCollector(t *testing.T) *spanCollector {
	c := &spanCollector{paths: map[string]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *spanCollector) take(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths[r.URL.Path]++
	if c.broken {
		http.Error(w, "cAnArY-from-the-spanCollector", http.StatusBadRequest)
		return
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, "gzip", http.StatusBadRequest)
			return
		}
		body = z
	}
	b, err := io.ReadAll(body)
	var q coltrace.ExportTraceServiceRequest
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(b, &q) != nil {
		http.Error(w, "not OTLP", http.StatusBadRequest)
		return
	}
	c.raw.Write(b)
	for _, rs := range q.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	out, _ := proto.Marshal(&coltrace.ExportTraceServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

// names counts the spans that came.
func (c *spanCollector) names() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	for _, s := range c.spans {
		out[s.GetName()]++
	}
	return out
}

// The spans of a configured spanCollector arrive there, over HTTP and as OTLP, at
// the latest when the orchestrator is closed.
func TestSpansReachACollector(t *testing.T) {
	c := newCollector(t)
	o := with(echo(t))
	o.config = "telemetry: {traces: {otlp: '" + c.URL + "'}}\n"
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"), agent("do-a", use("note.echo", "1"), "ok"))
	r.send("go")
	require.NoError(t, r.Close(context.Background()))
	require.Equal(t, map[string]int{
		"turn": 1, "invoke_agent": 1, "chat m": 5, "execute_tool agent.dispatch": 1, "run agent.dispatch": 1, "execute_tool note.echo": 1,
		"run note.echo": 1,
	}, c.names())
	require.Len(t, c.paths, 1)
	require.Positive(t, c.paths["/v1/traces"])
	require.Contains(t, c.raw.String(), "vedette")
	trace := c.spans[0].GetTraceId()
	for _, s := range c.spans {
		require.Equal(t, trace, s.GetTraceId(), s.GetName())
		require.GreaterOrEqual(t, s.GetEndTimeUnixNano(), s.GetStartTimeUnixNano(), s.GetName())
	}
}

// With sample: 0 no turn is traced, and none is a burden to the spanCollector.
func TestNoShareOfTurnsIsTraced(t *testing.T) {
	c := newCollector(t)
	o := with()
	o.config = "telemetry: {traces: {otlp: '" + c.URL + "', sample: 0}}\n"
	r := start(t, o, orch("go", "done"))
	r.send("go")
	require.NoError(t, r.Close(context.Background()))
	require.Empty(t, c.paths)
}

// A spanCollector that refuses harms no turn: turns are answered, what was dropped
// is counted and logged, and its own words are not.
func TestCollectorRefuses(t *testing.T) {
	c := newCollector(t)
	c.broken = true
	o := with()
	o.config = "telemetry: {metrics: {listen: '127.0.0.1:0'}, traces: {otlp: '" + c.URL + "'}}\n"
	r := start(t, o, orch("go", "done"))
	r.send("go")
	require.NoError(t, r.tel.Flush(t.Context()))
	f, text := scrape(t, r)
	f.want(t, text, "trace_spans_dropped_total 2")
	require.Contains(t, r.log.String(), "spans can't be sent")
	require.NotContains(t, r.log.String(), "cAnArY")
}

// No text of a user, a model, a skill or a spanCollector is found in metrics or in
// spans: not in values, undeclared keys, names of skills, tools and agents,
// results, errors, panics, missions or ids.
func TestNoValueIsMeasured(t *testing.T) {
	const c = "qUoKkA"
	col := newCollector(t)
	o := with(
		skill(t, "note.good", skills.Create, skills.Untrusted, func(context.Context, string) (string, error) { return c + "-result", nil }),
		skill(t, "note.fails", skills.Create, skills.Trusted,
			func(context.Context, string) (string, error) { return "", errors.New(c + "-error") }),
		skill(t, "note.odd", skills.Create, skills.Trusted, func(context.Context, string) (string, error) {
			return "", &skills.Failure{Code: c + "-code", Err: errors.New(c)}
		}),
		skill(t, "note.panics", skills.Create, skills.Trusted, func(context.Context, string) (string, error) { panic(c + "-panic") }),
		skill(t, "note.asks", skills.Create, skills.Trusted, func(context.Context, string) (string, error) { return "", nil }),
	)
	o.tune.help = 50 * time.Millisecond // no model answers it
	var crash atomic.Bool
	o.tune.at = func(string) {
		if crash.CompareAndSwap(true, false) {
			panic(c + "-crash")
		}
	}
	o.config = "sentinel: {retries: 0, canaries: {every: 0s}}\npermissions: [{skill: note.asks, then: ask, reason: " + c + "}]\n" +
		"telemetry: {metrics: {listen: '127.0.0.1:0'}, traces: {otlp: '" + col.URL + "'}}\n"
	o.Approver = approver(func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
		v := sentinel.Refuse(c+"."+c, c+"-reason")
		v.Meta = map[string]string{"from": c}
		return v, nil
	})
	odd := tool("use_skill", map[string]any{"skill": "note.good", "arguments": map[string]any{"X": c + "-arg", c + "-undeclared": c}})
	bad := tool("use_skill", `{"skill":"note.good","arguments":{"X":"`+c+`-raw","X":1}}`)
	review := func(key string, reply rule) rule {
		return rule{"when": rule{"schema": "sentinel_decision", "user_contains": key}, "reply": reply}
	}
	r := start(t, o,
		[]rule{
			review("nonsense", rule{"content": c + " said the model"}), review("broken", rule{"status": 500, "body": c + "-from-the-server"}),
			review("", rule{"content": `{"decision":"approve","reason":"` + c + `"}`}),
		},
		orch("go", []call{
			dispatch("a", c+"-mission", "note.good", "note.fails", "note.panics", "note.odd", "note.asks").with("max_tool_calls",
				20).with("context", c+"-context"),
			dispatch("b", c+"-mission-b", c+".skill"), dispatch(strings.ToLower(c), c+"-id", "note.good"), tool(c+"_tool", map[string]any{c: c}),
			tool(toolDispatch, c),
		}, results("wait_all"), tool(toolUpdate, map[string]any{"agent_id": "a", "message": c + "-update"}), c+"-answer"),
		orch("down", rule{"status": 400, "body": c + "-from-the-server"}),
		agent(c+"-mission", use("note.good", c+"-arg"), odd, bad, use(c+".skill", c), use("note.fails", c), use("note.panics", c),
			use("note.odd", c), use("note.asks", c),
			use("note.good", "nonsense"), use("note.good", "broken"), tool(agents.ToolRequestHelp, map[string]any{"reason": c + "-help"}),
			c+"-report"),
		agent(c+"-id", "ok"))
	conv := r.open(c+"-conversation", c+"-user")
	_, err := conv.Send(t.Context(), "go "+c+"-request")
	require.NoError(t, err)
	crash.Store(true) // of a process whose name is an id from outside, with a value
	_, err = conv.SendRequest(t.Context(), Request{ID: c + "-request", Text: "down " + c})
	require.Error(t, err)
	f, _ := scrape(t, r)
	f.want(t, "", "calls_total skill=unknown 4", "turns_total result=model_request 1", "reviews_total failure=lone_server 1")
	require.Positive(t, f.value("vedette_approvals_answered_total", "code", "other", "outcome", "deny"))
	require.InDelta(t, 1, f.value("vedette_supervision_events_total", "event", "child_crashed", "child", "server"), 0)
	resp, err := http.Get("http://" + r.MetricsAddr() + "/metrics")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	http.DefaultClient.CloseIdleConnections()
	require.NotContains(t, strings.ToLower(string(body)), strings.ToLower(c))

	require.NoError(t, r.Close(context.Background()))
	names := col.names()
	require.Equal(t, 2, names["turn"], names)
	require.Equal(t, 2, names["invoke_agent"])
	require.Positive(t, names["execute_tool unknown"])
	require.NotContains(t, strings.ToLower(col.raw.String()), strings.ToLower(c))
	ids := 0
	for _, s := range col.spans {
		for _, kv := range s.GetAttributes() {
			if kv.GetKey() == "vedette.decision.id" {
				ids++
			}
		}
	}
	require.Greater(t, ids, 8, "a span's decision is found in the ledger")
}
