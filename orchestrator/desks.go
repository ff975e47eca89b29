package orchestrator

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

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

// traceDesk returns the desk with a span for each call, or the desk itself without a
// tracer.
func traceDesk(d *sentinel.Desk, tracer *telemetry.Tracer, parent telemetry.Span) invoker {
	if tracer != nil {
		return tracedDesk{d, tracer, parent}
	}
	return d
}

// invoker is agents.Invoker.
type invoker interface {
	Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error)
}

// placesWanted asks the conversation for the places of the turn's own grant, or
// of an agent's and its turn's. The answer comes when they are there.
type placesWanted struct {
	grant string
	over  bool // the call has ended: the clocks run again
}

// placesTime is how long a question for places may stay unanswered before it is asked
// again. otp.Call wants a bound, the wait has none.
const placesTime = time.Minute

// heldMark tells a call that a person was asked about it. Without it each call would have
// to ask its conversation.
type heldMark struct{ held, returned atomic.Bool }

type heldKey struct{}

// findHeldMark returns the mark of the context's call, nil where there is none.
func findHeldMark(ctx context.Context) *heldMark {
	if ctx == nil {
		return nil
	}
	m, _ := ctx.Value(heldKey{}).(*heldMark)
	return m
}

// markHeld notes that a person is being asked.
func markHeld(ctx context.Context) {
	if m := findHeldMark(ctx); m != nil {
		m.held.Store(true)
		m.returned.Store(false)
	}
}

// placedDesk is a desk whose calls have their places when they return.
type placedDesk struct {
	*sentinel.Desk
	procs *processes
	inner invoker
}

// placeDesk returns the desk as a turn or an agent uses it.
func (n *turnNeeds) placeDesk(d *sentinel.Desk, parent telemetry.Span) invoker {
	return placedDesk{d, &n.processes, traceDesk(d, n.tel.Tracer(), parent)}
}

// Invoke implements agents.Invoker. After a denial or a panic, too, the model is
// asked only once the places are back. Without them the caller has ended anyway.
func (d placedDesk) Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error) {
	m := &heldMark{}
	defer func() {
		if m.held.Load() && !m.returned.Load() {
			_ = d.procs.askForPlaces(ctx, d.Grant(), true)
		}
	}()
	return d.inner.Invoke(context.WithValue(ctx, heldKey{}, m), skill, args)
}
