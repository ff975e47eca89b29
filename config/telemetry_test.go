package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Metrics and traces are off unless an address is given. A turn that is traced is
// traced whole. The collector's address gets the path of OTLP.
func TestTelemetry(t *testing.T) {
	read := func(text string) config.Telemetry {
		c, err := config.Parse("v.yaml", []byte("version: 1\n"+text), config.Options{})
		require.NoError(t, err)
		return c.Telemetry
	}
	require.Equal(t, config.Telemetry{Traces: config.Traces{Sample: 100}}, read(""))
	require.Equal(t, config.Default().Telemetry, read(""))
	require.Empty(t, read("").Traces.Endpoint())
	got := read("telemetry: {metrics: {listen: '127.0.0.1:9464'}, traces: {otlp: 'http://collector:4318', sample: 0.1}}")
	require.Equal(t, "127.0.0.1:9464", got.Metrics.Listen)
	require.Equal(t, config.Hundredths(10), got.Traces.Sample)
	for address, want := range map[string]string{
		"http://c:4318": "http://c:4318/v1/traces", "http://c:4318/": "http://c:4318/v1/traces",
		"https://c/otlp": "https://c/otlp/v1/traces", "https://c/v1/traces": "https://c/v1/traces",
	} {
		require.Equal(t, want, config.Traces{OTLP: address}.Endpoint())
	}
}

// Addresses of every kind that can be listened on, and sent to, are taken.
func TestTelemetryAddresses(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:9464", "0.0.0.0:9464", "localhost:9464", "metrics_1.svc.cluster.local.:80",
		"[fe80::1%eth0]:80", "1a.example:80"} {
		c, err := config.Parse("v.yaml", []byte("version: 1\ntelemetry: {metrics: {listen: '"+listen+"'}, traces: {otlp: 'http://[::1]:4318'}}"),
			config.Options{})
		require.NoError(t, err, listen)
		require.Equal(t, listen, c.Telemetry.Metrics.Listen)
	}
}

// What is measured changes no decision, so it is no part of the policy.
func TestTelemetryIsNotInDigest(t *testing.T) {
	digest := func(text string) string {
		c, err := config.Parse("v.yaml", []byte("version: 1\n"+text), config.Options{})
		require.NoError(t, err)
		return c.Digest()
	}
	require.Equal(t, digest(""), digest("telemetry: {metrics: {listen: '127.0.0.1:9464'}, traces: {otlp: 'http://c:4318', sample: 0.5}}"))
}
