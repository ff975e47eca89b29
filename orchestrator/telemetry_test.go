package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/skills"
)

// families are the metrics of a scrape by name.
type families map[string]*dto.MetricFamily

// scrape reads /metrics as Prometheus does; the text is for a person who reads a
// failure: the series without the buckets.
func scrape(t *testing.T, r *rig) (families, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	resp, err := client.Get("http://" + r.MetricsAddr() + "/metrics")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	p := expfmt.NewTextParser(model.UTF8Validation)
	out, err := p.TextToMetricFamilies(strings.NewReader(string(body)))
	require.NoError(t, err)
	var series []string
	for l := range strings.Lines(string(body)) {
		if !strings.HasPrefix(l, "#") && !strings.Contains(l, "_bucket{") {
			series = append(series, l)
		}
	}
	return out, strings.Join(series, "")
}

// value is a metric's, the count of a histogram, the sum over all series that
// have these labels; -1 where there is none.
func (f families) value(name string, labels ...string) float64 {
	sum, found := 0.0, false
	for _, m := range f[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		match := true
		for i := 0; i < len(labels); i += 2 {
			match = match && has[labels[i]] == labels[i+1]
		}
		if !match {
			continue
		}
		found = true
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	if !found {
		return -1
	}
	return sum
}

// want holds a scrape against lines such as "calls_total skill=a.b 3": the sum
// over all series with these labels.
func (f families) want(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		words := strings.Fields(line)
		var labels []string
		for _, l := range words[1 : len(words)-1] {
			k, v, _ := strings.Cut(l, "=")
			labels = append(labels, k, v)
		}
		number, err := strconv.ParseFloat(words[len(words)-1], 64)
		require.NoError(t, err)
		require.InDelta(t, number, f.value("vedette_"+words[0], labels...), 1e-9, "%s\n%s", line, text)
	}
}

// What a running orchestrator does is counted, and a scrape over HTTP shows it:
// calls, gates, people, skills, models, turns, agents and what is under way.
func TestScrape(t *testing.T) {
	entered, free := make(chan struct{}), make(chan struct{})
	o := with(echo(t),
		skill(t, "note.fails", skills.Create, skills.Trusted, func(context.Context, string) (string, error) { return "", errors.New("no") }))
	o.config = scraped + "permissions: [{skill: note.fails, then: ask}]\n"
	o.models = ", price: {input: 2, output: 10}"
	o.Approver = approver(func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
		close(entered)
		<-free
		return sentinel.Pass(), nil
	})
	twice := tool("use_skill", `{"skill":"note.echo","arguments":{"X":1,"X":2}}`)
	r := start(t, o,
		orch("go", takes(1000, 10, dispatch("a", "do-a", "note.echo", "note.fails")), takes(1100, 20, results("wait_all")),
			takes(1200, 30, "done")),
		agent("do-a", takes(100, 1, use("note.echo", "1")), takes(200, 2, use("note.fails", "2")), takes(300, 3, use("nobody.has", "3")),
			takes(400, 4, twice), takes(500, 5, "ok")))
	reply := make(chan error, 1)
	c := r.open("c1", "ann")
	go func() {
		_, err := c.Send(context.Background(), "go")
		reply <- err
	}()
	<-entered
	nothingHeld(t, r) // what waits for a person holds no place
	f, text := scrape(t, r)
	f.want(t, text,
		"approvals_held 1", "approvals_requested_total effect=create 1", "approvals_answered_total -1",
		"in_use kind=agents 0", "in_use kind=turns 0", "in_use kind=requests 0", "in_use kind=conversations 1", "turns_total -1",
		"agents_total -1")
	close(free)
	require.NoError(t, <-reply)
	for _, target := range []pause.Target{{Skill: "note.echo"}, {User: "eve"}, {User: "bob"}} {
		_, err := r.Parts().Pauses.Pause(t.Context(), target, "me")
		require.NoError(t, err)
	}
	f, text = scrape(t, r)
	f.want(t, text,
		"calls_total skill=note.echo outcome=allow effect=read outward=false 1", "calls_total skill=note.echo 1",
		"calls_total skill=note.fails outcome=allow effect=create 1", "calls_total skill=agent.dispatch outcome=allow 1",
		"calls_total skill=unknown outcome=deny effect=none 2", "calls_total 5",
		"decisions_total outcome=deny gate=scope code=scope.unknown_skill effect=none 1",
		"decisions_total outcome=deny gate=parse code=parse.duplicate_key 1", "decisions_total outcome=allow gate=none code=none 3",
		"gate_verdicts_total gate=permission verdict=ask 1", "gate_verdicts_total gate=review verdict=skipped 3",
		"gate_verdicts_total gate=guard verdict=not_reached 1", "gate_verdicts_total gate=approval verdict=allow 1",
		"gate_duration_seconds gate=permission 4", "gate_duration_seconds gate=approval -1", "decision_duration_seconds outcome=allow 3",
		"decision_duration_seconds 4",
		"approvals_held 0", "approvals_answered_total effect=create outcome=allow code=none 1", "approval_wait_seconds outcome=allow 1",
		"skill_runs_total skill=note.echo status=ok code=none 1", "skill_runs_total skill=note.fails status=failed code=failed 1",
		"skill_run_duration_seconds skill=note.fails 1", "record_duration_seconds kind=decision 4", "record_duration_seconds kind=held 1",
		"record_duration_seconds kind=outcome 3", "record_duration_seconds kind=refused 1", "record_failures_total -1",
		"model_requests_total role=orchestrator model=m result=ok sent=true 3", "model_requests_total role=agent model=m result=ok sent=true 5",
		"model_requests_total 8", "model_request_duration_seconds role=agent 5", "model_request_wait_seconds role=agent 5",
		"model_tokens_total role=orchestrator direction=input 3300", "model_tokens_total role=orchestrator direction=output 60",
		"model_tokens_total role=agent direction=input 1500", "model_tokens_total role=agent direction=output 15",
		"model_cost_total role=orchestrator 0.0072", "model_cost_total role=agent 0.00315",
		"turns_total result=answered 1", "turn_duration_seconds 1", "agents_total state=completed 1", "agents_total 1",
		"agent_duration_seconds 1",
		"in_use kind=agents 0", "in_use kind=skill name=note.echo 0", "in_use kind=model name=m 0", "capacity kind=model name=m 64",
		"admission_refusals_total kind=turns 0", "waiting kind=turns 0",
		"pauses scope=skill 1", "pauses scope=user 2", "pauses scope=all 0", "draining 0", "leaked_processes 0")
	require.InDelta(t, float64(time.Now().Unix()), f.value("vedette_start_time_seconds"), 600)
	require.Contains(t, f, "go_goroutines")
	require.NotContains(t, f, "vedette_limits_store_away", "limits are in memory")
	require.NotContains(t, f, "vedette_review_breaker_state", "nothing is reviewed")
}

// What the review does is counted: verdicts, requests by model and failure,
// calls that went ahead unjudged, tokens, and the breaker that opened.
func TestScrapeReview(t *testing.T) {
	o := with(echo(t), skill(t, "note.bad", skills.Create, skills.Trusted, func(context.Context, string) (string, error) { return "", nil }))
	o.models = ", price: {input: 2, output: 10}}\n  judge: {model: judge, base_url: \"$URL\", timeout: 20s, price: {input: 1}"
	o.config = scraped + "sentinel: {retries: 0, canaries: {every: 0s}, breaker: {failures: 2, open_for: 1h}}\n"
	say := func(key string, reply rule) rule {
		return rule{"when": rule{"schema": "sentinel_decision", "user_contains": key}, "reply": reply}
	}
	r := start(t, o,
		[]rule{
			say("note.bad", takes(500, 20, `{"decision":"reject","reason":"no"}`)), say("broken", rule{"status": 500}),
			say("", takes(400, 10, `{"decision":"approve","reason":"ok"}`)),
		})
	invoke := func(user, name, x string) error {
		desk := r.Parts().Checkpoint.Desk(freeGrantOf(t, user, "note.*"))
		_, err := desk.Invoke(t.Context(), name, []byte(`{"X":"`+x+`"}`))
		return err
	}
	require.NoError(t, invoke("eve", "note.echo", "fine"))
	require.Error(t, invoke("eve", "note.bad", "1"))
	require.Error(t, invoke("eve", "note.echo", "broken"), "one user's failure is no outage, and no person can be asked")
	for range 3 {
		require.NoError(t, invoke("ann", "note.echo", "broken"), "another user meets it too: a read goes ahead")
	}
	f, text := scrape(t, r)
	f.want(t, text,
		"reviews_total mode=enforce effect=read outcome=allow failure=none 1", "reviews_total effect=create outcome=deny failure=none 1",
		"reviews_total effect=read outcome=ask failure=lone_server 1",
		"reviews_total effect=read outcome=allow failure=server 2", "reviews_total effect=read failure=breaker_open 1", "reviews_total 6",
		"review_duration_seconds from=model 6", "review_cache_hits_total -1", "degraded_decisions_total effect=read 3",
		"decisions_total gate=review code=review.rejected outcome=deny 1",
		"model_requests_total role=review model=m result=ok sent=true 2",
		"model_requests_total role=review model=m result=lone_server sent=true 1",
		"model_requests_total role=review model=m result=server sent=true 2",
		"model_requests_total role=review model=m result=breaker_open sent=false 1",
		"model_tokens_total role=review direction=input 900", "model_tokens_total role=review direction=output 30",
		"model_cost_total role=review 0.0021", "model_request_duration_seconds role=review 5",
		"review_breaker_state model=m state=open 1", "review_breaker_state model=m state=closed 0",
		"review_breaker_state model=m state=half-open 0",
		"review_breaker_state model=judge -1", "review_breaker_changes_total model=m to=open 1")
	child, ok := r.sys.Whereis("review/m")
	require.True(t, ok)
	child.Send(breakdown{})
	require.Eventually(t, func() bool {
		f, _ := scrape(t, r)
		return f.value("vedette_review_breaker_state", "state", "closed") == 1 && f.value("vedette_supervision_events_total", "event",
			"child_restarted", "child", "model") == 1
	}, eventually, tick)
}

// What a model's canaries came to is a gauge, and what they cost is no user's
// review: a model that approves everything has failed, one that answers nothing
// is unanswered, and one that is not of the review has none.
func TestScrapeCanaries(t *testing.T) {
	o := with(echo(t))
	o.models = ", price: {input: 2, output: 10}}\n  judge: {model: judge, base_url: \"$URL\", timeout: 20s}\n  other: {model: other, " +
		"base_url: \"$URL\", timeout: 20s"
	o.config = scraped + "sentinel: {retries: 0, canaries: {every: 1h}}\n"
	o.reviewers = "[m, judge]"
	schema := func(model string, then rule) rule {
		return rule{"when": rule{"schema": "sentinel_decision", "model": model}, "reply": then}
	}
	r := start(t, o, []rule{
		schema("m", takes(500, 20, `{"decision":"approve","reason":"ok"}`)), schema("judge", rule{"status": 500}),
	})
	require.Eventually(t, func() bool {
		f, _ := scrape(t, r)
		return f.value("vedette_review_canary_state", "model", "judge", "state", "unanswered") == 1 &&
			f.value("vedette_review_canary_state", "model", "m", "state", "failed") == 1
	}, eventually, tick)
	f, text := scrape(t, r) // that one may have read the counters before the gauge, and the last request between them
	f.want(t, text,
		"review_canary_state model=m state=failed 1", "review_canary_state model=m state=passed 0",
		"review_canary_state model=m state=unanswered 0",
		"review_canary_state model=judge state=unanswered 1", "review_canary_state model=judge state=failed 0",
		"review_canary_state model=other -1",
		"model_requests_total role=canary model=m result=ok 6", "model_requests_total role=canary model=judge result=server 1",
		"model_requests_total role=review -1", "model_tokens_total role=canary direction=input 3000", "model_cost_total role=canary 0.0072",
		"reviews_total -1")
}

// While the server of the limits is away a gauge says so, and so do counters.
func TestScrapeLimitsAway(t *testing.T) {
	srv := redistest.Start(t)
	o := with(echo(t))
	o.config = scraped + fmt.Sprintf("limits: {store: {driver: redis, url: %q, prefix: m, timeout: 10s}}\n", srv.URL())
	r := start(t, o, orch("go", "done"))
	f, text := scrape(t, r)
	f.want(t, text, "limits_store_away 0", "limits_store_failures_total 0", "limits_store_outages_total -1",
		"limits_store_unsynced_questions 0")
	srv.Kill()
	_, _ = r.Parts().Checkpoint.Desk(freeGrant(t, "note.echo")).Invoke(t.Context(), "note.echo", []byte(`{"X":"1"}`))
	f, text = scrape(t, r)
	f.want(t, text, "limits_store_away 1", "limits_store_outages_total cause=connection 1", "degraded_decisions_total effect=read 1")
	require.Positive(t, f.value("vedette_limits_store_failures_total"))
}

// An address that can't be listened on keeps the program from starting, with
// its place in the file; at Close the address is free again, and a server of
// metrics that breaks down comes back at the same one.
func TestMetricsAddress(t *testing.T) {
	r := start(t, options{config: scraped}, orch("go", "done"))
	addr := r.MetricsAddr()
	file := filepath.Join(r.dir, "other.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `version: 1
models: {m: {model: m, base_url: "http://127.0.0.1:1"}}
roles: {orchestrator: m, agent: m}
ledger: {path: ./other.db}
telemetry: {metrics: {listen: %q}}
`, addr), 0o600))
	cfg, err := config.Load(file, config.Options{})
	require.NoError(t, err)
	_, err = New(t.Context(), cfg, Options{NoReview: true})
	require.ErrorContains(t, err, "other.yaml:5:31: telemetry.metrics.listen: can't be listened on")
	require.NoFileExists(t, filepath.Join(r.dir, "other.db"), "nothing was opened for it")
	old, ok := r.sys.Whereis("metrics")
	require.True(t, ok)
	old.Send(breakdown{})
	require.Eventually(t, func() bool {
		now, ok := r.sys.Whereis("metrics")
		return ok && now != old
	}, eventually, tick)
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + addr + "/metrics")
		if err == nil {
			_ = resp.Body.Close()
		}
		http.DefaultClient.CloseIdleConnections()
		return err == nil && resp.StatusCode == http.StatusOK
	}, eventually, tick)
	for path, status := range map[string]int{"/": 404, "/debug/pprof/": 404} {
		resp, err := http.Get("http://" + addr + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, status, resp.StatusCode, path)
	}
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, r.Close(context.Background()))
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, ln.Close())
}

// A program's own registry gets the same metrics, until Close; a second
// orchestrator of one registry is told what to do.
func TestOwnRegistry(t *testing.T) {
	reg := prometheus.NewRegistry()
	o := with(echo(t))
	o.Metrics = reg
	r := start(t, o, orch("go", "done"))
	require.Empty(t, r.MetricsAddr())
	r.send("go")
	count := func() int {
		list, err := reg.Gather()
		require.NoError(t, err)
		return len(list)
	}
	require.Greater(t, count(), 10)
	_, err := New(t.Context(), r.Parts().Config, Options{Metrics: reg, NoReview: true})
	require.ErrorContains(t, err, "WrapRegistererWith")
	require.Greater(t, count(), 10, "the first one's are still there")
	require.NoError(t, r.Close(context.Background()))
	require.Zero(t, count())
}

// outline writes spans as a tree: names, indented, in the order of their starts.
func outline(list tracetest.SpanStubs) string {
	var b strings.Builder
	slices.SortStableFunc(list, func(x, y tracetest.SpanStub) int { return x.StartTime.Compare(y.StartTime) })
	ids := map[string]bool{}
	for _, s := range list {
		ids[s.SpanContext.SpanID().String()] = true
	}
	var walk func(parent string, depth int)
	walk = func(parent string, depth int) {
		for _, s := range list {
			p := s.Parent.SpanID().String()
			if p == parent || parent == "" && !ids[p] {
				fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", depth), s.Name)
				walk(s.SpanContext.SpanID().String(), depth+1)
			}
		}
	}
	walk("", 0)
	return b.String()
}

func attrs(list []attribute.KeyValue) map[string]any {
	out := map[string]any{}
	for _, kv := range list {
		out[string(kv.Key)] = kv.Value.AsInterface()
	}
	return out
}

// A turn is one tree of spans within its caller's trace: turn, agent, call,
// review, question to a model, by the names of the semantic conventions.
func TestSpans(t *testing.T) {
	mem := tracetest.NewInMemoryExporter()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(mem))
	o := with(echo(t))
	o.Tracer = tp
	o.config = "sentinel: {canaries: {every: 0s}}\n"
	r := start(t, o,
		[]rule{{"when": rule{"schema": "sentinel_decision"}, "reply": takes(400, 10, `{"decision":"approve","reason":"ok"}`)}},
		orch("go", takes(1000, 10, dispatch("a", "do-a", "note.echo")), takes(1100, 20, results("wait_all")), takes(1200, 30, "done")),
		agent("do-a", takes(100, 1, use("note.echo", "1")), takes(100, 1, use("nobody.has", "1")), takes(100, 1, "ok")))
	ctx, caller := tp.Tracer("test").Start(t.Context(), "caller")
	_, err := r.open("c1", "ann").Send(ctx, "go")
	require.NoError(t, err)
	caller.End()
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(mem.GetSpans(), func(s tracetest.SpanStub) bool { return s.Name == "turn" })
	}, eventually, tick)
	require.NoError(t, r.Close(context.Background()))
	spans := mem.GetSpans()
	tree := outline(spans)
	for _, s := range spans {
		require.Equal(t, caller.SpanContext().TraceID(), s.SpanContext.TraceID(), s.Name)
	}
	require.Equal(t, `caller
  turn
    chat m
    execute_tool agent.dispatch
      review
        chat m
      run agent.dispatch
    invoke_agent
      chat m
      execute_tool note.echo
        review
          chat m
        run note.echo
      chat m
      execute_tool unknown
      chat m
    chat m
    chat m
`, tree)
	find := func(name string) tracetest.SpanStub {
		i := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		return spans[i]
	}
	chat := attrs(find("chat m").Attributes)
	for k, v := range map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai_compatible", "gen_ai.request.model": "m", "server.address": "127.0.0.1",
		"gen_ai.usage.input_tokens": int64(1000), "gen_ai.usage.output_tokens": int64(10), "vedette.role": "orchestrator",
	} {
		require.Equal(t, v, chat[k], k)
	}
	call := find("execute_tool note.echo")
	got := attrs(call.Attributes)
	for k, v := range map[string]any{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "note.echo", "vedette.outcome": "allow", "vedette.gate": "none",
		"vedette.effect": "read", "vedette.degraded": false,
	} {
		require.Equal(t, v, got[k], k)
	}
	var gates []string
	for _, e := range call.Events {
		a := attrs(e.Attributes)
		gates = append(gates, fmt.Sprint(a["vedette.gate"], " ", a["vedette.outcome"]))
	}
	require.Equal(t, []string{"limits allow", "schema allow", "scope allow", "permission allow", "guard allow", "judge allow",
		"review allow"}, gates)
	bad := attrs(find("execute_tool unknown").Attributes)
	require.Equal(t, "deny", bad["error.type"])
	require.Equal(t, "scope.unknown_skill", bad["vedette.code"])
}
