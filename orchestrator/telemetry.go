package orchestrator

import (
	"context"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
)

// tracesTime is how long the last spans may take to be sent.
const tracesTime = 5 * time.Second

// newTelemetry makes what configuration and options ask for, nil where that is
// nothing. Its mistakes have their place in the file.
func (o *Orchestrator) newTelemetry(ctx context.Context, cfg *config.Config) (*telemetry.Telemetry, error) {
	t := telemetry.Options{
		Listen: cfg.Telemetry.Metrics.Listen, Registerer: o.opts.Metrics,
		Endpoint: cfg.Telemetry.Traces.Endpoint(), Share: float64(cfg.Telemetry.Traces.Sample) / 100, Tracers: o.opts.Tracer,
		Models: map[string]telemetry.ModelInfo{}, State: o.readState, Log: o.log,
	}
	for _, s := range cfg.Skills {
		t.Skills = append(t.Skills, s.Skill.Name())
	}
	for _, g := range o.opts.Skills {
		t.Skills = append(t.Skills, g.Skill().Name())
	}
	t.Skills = append(t.Skills, cfg.Proxy.NamedTools()...)
	t.Skills = append(t.Skills, skillDispatch, skillUpdate, skillExtend)
	for name, m := range cfg.Models {
		t.Models[name] = telemetry.ModelInfo{Model: m.Model, BaseURL: m.BaseURL}
	}
	tel, err := telemetry.New(ctx, t)
	return tel, cfg.Locate(err)
}

// closeTelemetry sends what is left to send.
func (o *Orchestrator) closeTelemetry(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesTime)
	defer cancel()
	return o.tel.Close(ctx)
}

// readState is what a scrape reads. Until everything is there, nothing is.
func (o *Orchestrator) readState() telemetry.State {
	s := telemetry.State{Started: o.started, Draining: o.ending.draining.Load(), Pauses: map[string]int{},
		Breakers: map[string]string{}, Canaries: map[string]string{}}
	if !o.up.Load() {
		return s
	}
	for _, c := range o.parts.Checkpoint.InFlight() {
		switch c.Phase {
		case sentinel.PhaseApproval:
			s.Held++
		case sentinel.PhasePlaces: // its turn and agent are counted as waiting
		default:
			s.Running++
		}
	}
	for _, p := range append(o.pools.listStats(), o.listModelsAndSkills()...) {
		s.Pools = append(s.Pools, describePool(p))
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
		s.Limits = &telemetry.LimitsState{Away: l.Away, Failures: l.Failures, Skipped: l.Skipped, Unsynced: o.parts.UnsyncedSpending()}
	}
	s.Anchors = map[string]telemetry.AnchorState{}
	for _, a := range o.parts.Anchors() {
		s.Anchors[a.Anchor] = telemetry.AnchorState{Behind: a.Behind, Failures: a.Failures}
	}
	if k, ok := o.parts.Sink(); ok {
		s.Sink = &telemetry.SinkState{Behind: k.Behind, Failures: k.Failures}
	}
	s.Tasks, s.Leaked = o.sys.Tasks(), o.sys.Leaked()
	return s
}

// describePool reads a pool's kind and name out of what it says it is full of.
func describePool(s admission.Stats) telemetry.Pool {
	p := telemetry.Pool{Kind: s.What, Used: s.Used, Capacity: s.Process, Waiting: s.Waiting, Refused: s.Refused}
	if name, ok := strings.CutPrefix(s.What, "calls of "); ok {
		p.Kind, p.Name = telemetry.PoolSkill, name
	} else if name, ok := strings.CutPrefix(s.What, "requests to model "); ok {
		p.Kind, p.Name = telemetry.PoolModel, name
	}
	return p
}

// ProxyAnswer is one answer that the streaming proxy carried.
type ProxyAnswer = telemetry.ProxyAnswer

// BeginProxied is told that the streaming proxy begins an answer of a format; end is told how it ended.
func (o *Orchestrator) BeginProxied(ctx context.Context, format string) (_ context.Context, end func(ProxyAnswer)) {
	return o.tel.BeginProxied(ctx, format)
}

// MetricsAddr is where metrics are served, empty where they aren't.
func (o *Orchestrator) MetricsAddr() string {
	if s := o.tel.Server(); s != nil {
		return s.Addr()
	}
	return ""
}
