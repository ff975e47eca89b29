package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills/leak"
)

// A scrape that hangs does not keep the server from ending. What breaks in the state costs the
// scrape the state and nothing else.
func TestServerEnds(t *testing.T) {
	entered, free := make(chan struct{}), make(chan struct{})
	first := true
	m := NewMetrics(Names{}, func() State {
		if first {
			first = false
			panic("cAnArY")
		}
		close(entered)
		<-free
		return State{}
	})
	reg := prometheus.NewRegistry()
	require.NoError(t, reg.Register(m))
	s, err := Listen("127.0.0.1:0", reg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	up, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Serve(ctx, func() { close(up) }) }()
	<-up
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + s.Addr() + "/metrics")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	answered := make(chan error, 1)
	go func() {
		resp, err := client.Get("http://" + s.Addr() + "/metrics")
		if err == nil {
			_ = resp.Body.Close()
		}
		answered <- err
	}()
	<-entered
	cancel()
	require.NoError(t, <-ended)
	require.Error(t, <-answered, "the connection was closed")
	close(free)
}

// Nothing wanted is nothing made, and a nil Telemetry can be told everything.
func TestOff(t *testing.T) {
	tel, err := New(t.Context(), Options{Skills: []string{"a.b"}})
	require.NoError(t, err)
	require.Nil(t, tel)
	var o assembly.Options
	tel.Observe(&o)
	require.Equal(t, assembly.Options{}.ObserveReview, o.ObserveReview)
	require.Nil(t, o.ObserveModel)
	require.Nil(t, o.TraceReview)
	require.Nil(t, o.ObserveRecord)
	tel.Event(sentinel.Event{})
	tel.Supervision(otp.Event{})
	tel.TurnEnded(tel.Tracer().Turn(traceless, false), "answered", time.Second)
	tel.AgentEnded(tel.Tracer().Agent(Span{}), "completed", time.Second)
	require.Nil(t, tel.Server())
	require.NoError(t, tel.Flush(t.Context()))
	require.NoError(t, tel.Close(t.Context()))
}

// Closed words count what comes from cache, escalations, leaks and outages. Verdicts that only
// a later review or a program's own gate gives are counted so, too.
func TestCounts(t *testing.T) {
	m := NewMetrics(Names{Skills: []string{"a.b"}, Models: []string{"m"}}, nil)
	for _, from := range []string{"", "cache", "shared", "ahead", "cAnArY"} {
		m.Event(sentinel.Event{Kind: sentinel.RecordDecision, Decision: sentinel.Decision{
			Outcome: sentinel.Allow, Degraded: true, Modified: &sentinel.Modified{},
			Verdicts: []sentinel.Verdict{{Gate: sentinel.GateReview, State: sentinel.Judged, Outcome: sentinel.Allow,
				Meta: map[string]string{"from": from}}},
		}})
	}
	require.Equal(t, 4, testutil.CollectAndCount(m.cacheHits))
	require.InDelta(t, 1, testutil.ToFloat64(m.cacheHits.WithLabelValues(other)), 0)
	require.InDelta(t, 5, testutil.ToFloat64(m.degraded.WithLabelValues(none)), 0)
	require.InDelta(t, 5, testutil.ToFloat64(m.rewritten.WithLabelValues(unknown)), 0)
	m.Review(t.Context(), review.ReviewEvent{Mode: review.ShadowMode, Effect: "read", Outcome: sentinel.Deny,
		Course: review.Course{Escalated: true}, SecondFailure: review.Server})
	require.InDelta(t, 1, testutil.ToFloat64(m.reviews.WithLabelValues("shadow", "read", "deny", none)), 0)
	require.InDelta(t, 1, testutil.ToFloat64(m.escalations.WithLabelValues("server")), 0)
	m.Review(t.Context(), review.ReviewEvent{Mode: review.Enforce, Effect: "read", Course: review.Course{Profile: review.Thrifty}})
	require.InDelta(t, 1, testutil.ToFloat64(m.profileSkips.WithLabelValues("thrifty", "read")), 0)
	require.InDelta(t, 0, testutil.ToFloat64(m.reviews.WithLabelValues("enforce", "read", "deny", none)), 0, "it is no verdict")
	m.Request(t.Context(), review.RequestEvent{Model: "m", Purpose: review.Purpose{Second: true}, Canceled: true, Sent: true, TokensIn: -1})
	m.Request(t.Context(), review.RequestEvent{Model: "cAnArY", Failure: "cAnArY"})
	require.InDelta(t, 1, testutil.ToFloat64(m.modelRequests.WithLabelValues("second_opinion", "m", "canceled", "true")), 0)
	require.InDelta(t, 1, testutil.ToFloat64(m.modelRequests.WithLabelValues("review", unknown, other, "false")), 0)
	m.Leak(leak.Leak{Skill: "a.b", Goroutines: 3})
	require.InDelta(t, 3, testutil.ToFloat64(m.leaks.WithLabelValues("a.b")), 0)
	for _, cause := range []string{"timeout", "LOADING cAnArY"} {
		m.Limits(redisstore.Event{Away: true, Cause: cause})
	}
	m.Limits(redisstore.Event{For: time.Second})
	require.Equal(t, 2, testutil.CollectAndCount(m.limitsAway))
	m.Record(sentinel.RecordDecision, time.Second, context.DeadlineExceeded)
	require.InDelta(t, 1, testutil.ToFloat64(m.storeFailures.WithLabelValues("decision")), 0)
}

// Providers are named after their hosts as the conventions name them.
func TestProviders(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.openai.com/v1": "openai api.openai.com 443", "https://x.openai.azure.com": "azure.ai.openai x.openai.azure.com 443",
		"http://127.0.0.1:8080/v1":               "openai_compatible 127.0.0.1 8080",
		"https://api.openai.com.evil.example/v1": "openai_compatible api.openai.com.evil.example 443",
		"https://evilopenrouter.ai":              "openai_compatible evilopenrouter.ai 443", "::": "openai_compatible  0",
	} {
		var got []any
		for _, kv := range (ModelInfo{Model: "m", BaseURL: url}).spanAttributes("n") {
			switch kv.Key {
			case attrProvider, attrServer, attrPort:
				got = append(got, kv.Value.AsInterface())
			}
		}
		require.Len(t, got, 3)
		require.Equal(t, want, got[0].(string)+" "+got[1].(string)+" "+itoa(got[2].(int64)), url)
	}
}

// An address that no exporter takes is an error with its place. What the exporter says of a
// collector is not written anywhere.
func TestProviderErrors(t *testing.T) {
	var log bytes.Buffer
	p, err := NewProvider(t.Context(), "http://127.0.0.1:1/v1/traces", 1, slog.New(slog.NewTextHandler(&log, nil)), nil)
	require.NoError(t, err)
	_, span := p.Tracer("x").Start(t.Context(), "x")
	span.End()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = p.Shutdown(ctx)
	require.NotContains(t, log.String(), "127.0.0.1")
}

var traceless trace.SpanContext

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
