package sentinel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// heldBefore is what is on record of a call that still waits for a person.
type heldBefore struct {
	decision string
	digest   string // keyed, of the call that the person was shown
	asked    time.Time
	expires  time.Time // zero in records of before there was one
	bound    []recordedBound
	record   Record // of the first question
}

// isAbout reports whether the question on record is about the call of that keyed
// digest. No question is about none.
func (h *heldBefore) isAbout(digest string) bool { return h != nil && h.digest == digest }

// hold puts an Ask before a person. What the call's paths lead to is bound to
// the question, and the question is on record before it is asked. The error
// wraps ErrHeld or ErrNotRecorded, and nothing was decided then.
func (p *Checkpoint) hold(ctx context.Context, c Call, d Decision, k keeping) (Call, Decision, error) {
	before := k.held
	bound, err := p.bindPaths(ctx, c)
	if v, ok := refuseUnbindable(err); ok {
		d.put(v)
		return c, d, nil
	}
	if err != nil { // the caller left, and no person was asked
		d.deny(GateLimits, codeCanceled, "the caller gave up before the call could start")
		return c, d, nil //nolint:nilerr // that the caller left is what the decision says
	}
	d.Bound = bound
	p.date(&d, before)
	if !p.now().Before(d.Expires) {
		d.answered(markApproval(refuseExpired()))
		d.credit(refuseExpired(), p.now())
		return c, d, nil
	}
	if p.changedWhileAway(d, before) { // an answer would be to what the first question showed
		d.put(markApproval(Refuse(CodeApprovalChanged, "what the call names has changed since a person was first asked")))
		d.At = p.now()
		return c, d, nil
	}
	question := p.decisionRecord(RecordHeld, c, d)
	question.Values = append(question.Values, k.kept...)
	if err := p.record(ctx, question); err != nil {
		return c, d, err
	}
	p.observe(Event{Call: c, Decision: d, Kind: RecordHeld, Context: ctx})
	now, answered, err := p.ask(ctx, c, d)
	if err != nil {
		p.observe(Event{Call: c, Decision: d, Kind: EventLeftHeld, Context: ctx})
	}
	return now, answered, err
}

// date says since when a person is asked and until when. A call that was held
// as the same before keeps its times.
func (p *Checkpoint) date(d *Decision, before *heldBefore) {
	timeout := p.o.AskTimeout
	if timeout <= 0 {
		timeout = DefaultAskTimeout
	}
	d.Asked = p.now()
	if before != nil && before.decision == d.ID { // see takeUp
		d.Asked, d.Expires = before.asked, before.expires
	}
	if d.Expires.IsZero() {
		d.Expires = d.Asked.Add(timeout)
	}
}

// refuseUnbindable is the verdict on a call whose paths can't be bound.
func refuseUnbindable(err error) (Verdict, bool) {
	var u *unbindable
	if !errors.As(err, &u) {
		return Verdict{}, false
	}
	v := markApproval(Refuse(CodeApprovalUnbindable, "no person can approve the call: "+u.why))
	v.WhatYouCanDo = "Name fewer or smaller files, or tell the user what needs to be done by themselves."
	return v, true
}

// markApproval makes a verdict of the approval gate.
func markApproval(v Verdict) Verdict {
	v.Gate = GateApproval
	return v
}

// ask waits for a person's answer. After a yes the rules are asked again about
// the world as it is then: a wait of an hour can't outlive what made the call
// permissible, and what the person did not see they have not approved.
func (p *Checkpoint) ask(ctx context.Context, c Call, d Decision) (Call, Decision, error) {
	v, err := p.approve(ctx, c, d)
	if err != nil {
		return c, d, err
	}
	answer := v
	if v.Outcome != Allow {
		d.answered(v)
		d.credit(answer, p.now())
		return c, d, nil
	}
	at := p.now()
	if p.o.Readmit != nil {
		if err = p.readmit(ctx, c); err != nil {
			v, err = p.leaveHeld(ctx, v, err)
			return c, d.closeWith(v, answer, at), err
		}
	}
	now := c.again(p.o.Env)
	again := p.rulesAgain(ctx, now, d)
	bound, err := p.bindPaths(ctx, now)
	if ctx.Err() != nil { // what the rules said without their time counts for nothing
		v, err = p.leaveHeld(ctx, v, ctx.Err())
		return c, d.closeWith(v, answer, at), err
	}
	switch {
	case again.Outcome == Ask && !slices.Equal(asking(again), asking(d)):
		v.Outcome, v.Code, v.Reason = Deny, CodeApprovalSuperseded, "there is another reason to ask now than the one that was answered"
	case err != nil || !isSameBound(d.Bound, bound):
		v.Outcome, v.Code, v.Reason = Deny, CodeApprovalChanged, "what the call names has changed since a person was asked"
	default:
		again.Bound = bound
	}
	return now, again.closeWith(v, answer, at), nil
}

// readmit calls Options.Readmit. One that panics has given no place back.
func (p *Checkpoint) readmit(ctx context.Context, c Call) (err error) {
	defer func() {
		if recover() != nil {
			p.logger().Error("a call that was approved could not be readmitted: the hook panicked", "call", c.Proposed().ID())
			err = errors.New("the hook panicked")
		}
	}()
	return p.o.Readmit(ctx, c)
}

// leaveHeld is what becomes of a call that was approved and whose caller ended
// before it could start: it stays held, unless it was withdrawn for good.
func (p *Checkpoint) leaveHeld(ctx context.Context, yes Verdict, err error) (Verdict, error) {
	if errors.Is(err, skills.ErrWithdrawn) || errors.Is(context.Cause(ctx), skills.ErrWithdrawn) {
		no := refuseCanceled()
		yes.Outcome, yes.Code, yes.Reason = no.Outcome, no.Code, no.Reason
		return yes, nil
	}
	return yes, fmt.Errorf("%w; it was approved, and its caller ended before it could start: %w", ErrHeld, err)
}

// asking lists the gates that ask, with why.
func asking(d Decision) []string {
	var out []string
	for _, v := range d.Verdicts {
		if v.Counts() && v.Outcome == Ask {
			out = append(out, v.Gate+" "+v.Code)
		}
	}
	return out
}

// rulesAgain repeats the rules without the review, whose answer stands.
func (p *Checkpoint) rulesAgain(ctx context.Context, c Call, before Decision) Decision {
	d := before
	for _, n := range inner() {
		if n != GateReview {
			d.put(p.check(ctx, n, c, p.now()))
		}
	}
	return d
}

// countHeld counts a call that a person is to be asked about until it is called
// back, or denies it where too many wait already.
// A question that is on record is put again whatever the bounds are: others may
// have taken its place since the restart, and a person may answer it. Another
// call under its id is no such question.
func (p *Checkpoint) countHeld(c Call, d *Decision, before *heldBefore) (leave func()) {
	if d.Outcome != Ask {
		return func() {}
	}
	leave, full := p.pending.enter(c.Grant(), p.o.Pending, before.isAbout(p.mac(d.Digest)))
	if full != "" {
		d.answered(pendingFull(full))
		return func() {}
	}
	return leave
}

// takeUp gives a decision the place of the question that an earlier process had
// put about the same call: its id, so that whatever is decided now ends it. A
// question about another call under this id is superseded, on record.
func (p *Checkpoint) takeUp(ctx context.Context, d *Decision, k keeping) error {
	switch {
	case k.held == nil:
	case k.held.digest == p.mac(d.Digest):
		d.ID = k.held.decision
	default:
		return p.endQuestion(ctx, k.held.record, CodeApprovalSuperseded, "another call took the place of the one that a person was asked about")
	}
	return nil
}

// changedWhileAway reports whether what the call's paths lead to is not what the
// first question was about. Records of before there was an expiry don't tell.
func (p *Checkpoint) changedWhileAway(d Decision, before *heldBefore) bool {
	return before != nil && before.decision == d.ID && !before.expires.IsZero() && !slices.Equal(before.bound, p.recordedBounds(d.Bound))
}
