package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/models"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Options says where metrics and spans go. Its zero value sends nothing.
type Options struct {
	// Listen is where metrics are served, host:port; empty serves none.
	Listen string
	// Registerer is a program's own, besides or instead.
	Registerer prometheus.Registerer
	// Endpoint is where spans are sent, Share the part of turns that is traced.
	Endpoint string
	Share    float64
	// Tracers is a program's own provider, instead.
	Tracers trace.TracerProvider
	// Skills and Models are what the configuration declares.
	Skills []string
	Models map[string]ModelInfo
	// State is asked at each scrape.
	State func() State
	// Log is told of spans that can't be sent; nil discards it.
	Log *slog.Logger
}

// Telemetry is what one orchestrator tells. A nil one tells nothing.
type Telemetry struct {
	metrics  *Metrics
	tracer   *Tracer
	server   *Server
	reg      prometheus.Registerer
	provider *sdktrace.TracerProvider // nil where it is the program's own
}

// New makes what the options name, and takes the address of the metrics. It
// returns nil where they name nothing. Errors of the configuration are
// *skills.PathError. Close it.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Listen == "" && o.Registerer == nil && o.Endpoint == "" && o.Tracers == nil {
		return nil, nil //nolint:nilnil // the options name nothing
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Telemetry{reg: o.Registerer}
	if o.Listen != "" || o.Registerer != nil {
		t.metrics = NewMetrics(Names{o.Skills, slices.Collect(maps.Keys(o.Models))}, o.State)
	}
	if err := t.registerMetrics(); err != nil {
		return nil, err
	}
	if err := t.startServer(o.Listen); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	if err := t.startTracing(ctx, o); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

func (t *Telemetry) registerMetrics() error {
	if t.reg == nil {
		return nil
	}
	if err := t.reg.Register(t.metrics); err != nil {
		t.reg = nil // what is registered there is another's
		return fmt.Errorf("the metrics can't be registered; two orchestrators of one registry need "+
			"prometheus.WrapRegistererWith and a label each: %w", err)
	}
	return nil
}

// startServer adds what Go and the process tell of themselves: a program with a
// registry of its own has that.
func (t *Telemetry) startServer(address string) (err error) {
	if address == "" {
		return nil
	}
	reg := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{t.metrics, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	t.server, err = Listen(address, reg)
	return err
}

func (t *Telemetry) startTracing(ctx context.Context, o Options) error {
	p := o.Tracers
	if p == nil && o.Endpoint != "" {
		own, err := NewProvider(ctx, o.Endpoint, o.Share, o.Log, t.countDropped)
		if err != nil {
			return err
		}
		t.provider, p = own, own
	}
	t.tracer = NewTracer(p, o.Skills, o.Models)
	return nil
}

func (t *Telemetry) countDropped(n int) {
	if t.metrics != nil {
		t.metrics.dropped.WithLabelValues().Add(float64(n))
	}
}

// Flush sends the spans that have ended.
func (t *Telemetry) Flush(ctx context.Context) error {
	if t == nil || t.provider == nil {
		return nil
	}
	return t.provider.ForceFlush(ctx)
}

// Close sends the last spans, for as long as ctx lasts, and lets address and
// registry go.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if t.reg != nil {
		t.reg.Unregister(t.metrics)
	}
	if t.server != nil {
		t.server.Close()
	}
	if t.provider != nil {
		return t.provider.Shutdown(ctx)
	}
	return nil
}

// Server serves the metrics; nil where they aren't.
func (t *Telemetry) Server() *Server {
	if t == nil {
		return nil
	}
	return t.server
}

// Tracer makes the spans; nil where none are made.
func (t *Telemetry) Tracer() *Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Observe sets the hooks of an assembly that are wanted, and no others.
func (t *Telemetry) Observe(o *assembly.Options) {
	if t == nil {
		return
	}
	switch {
	case t.metrics != nil && t.tracer != nil:
		o.ObserveReview = observerPair{t.metrics, t.tracer}
		o.ObserveModel = func(ctx context.Context, e models.Event) {
			t.metrics.Model(ctx, e)
			t.tracer.Model(ctx, e)
		}
	case t.metrics != nil:
		o.ObserveReview, o.ObserveModel = t.metrics, t.metrics.Model
	case t.tracer != nil:
		o.ObserveReview, o.ObserveModel = t.tracer, t.tracer.Model
	}
	if t.metrics != nil {
		o.ObserveRecord, o.ObserveLimits, o.ObserveLeak = t.metrics.Record, t.metrics.Limits, t.metrics.Leak
	}
	if t.tracer != nil {
		o.TraceReview = t.tracer.StartReview
	}
}

// Event is told of decisions and outcomes.
func (t *Telemetry) Event(e sentinel.Event) {
	if t == nil {
		return
	}
	if t.metrics != nil {
		t.metrics.Event(e)
	}
	t.tracer.Event(e)
}

// Supervision is told what supervisors see.
func (t *Telemetry) Supervision(e otp.Event) {
	if t != nil && t.metrics != nil {
		t.metrics.Supervision(e)
	}
}

// TurnEnded is told of a request whose work ended; see Metrics.Turn.
func (t *Telemetry) TurnEnded(s Span, result string, took time.Duration) {
	if t == nil {
		return
	}
	if t.metrics != nil {
		t.metrics.Turn(result, took)
	}
	t.tracer.EndTurn(s, result)
}

// AgentEnded is told of an agent that ended.
func (t *Telemetry) AgentEnded(s Span, state string, took time.Duration) {
	if t == nil {
		return
	}
	if t.metrics != nil {
		t.metrics.Agent(state, took)
	}
	t.tracer.EndAgent(s, state)
}

// observerPair are two observers.
type observerPair struct{ a, b review.Observer }

func (o observerPair) Request(ctx context.Context, e review.RequestEvent) {
	o.a.Request(ctx, e)
	o.b.Request(ctx, e)
}

func (o observerPair) Review(ctx context.Context, e review.ReviewEvent) {
	o.a.Review(ctx, e)
	o.b.Review(ctx, e)
}

func (o observerPair) Breaker(e review.BreakerEvent) {
	o.a.Breaker(e)
	o.b.Breaker(e)
}
