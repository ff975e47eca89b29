package telemetry

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// ProxyAnswer is one answer that the streaming proxy carried.
type ProxyAnswer struct {
	// Format is chat, messages or responses.
	Format         string
	Stream, Shadow bool
	// Failure is the code of why there was no whole answer; empty where there was.
	Failure string
	// Forwarded, Blocked and Refused count calls: those that left, those that were decided against, and those that were
	// blocked for what they are.
	Forwarded, Blocked, Refused int
	// Upstream is how long the upstream took to begin, Took how long all of it did, Held how long calls were held.
	Upstream, Took, Held time.Duration
}

// proxyMetrics are those of the streaming proxy.
type proxyMetrics struct {
	answers, calls       *prometheus.CounterVec
	upstream, took, held *prometheus.HistogramVec
	open                 *prometheus.GaugeVec
}

var (
	proxyFormats = listOf(strings.Fields("chat messages responses"))
	proxyResults = listOf(strings.Fields("ok client_left invalid_request too_large too_many_streams model_not_found unsupported_encoding " +
		"credential_missing act_as upstream_unreachable upstream_timeout upstream_malformed upstream_too_large upstream_encoding upstream_cut " +
		"upstream_3xx upstream_4xx upstream_5xx internal " +
		"stream.too_large stream.too_many_calls stream.mismatch stream.late stream.malformed stream.cut stream.upstream stream.stalled " +
		"stream.ending"))
	attrFormat    = attribute.Key("vedette.proxy.format")
	attrShadow    = attribute.Key("vedette.proxy.shadow")
	attrStream    = attribute.Key("vedette.proxy.stream")
	attrForwarded = attribute.Key("vedette.proxy.forwarded_calls")
	attrBlocked   = attribute.Key("vedette.proxy.blocked_calls")
)

func (m *Metrics) defineProxy() {
	p := &m.proxy
	p.answers = m.newCounter("proxy_answers_total", "Answers that the streaming proxy carried. result is ok, or the code of why there was "+
		"no whole answer.", "format", "stream", "shadow", "result")
	p.calls = m.newCounter("proxy_calls_total", "Calls in those answers. result is forwarded, blocked, or refused for those that were no "+
		"call that can be judged.", "format", "shadow", "result")
	p.upstream = m.newHistogram("proxy_upstream_wait_seconds", "How long upstreams took to begin an answer.", forModels, "format")
	p.took = m.newHistogram("proxy_answer_duration_seconds", "From the request to the end of its answer.", forTurns, "format")
	p.held = m.newHistogram("proxy_held_seconds", "How long an answer was held because of calls in it, of those that were.",
		forModels, "format")
	const help = "Answers that are under way."
	p.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "proxy_open_answers", Help: help}, []string{"format"})
	m.addCollector(p.open, "proxy_open_answers", "gauge", help, []string{"format"})
}

// countAnswer counts an answer that is over.
func (p *proxyMetrics) countAnswer(a *ProxyAnswer) {
	format, shadow, result := proxyFormats.pick(a.Format), yesNo(a.Shadow), "ok"
	if a.Failure != "" {
		result = proxyResults.pick(a.Failure)
	}
	p.answers.WithLabelValues(format, yesNo(a.Stream), shadow, result).Inc()
	for what, n := range map[string]int{"forwarded": a.Forwarded, "blocked": a.Blocked, "refused": a.Refused} {
		if n > 0 {
			p.calls.WithLabelValues(format, shadow, what).Add(float64(n))
		}
	}
	p.took.WithLabelValues(format).Observe(a.Took.Seconds())
	if a.Upstream > 0 {
		p.upstream.WithLabelValues(format).Observe(a.Upstream.Seconds())
	}
	if a.Held > 0 {
		p.held.WithLabelValues(format).Observe(a.Held.Seconds())
	}
}

// BeginProxied is told that the proxy begins an answer of a format. end is told how it ended.
func (t *Telemetry) BeginProxied(ctx context.Context, format string) (_ context.Context, end func(ProxyAnswer)) {
	if t == nil {
		return ctx, func(ProxyAnswer) {}
	}
	format = proxyFormats.pick(format)
	var s Span
	if t.tracer != nil {
		ctx, s.span = t.tracer.t.Start(ctx, "proxy "+format, trace.WithAttributes(attrFormat.String(format)))
	}
	if t.metrics != nil {
		t.metrics.proxy.open.WithLabelValues(format).Inc()
	}
	return ctx, func(a ProxyAnswer) {
		if t.metrics != nil {
			t.metrics.proxy.open.WithLabelValues(format).Dec()
			t.metrics.proxy.countAnswer(&a)
		}
		failed := ""
		if a.Failure != "" {
			failed = proxyResults.pick(a.Failure)
		}
		s.endSpan(failed, attrStream.Bool(a.Stream), attrShadow.Bool(a.Shadow), attrForwarded.Int(a.Forwarded),
			attrBlocked.Int(a.Blocked+a.Refused))
	}
}
