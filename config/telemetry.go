package config

import (
	"strings"
)

// Telemetry is what the program tells about how it is doing. None of it changes a
// decision, so it is no part of the Digest.
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

// telemetryDefaults returns the default of telemetry.
func telemetryDefaults() Telemetry { return Telemetry{Traces: Traces{Sample: 100}} }

// Endpoint returns the whole address that spans are sent to, empty where none are.
func (t Traces) Endpoint() string {
	if t.OTLP == "" || strings.HasSuffix(t.OTLP, "/v1/traces") {
		return t.OTLP
	}
	return strings.TrimRight(t.OTLP, "/") + "/v1/traces"
}
