package sentinel

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/vedette-dev/vedette/skills"
)

// maxAhead is how many calls of one answer are judged ahead at a time.
const maxAhead = 8

// Prejudger is what the review may be besides. Prejudge judges a call that will
// probably be checked soon and keeps the judgement until then; where Check has
// another question to ask, after all, it is of no use and does no harm. It
// returns when the judgement is there or ctx has ended.
type Prejudger interface {
	Prejudge(ctx context.Context, c Call)
}

// Prejudge tells the desk of the calls of one answer of a model, in order, before
// they are invoked one after the other. While the first waits for its review
// and runs, those of the others are under way; nothing is decided, recorded,
// counted or run before its turn, and then every gate is asked again. What the
// calls before it will probably do to a call is taken into account: each is a
// step of the trace, and one that returns untrusted text taints the rest. Prejudge
// returns when all are judged or ctx has ended: run it beside the calls, and end
// it with them.
func (d *Desk) Prejudge(ctx context.Context, calls []skills.Proposed) {
	if len(calls) < 2 || d.p == nil {
		return
	}
	pol := d.p.policyInForce()
	review, ok := pol.gates[GateReview].(Prejudger)
	if !ok {
		return
	}
	d.mu.Lock()
	prop := Proposal{Grant: d.grant, Trace: d.trace, BeforeTaint: d.delegated}
	d.mu.Unlock()
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, maxAhead)
	for i, k := range calls {
		prop.Skill, prop.Args = k.Skill, k.Args
		c, trace, passes := d.prejudgeRules(ctx, pol, prop)
		if prop.Trace = trace; !passes {
			continue
		}
		prop = afterCall(prop, c)
		if i == 0 {
			continue // its turn is now
		}
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		wg.Go(func() {
			defer func() { <-room }()
			defer func() { d.recoverPrejudging(recover()) }()
			review.Prejudge(ctx, c)
		})
	}
}

// afterCall is the proposal after a call that will probably have run by then,
// with a result of which nothing is known but its trust.
func afterCall(prop Proposal, c Call) Proposal {
	st := Step{Skill: c.Name(), Args: c.Args(), Trust: trustOf(c.Skill(), skills.Result{}), Effect: c.Effect(), Sensitive: c.Sensitive(),
		StrangerFields: c.strangerFields()}
	if st.Trust != skills.Trusted || len(st.StrangerFields) > 0 {
		prop.Grant = prop.Grant.Taint()
	}
	prop.Trace = prop.Trace.withStep(st)
	return prop
}

// prejudgeRules makes the call as the review would be shown it, if the rules let it
// through. The trace has the refusal if they don't.
func (d *Desk) prejudgeRules(ctx context.Context, pol *policy, prop Proposal) (c Call, trace Trace, ok bool) {
	p := d.p
	defer func() { d.recoverPrejudging(recover()) }()
	trace = prop.Trace
	if _, paused := p.stopVerdict(prop.Grant, prop.Skill); paused {
		return Call{}, trace, false
	}
	c, err := p.NewCall(prop)
	if err != nil {
		return Call{}, trace, false
	}
	c, failed := p.rewrite(ctx, pol, c)
	if failed != nil {
		return Call{}, trace, false
	}
	at := p.now()
	var verdicts []Verdict
	for _, n := range ruleGates() {
		v := p.askGate(ctx, pol, n, c, at)
		if v.Counts() && v.Outcome <= Defer {
			if isAboutTheCall(v) {
				trace = trace.WithRefusal(PastRefusal{Skill: c.Name(), Digest: c.Digest(), Gate: v.Gate, Code: v.Code})
			}
			return Call{}, trace, false
		}
		verdicts = append(verdicts, v)
	}
	return c.withFindings(verdicts), trace, true
}

// recoverPrejudging recovers from a panic: a judgement made ahead decides no call.
func (d *Desk) recoverPrejudging(panicked any) {
	if panicked != nil {
		d.p.logger().Error("judging ahead panicked", "stack", string(debug.Stack()))
	}
}
