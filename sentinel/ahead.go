package sentinel

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/vedette-dev/vedette/skills"
)

// maxAhead is how many calls of one answer are judged ahead at a time.
const maxAhead = 8

// Foreseer is what the review may be besides. Foresee judges a call that will
// probably be checked soon and keeps the judgement until then; where Check has
// another question to ask, after all, it is of no use and does no harm. It
// returns when the judgement is there or ctx has ended.
type Foreseer interface {
	Foresee(ctx context.Context, c Call)
}

// Ahead tells the desk of the calls of one answer of a model, in order, before
// they are invoked one after the other. While the first waits for its review
// and runs, those of the others are under way; nothing is decided, recorded,
// counted or run before its turn, and then every gate is asked again. What the
// calls before it will probably do to a call is taken into account: one that
// returns untrusted text taints the rest. Ahead returns when all are judged or
// ctx has ended: run it beside the calls, and end it with them.
func (d *Desk) Ahead(ctx context.Context, calls []skills.Proposed) {
	if len(calls) < 2 || d.p == nil {
		return
	}
	review, ok := d.p.gates[GateReview].(Foreseer)
	if !ok {
		return
	}
	d.mu.Lock()
	prop := Proposal{Grant: d.grant, Trace: d.trace, BeforeTaint: d.delegated}
	d.mu.Unlock()
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, maxAhead)
	for i, k := range calls[1:] {
		prop = d.p.expect(prop, calls[i])
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		prop := prop
		prop.Skill, prop.Args = k.Skill, k.Args
		wg.Go(func() {
			defer func() { <-room }()
			d.p.foresee(ctx, review, prop)
		})
	}
}

// expect puts into the proposal what a call before it will probably leave
// behind: a step in the trace, and the taint of what the skill returns. What
// that will say nobody knows.
func (p *Checkpoint) expect(prop Proposal, before skills.Proposed) Proposal {
	s, known := p.o.Registry.Get(before.Skill)
	if !known || !prop.Grant.Scope().Allows(before.Skill) {
		return prop
	}
	args, _, err := canonical(before.Args)
	if err != nil {
		return prop
	}
	prop.Trace = prop.Trace.with(Step{Skill: before.Skill, Args: args, Trust: s.Spec().Output, Effect: s.Effect()})
	if s.Spec().Output != skills.Trusted {
		prop.Grant = prop.Grant.Taint()
	}
	return prop
}

// foresee has a call reviewed that the rules would let through to the review.
func (p *Checkpoint) foresee(ctx context.Context, review Foreseer, prop Proposal) {
	defer func() {
		if recover() != nil {
			p.logger().Error("judging ahead panicked", "stack", string(debug.Stack()))
		}
	}()
	if _, paused := p.paused(prop.Grant.User(), prop.Skill); paused {
		return
	}
	c, err := p.NewCall(prop)
	if err != nil {
		return
	}
	c, failed := p.Rewrite(ctx, c)
	if failed != nil {
		return
	}
	at := p.now()
	var verdicts []Verdict
	for _, n := range inner() {
		if n == GateReview {
			break
		}
		v := p.check(ctx, n, c, at)
		if v.Counts() && v.Outcome <= Defer {
			return
		}
		verdicts = append(verdicts, v)
	}
	review.Foresee(ctx, c.after(verdicts))
}
