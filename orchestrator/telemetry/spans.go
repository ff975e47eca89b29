package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/orchestrator/models"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// scope is the name under which spans are made.
const scope = "github.com/vedette-dev/vedette"

// Tracer makes the spans of turns, agents, calls, reviews and questions to
// models. It is safe for concurrent use, and a nil one makes none.
type Tracer struct {
	t      trace.Tracer
	skills named
	models map[string][]attribute.KeyValue
}

// NewTracer makes spans with the provider; a nil one makes none.
func NewTracer(p trace.TracerProvider, skillNames []string, models map[string]ModelInfo) *Tracer {
	if p == nil {
		return nil
	}
	t := &Tracer{t: p.Tracer(scope), skills: sortNames(skillNames), models: map[string][]attribute.KeyValue{}}
	for name, i := range models {
		t.models[name] = i.spanAttributes(name)
	}
	return t
}

// Span is work that has begun. Its zero value is none.
type Span struct{ span trace.Span }

// In returns a context whose work is part of the span.
func (s Span) In(ctx context.Context) context.Context {
	if s.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// isRecording reports whether anybody reads what the span is told.
func (s Span) isRecording() bool { return s.span != nil && s.span.IsRecording() }

// endSpan ends the span; failed is empty for what went well.
func (s Span) endSpan(failed string, attrs ...attribute.KeyValue) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(attrs...)
	if failed != "" {
		s.span.SetAttributes(attrErrorType.String(failed))
		s.span.SetStatus(otelcodes.Error, failed)
	}
	s.span.End()
}

// Turn begins the span of a request. caller is the trace of the program that sent
// the request.
func (t *Tracer) Turn(caller trace.SpanContext, resumed bool) Span {
	if t == nil {
		return Span{}
	}
	ctx := trace.ContextWithSpanContext(context.Background(), caller)
	_, s := t.t.Start(ctx, "turn", trace.WithAttributes(attrResumed.Bool(resumed)))
	return Span{s}
}

// EndTurn ends it with its result, as Metrics.Turn counts it.
func (t *Tracer) EndTurn(s Span, result string) {
	result = turnResults.pick(result)
	failed := result
	if result == "answered" {
		failed = ""
	}
	s.endSpan(failed, attrResult.String(result))
}

// Agent begins the span of an agent of a turn.
func (t *Tracer) Agent(turn Span) Span {
	if t == nil {
		return Span{}
	}
	_, s := t.t.Start(turn.In(context.Background()), opAgent, trace.WithAttributes(attrOperation.String(opAgent)))
	return Span{s}
}

// EndAgent ends it with the agent's last state.
func (t *Tracer) EndAgent(s Span, state string) {
	state = agentStates.pick(state)
	failed := state
	if state == "completed" || state == "cancelled" {
		failed = ""
	}
	s.endSpan(failed, attrState.String(state))
}

// Call begins the span of a proposal within ctx's.
func (t *Tracer) Call(ctx context.Context, skill string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	name := t.skills.pick(skill)
	ctx, s := t.t.Start(ctx, opTool+" "+name, trace.WithAttributes(
		attrOperation.String(opTool), attrToolName.String(name), attrToolType.String(toolKind)))
	return ctx, Span{s}
}

// EndCall ends it with what came of it: nil, a refusal or a failure.
func (t *Tracer) EndCall(s Span, err error) {
	var no *skills.Refusal
	var f *skills.Failure
	switch {
	case err == nil:
		s.endSpan("")
	case errors.As(err, &no):
		s.endSpan(refusals.pick(no.Kind), attrGate.String(gates.pick(no.Gate)), attrCode.String(codes.pick(no.Code)))
	case errors.As(err, &f):
		s.endSpan(runCodes.pick(f.Code))
	default:
		s.endSpan("not_recorded")
	}
}

// Event tells the span of a call what was decided and what became of it.
func (t *Tracer) Event(e sentinel.Event) {
	if t == nil || e.Context == nil {
		return
	}
	s := Span{trace.SpanFromContext(e.Context)}
	if !s.isRecording() {
		return
	}
	switch e.Kind {
	case sentinel.RecordHeld:
		s.span.AddEvent("held", trace.WithAttributes(attrGate.String(gates.pick(e.Decision.BlockedBy)),
			attrCode.String(codes.pick(e.Decision.Code))))
	case sentinel.RecordDecision, sentinel.RecordRefused:
		s.recordDecision(&e)
	case sentinel.RecordOutcome:
		t.addRunSpan(&e)
	}
}

// recordDecision adds the decision and an event for each gate that took part.
func (s Span) recordDecision(e *sentinel.Event) {
	d := &e.Decision
	s.span.SetAttributes(
		attrDecision.String(d.ID), attrOutcome.String(outcomes.pick(d.Outcome.String())), attrGate.String(gates.pick(d.BlockedBy)),
		attrCode.String(codes.pick(d.Code)), attrEffect.String(effects.pick(string(effectOf(&e.Call)))), attrDegraded.Bool(d.Degraded))
	if e.Call.Skill() != nil {
		s.span.SetAttributes(attrOutward.Bool(e.Call.Outward()), attrTainted.Bool(e.Call.Tainted()))
	}
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.State == sentinel.NotReached || v.State == sentinel.Skipped {
			continue
		}
		s.span.AddEvent("gate", trace.WithAttributes(
			attrGate.String(gates.pick(v.Gate)), attrOutcome.String(verdictOf(v)), attrCode.String(codes.pick(v.Code)),
			attrElapsed.Int64(v.Elapsed.Microseconds())))
	}
}

// addRunSpan is the span of the skill, made when it has ended.
func (t *Tracer) addRunSpan(e *sentinel.Event) {
	end, name := time.Now(), t.skills.pick(e.Call.Name())
	_, s := t.t.Start(e.Context, "run "+name, trace.WithTimestamp(end.Add(-e.Elapsed)), trace.WithAttributes(
		attrToolName.String(name), attrRunStatus.String(statuses.pick(e.Status))))
	if e.Status != sentinel.StatusOK {
		s.SetAttributes(attrErrorType.String(runCodes.pick(e.Code)))
		s.SetStatus(otelcodes.Error, runCodes.pick(e.Code))
	}
	s.End(trace.WithTimestamp(end))
}

// StartReview begins the span of a review; the function ends it.
func (t *Tracer) StartReview(ctx context.Context) (context.Context, func(sentinel.Verdict, error)) {
	ctx, span := t.t.Start(ctx, "review")
	s := Span{span}
	return ctx, func(v sentinel.Verdict, err error) {
		if err != nil { // its caller left
			s.endSpan("canceled")
			return
		}
		failed := failures.pick(v.Meta["failure"])
		if failed == none {
			failed = ""
		}
		from := origins.pick(v.Meta["from"])
		if from == none {
			from = "model"
		}
		s.endSpan(failed, attrOutcome.String(verdictOf(&v)), attrCode.String(codes.pick(v.Code)), attrDegraded.Bool(v.Degraded),
			attrFrom.String(from))
	}
}

// Review implements review.Observer: it tells the review's span of the verdict.
func (t *Tracer) Review(ctx context.Context, e review.ReviewEvent) {
	s := Span{trace.SpanFromContext(ctx)}
	if !s.isRecording() {
		return
	}
	s.span.SetAttributes(attrMode.String(modes.pick(string(e.Mode))), attrFailure.String(failures.pick(string(e.Failure))),
		attrEscalated.Bool(e.Escalated))
}

// Breaker implements review.Observer: a breaker belongs to no span.
func (t *Tracer) Breaker(review.BreakerEvent) {}

// Request implements review.Observer: it makes the span of a question.
func (t *Tracer) Request(ctx context.Context, e review.RequestEvent) {
	failed := ""
	switch {
	case e.Canceled:
		failed = "canceled"
	case e.Failure != "":
		failed = failures.pick(string(e.Failure))
	}
	began := e.Began
	if began.IsZero() {
		began = time.Now().Add(-e.Duration)
	}
	t.addChatSpan(ctx, chat{
		reviewRole(e), e.Model, failed, e.Status, e.Sent, began, e.Wait, e.Duration, int64(e.TokensIn), int64(e.TokensOut), e.Cost, e.Attempt,
	})
}

// Model makes the span of a question of an agent or of the orchestrator.
func (t *Tracer) Model(ctx context.Context, e models.Event) {
	failed := ""
	if e.Failure != "" {
		failed = kinds.pick(string(e.Failure))
	}
	began, wait := e.Sent, e.Sent.Sub(e.Asked)
	if began.IsZero() {
		began, wait = e.Asked, time.Since(e.Asked)
		e.Duration = wait
	}
	t.addChatSpan(ctx, chat{
		roleOf(e), e.Model, failed, e.Status, !e.Sent.IsZero(), began, wait, e.Duration, e.TokensIn, e.TokensOut, e.Cost, 1,
	})
}

// chat is a question to a model that is over.
type chat struct {
	role, model, failed string
	status              int
	sent                bool
	began               time.Time
	wait, took          time.Duration
	in, out, cost       int64
	attempt             int
}

func (t *Tracer) addChatSpan(ctx context.Context, q chat) {
	about, known := t.models[q.model]
	name := q.model
	if !known {
		name = unknown
	}
	_, span := t.t.Start(ctx, opChat+" "+name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(q.began),
		trace.WithAttributes(about...))
	span.SetAttributes(
		attrRole.String(q.role), attrSent.Bool(q.sent), attrWait.Int64(q.wait.Milliseconds()), attrAttempt.Int(q.attempt),
		attrInputTokens.Int64(q.in), attrOutputTokens.Int64(q.out))
	if q.cost > 0 {
		span.SetAttributes(attrCost.Int64(q.cost))
	}
	if q.status > 0 {
		span.SetAttributes(attrStatus.Int(q.status))
	}
	if q.failed != "" {
		span.SetAttributes(attrErrorType.String(q.failed))
		span.SetStatus(otelcodes.Error, q.failed)
	}
	span.End(trace.WithTimestamp(q.began.Add(q.took)))
}
