package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/vedette-dev/vedette/skills"
)

const (
	exportTime = 10 * time.Second
	// loud is the least time between two lines in the log about a collector that
	// can't be reached.
	loud = time.Minute
)

// NewProvider makes a tracer provider that sends spans to a collector, OTLP over HTTP in
// batches. It traces that share of the turns whose caller's trace does not say. Headers for
// the collector are taken from the environment, as OTEL_EXPORTER_OTLP_HEADERS, more of the
// resource as OTEL_RESOURCE_ATTRIBUTES. Spans that can't be sent are dropped, logged once a
// minute and told to dropped. Shut it down.
func NewProvider(ctx context.Context, endpoint string, share float64, log *slog.Logger,
	dropped func(n int)) (*sdktrace.TracerProvider, error) {
	exp, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithTimeout(exportTime))
	if err != nil { // of the address, which the configuration has checked, or of the environment
		return nil, &skills.PathError{Path: "telemetry.traces.otlp",
			Msg: "can't be sent to; check it, and OTEL_EXPORTER_OTLP_* in the environment"}
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attribute.String("service.name", "vedette")),
		resource.WithFromEnv())
	if err != nil {
		log.Warn("OTEL_RESOURCE_ATTRIBUTES can't be read in full")
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&quietExporter{SpanExporter: exp, log: log, dropped: dropped}, sdktrace.WithExportTimeout(exportTime)),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(share))),
		sdktrace.WithResource(res),
	), nil
}

// quietExporter keeps the exporter's errors from the library's global handler, which
// writes a collector's own words to standard error.
type quietExporter struct {
	sdktrace.SpanExporter
	log     *slog.Logger
	dropped func(int)

	mu   sync.Mutex
	told time.Time
}

// ExportSpans sends spans, or drops them.
func (q *quietExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if q.SpanExporter.ExportSpans(ctx, spans) == nil {
		return nil
	}
	if q.dropped != nil {
		q.dropped(len(spans))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); now.Sub(q.told) >= loud {
		q.told = now
		q.log.Warn("spans can't be sent to telemetry.traces.otlp and are dropped", "spans", len(spans))
	}
	return nil
}
