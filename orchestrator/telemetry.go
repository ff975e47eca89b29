package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// tracesTime is how long the last spans may take to be sent.
const tracesTime = 5 * time.Second

// newTelemetry makes what configuration and options ask for, nil where that is
// nothing. Its mistakes have their place in the file.
func (o *Orchestrator) newTelemetry(ctx context.Context, cfg *config.Config) (*telemetry.Telemetry, error) {
	t := telemetry.Options{
		Listen: cfg.Telemetry.Metrics.Listen, Registerer: o.opts.Metrics,
		Endpoint: cfg.Telemetry.Traces.Endpoint(), Share: float64(cfg.Telemetry.Traces.Sample) / 100, Tracers: o.opts.Tracer,
		Models: map[string]telemetry.ModelInfo{}, State: o.state, Log: o.log,
	}
	for _, s := range cfg.Skills {
		t.Skills = append(t.Skills, s.Skill.Name())
	}
	for _, g := range o.opts.Skills {
		t.Skills = append(t.Skills, g.Skill().Name())
	}
	t.Skills = append(t.Skills, skillDispatch, skillUpdate, skillExtend)
	for name, m := range cfg.Models {
		t.Models[name] = telemetry.ModelInfo{Model: m.Model, BaseURL: m.BaseURL}
	}
	tel, err := telemetry.New(ctx, t)
	return tel, cfg.Locate(err)
}

// MetricsAddr is where metrics are served, empty where they aren't.
func (o *Orchestrator) MetricsAddr() string {
	if s := o.tel.Server(); s != nil {
		return s.Addr()
	}
	return ""
}

// closeTelemetry sends what is left to send.
func (o *Orchestrator) closeTelemetry(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesTime)
	defer cancel()
	return o.tel.Close(ctx)
}

// state is what a scrape reads. Until everything is there, nothing is.
func (o *Orchestrator) state() telemetry.State {
	s := telemetry.State{Started: o.started, Draining: o.draining.Load(), Pauses: map[string]int{},
		Breakers: map[string]string{}, Canaries: map[string]string{}}
	if !o.up.Load() {
		return s
	}
	for _, c := range o.parts.Checkpoint.InFlight() {
		if c.Phase == sentinel.PhaseApproval {
			s.Held++
		} else {
			s.Running++
		}
	}
	d := o.doors
	for _, p := range append([]admission.Stats{d.conversations.Stats(), d.requests.Stats(), d.turns.Stats(), d.agents.Stats()},
		o.parts.Pools()...) {
		s.Pools = append(s.Pools, pool(p))
	}
	for _, p := range o.parts.Pauses.List() {
		s.Pauses[p.Scope()]++
	}
	if o.parts.Review != nil {
		for _, m := range o.parts.Review.State().Models {
			s.Breakers[m.Model] = m.Breaker
			if m.Canary != "" {
				s.Canaries[m.Model] = string(m.Canary)
			}
		}
	}
	if l, ok := o.parts.Limits(); ok {
		s.Limits = &telemetry.LimitsState{Away: l.Away, Failures: l.Failures, Skipped: l.Skipped}
	}
	s.Tasks, s.Leaked = o.sys.Tasks(), o.sys.Leaked()
	return s
}

// pool reads a pool's kind and name out of what it says it is full of.
func pool(s admission.Stats) telemetry.Pool {
	p := telemetry.Pool{Kind: s.What, Used: s.Used, Capacity: s.Process, Waiting: s.Waiting, Refused: s.Refused}
	if name, ok := strings.CutPrefix(s.What, "calls of "); ok {
		p.Kind, p.Name = telemetry.PoolSkill, name
	} else if name, ok := strings.CutPrefix(s.What, "requests to model "); ok {
		p.Kind, p.Name = telemetry.PoolModel, name
	}
	return p
}

// tracedDesk is a desk whose calls are part of a turn's or an agent's span.
type tracedDesk struct {
	*sentinel.Desk
	tracer *telemetry.Tracer
	parent telemetry.Span
}

// Invoke implements agents.Invoker.
func (d tracedDesk) Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error) {
	ctx, span := d.tracer.Call(d.parent.In(ctx), skill)
	res, err := d.Desk.Invoke(ctx, skill, args)
	d.tracer.EndCall(span, err)
	return res, err
}

// traced returns the desk with a span for each call, or the desk itself without a
// tracer.
func (o *Orchestrator) traced(d *sentinel.Desk, parent telemetry.Span) invoker {
	if t := o.tel.Tracer(); t != nil {
		return tracedDesk{d, t, parent}
	}
	return d
}

// invoker is agents.Invoker.
type invoker interface {
	Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error)
}

// begins starts the span of a turn.
func (t *turn) begins() {
	t.since = time.Now()
	t.span = t.o.tel.Tracer().Turn(t.sender, t.resumed)
}

// tells tells of a turn whose work is over. One whose answer was known already
// was no work.
func (t *turn) tells() {
	if !t.repeated {
		t.o.tel.TurnEnded(t.span, turnResult(t.err), time.Since(t.since))
	}
}

// turnResult is an error of a turn as metrics know it.
func turnResult(err error) string {
	var m *ModelError
	switch {
	case err == nil:
		return "answered"
	case errors.As(err, &m):
		return "model_" + m.Kind
	case errors.Is(err, ErrOverloaded):
		return "overloaded"
	case errors.Is(err, ErrCancelled):
		return "cancelled"
	case errors.Is(err, ErrNotKept):
		return "not_kept"
	}
	return "interrupted"
}

// tells tells of an agent that has ended, once.
func (k *member) tells(state string) {
	if k.counted {
		return
	}
	k.counted = true
	took := time.Duration(0)
	if !k.since.IsZero() {
		took = time.Since(k.since)
	}
	k.turn.o.tel.AgentEnded(k.span, state, took)
}

// traceOf is the trace of the caller that sends a request.
func traceOf(ctx context.Context) trace.SpanContext { return trace.SpanContextFromContext(ctx) }
