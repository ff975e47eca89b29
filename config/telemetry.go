package config

import (
	"net/url"
	"strings"
)

// Telemetry is what the program tells about how it is doing. None of it changes
// a decision, so it is no part of the Digest.
type Telemetry struct {
	Metrics Metrics `yaml:"metrics"`
	Traces  Traces  `yaml:"traces"`
}

// Metrics is where Prometheus reads.
type Metrics struct {
	// Listen is host:port of a server of its own; empty serves nothing.
	Listen string `yaml:"listen"`
}

// Traces says where spans go.
type Traces struct {
	// OTLP is the address of a collector that takes OTLP over HTTP; empty sends
	// nothing. It may hold no password: OTEL_EXPORTER_OTLP_HEADERS is for that.
	OTLP string `yaml:"otlp"`
	// Sample is the share of turns that are traced, whole or not at all.
	Sample Hundredths `yaml:"sample"`
}

func telemetryDefaults() Telemetry { return Telemetry{Traces: Traces{Sample: 100}} }

// checkTelemetry refuses addresses that no server could listen on or receive at, and a
// share of traced turns without a collector to send spans to.
func (l *loader) checkTelemetry() {
	t := l.get("telemetry")
	if t == nil || t.kind != mappingNode {
		return
	}
	if n := below(t, "metrics", "listen"); l.meant(n, l.cfg.Telemetry.Metrics.Listen) {
		l.checkMetricsListen(n)
	}
	otlp := below(t, "traces", "otlp")
	if l.meant(otlp, l.cfg.Telemetry.Traces.OTLP) {
		if msg := collectorMistake(otlp.text); msg != "" {
			l.out.add(otlp.pos, "telemetry.traces.otlp %s", msg)
		}
	}
	if n := below(t, "traces", "sample"); n != nil && otlp == nil {
		l.out.add(n.pos, "telemetry.traces.sample is a share of spans that go nowhere; write otlp: http://collector:4318")
	}
}

// checkMetricsListen wants the host said: who leaves it out listens on every
// interface, and few mean that.
func (l *loader) checkMetricsListen(n *node) {
	host, port, ok := listenAddress(n.text)
	switch {
	case !ok:
		l.out.add(n.pos, "telemetry.metrics.listen must be host:port such as 127.0.0.1:9464%s", notA(n))
	case host == "":
		l.out.add(n.pos,
			"telemetry.metrics.listen names no host, which is every interface; write 127.0.0.1:%s, or 0.0.0.0:%s if that is meant", port, port)
	}
}

// collectorMistake is what is wrong with a collector's address, without
// repeating it: it may hold a password.
func collectorMistake(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return "must be an address such as http://collector:4318"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://; gRPC isn't spoken"
	case !validTarget(u):
		return "must name a host, and a port from 1 to 65535, such as http://collector:4318"
	case u.User != nil:
		return "holds a user or password; give it in the environment, as OTEL_EXPORTER_OTLP_HEADERS"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "holds a query or a fragment; give the address alone"
	}
	return ""
}

// Endpoint is the whole address that spans are sent to, empty where none are.
func (t Traces) Endpoint() string {
	if t.OTLP == "" || strings.HasSuffix(t.OTLP, "/v1/traces") {
		return t.OTLP
	}
	return strings.TrimRight(t.OTLP, "/") + "/v1/traces"
}

// meant reports whether the node is a text that became the value: an empty one
// didn't, and was reported.
func (l *loader) meant(n *node, value string) bool {
	return n != nil && !n.bad && n.kind == scalarNode && n.text != "" && n.text == value
}

func below(n *node, keys ...string) *node {
	for _, k := range keys {
		if n == nil || n.kind != mappingNode {
			return nil
		}
		n = n.get(k)
	}
	return n
}
