package sentinel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
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
func (i *invocation) hold(ctx context.Context) error {
	asked, err := i.prepareQuestion(ctx)
	if asked == nil {
		return err
	}
	if err := i.askPerson(ctx); err != nil {
		i.tellLeftHeld(ctx, asked)
		return err
	}
	return nil
}

// prepareQuestion binds the call and puts its question on record. It returns the decision as it is then, nil where
// no person is to be asked: the decision says why, or the error does.
func (i *invocation) prepareQuestion(ctx context.Context) (*Decision, error) {
	p, d := i.p, &i.decision
	bound, err := bindPaths(ctx, i.call, p.o.Env)
	if v, ok := refuseUnbindable(err); ok {
		d.putVerdict(v)
		return nil, nil
	}
	if err != nil { // the caller left, and no person was asked
		d.denyBy(GateLimits, codeCanceled, "the caller gave up before the call could start")
		return nil, nil //nolint:nilerr // that the caller left is what the decision says
	}
	d.Bound = bound
	i.dateQuestion()
	if !p.now().Before(d.Expires) {
		d.closeQuestion(markApproval(refuseExpired()), refuseExpired(), p.now())
		return nil, nil
	}
	if i.changedSinceAsked() { // an answer would be to what the first question showed
		d.putVerdict(markApproval(Refuse(CodeApprovalChanged, "what the call names has changed since a person was first asked")))
		d.At = p.now()
		return nil, nil
	}
	if i.lookUpAnswer(ctx) {
		return nil, nil
	}
	return i.recordQuestion(ctx)
}

// tellLeftHeld tells that the call is left held, as it was asked about.
//
//go:noinline
func (i *invocation) tellLeftHeld(ctx context.Context, asked *Decision) {
	i.p.tellObserver(Event{Call: i.call, Decision: *asked, Kind: EventLeftHeld, Context: ctx})
}

// recordQuestion puts the question on record, and returns the decision as it is then.
func (i *invocation) recordQuestion(ctx context.Context) (*Decision, error) {
	asked := i.decision
	question := i.p.records.newDecision(RecordHeld, i.call, asked)
	question.Values = append(question.Values, i.kept...)
	if err := i.p.writeRecord(ctx, question); err != nil {
		return nil, err
	}
	i.p.tellObserver(Event{Call: i.call, Decision: asked, Kind: RecordHeld, Context: ctx})
	return &asked, nil
}

// lookUpAnswer allows a call that a person said yes to beforehand, and reports whether it did. A call
// that a person was asked about already waits for that person's answer, and what was tainted since the
// call was judged is a person's to see.
func (i *invocation) lookUpAnswer(ctx context.Context) bool {
	p, d := i.p, &i.decision
	a, ok := p.o.Approver.(ForesightedApprover)
	if !ok || i.held != nil && i.held.decision == d.ID || i.desk.Tainted() {
		return false
	}
	defer func() {
		if recover() != nil {
			p.logger().Error("the approver panicked; a person is asked", "call", i.call.Proposed().ID(), "stack", string(debug.Stack()))
		}
	}()
	v, found, err := a.LookUpAnswer(ctx, i.call, *d)
	if err != nil {
		p.logger().Error("answers given beforehand could not be read; a person is asked", "call", i.call.Proposed().ID(), "error", err)
	}
	if err != nil || !found || v.State != Judged || v.Outcome != Allow {
		return false
	}
	v.cutToBounds()
	v.Meta = maps.Clone(v.Meta)
	d.Asked, d.Expires = time.Time{}, time.Time{} // no question was put
	d.closeQuestion(markApproval(v), v, p.now())
	return true
}

// askAfterAll puts a call before a person whose answer given beforehand was over when it was to count.
func (i *invocation) askAfterAll(ctx context.Context) error {
	d := &i.decision
	d.putAnswer(Verdict{Gate: GateApproval, State: NotReached})
	d.Answered, d.Approver, d.Via = time.Time{}, "", ""
	i.warrant = warrant.Warrant{}
	if d.Outcome != Ask {
		return nil
	}
	return i.hold(ctx)
}

// dateQuestion says since when a person is asked and until when. A call that was held
// as the same before keeps its times.
func (i *invocation) dateQuestion() {
	p, d := i.p, &i.decision
	timeout := i.policy.askTimeout
	if timeout <= 0 {
		timeout = DefaultAskTimeout
	}
	d.Asked = p.now()
	if before := i.held; before != nil && before.decision == d.ID { // see takeUpQuestion
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

// metaStanding names, in an answer's Meta, the standing approval that gave it.
const metaStanding = "standing"

// newQuestion is the question that a person is asked now.
func (i *invocation) newQuestion(ctx context.Context) *question {
	var once sync.Once
	q := &question{p: i.p, call: i.call, decision: i.decision}
	q.asked = func() {
		once.Do(func() {
			i.remote.tellHeld(q.decision)
			i.p.tellObserver(Event{Call: q.call, Decision: q.decision, Kind: EventAsked, Context: ctx})
		})
	}
	return q
}

// askPerson waits for a person's answer. After a yes the rules are asked again: see
// judgeAgain. A yes that holds no more by then is none, and the person is asked again.
func (i *invocation) askPerson(ctx context.Context) error {
	for n := 0; ; n++ {
		answer, err := i.newQuestion(ctx).awaitAnswer(ctx)
		switch {
		case err != nil:
			return err
		case answer.Outcome != Allow:
			i.refuseBy(answer)
			return nil
		}
		if err = i.judgeAgain(ctx, answer); !errors.Is(err, errAnswerLapsed) {
			return err
		}
		i.p.tellObserver(Event{Call: i.call, Decision: i.decision, Kind: EventReopened, Context: ctx})
		if n > 0 { // an approver that says yes and means no must not be asked without end
			backoff.Wait(ctx, approverPauses.Pause(n-1))
		}
	}
}

// errAnswerLapsed has a person asked again whose yes holds no more.
var errAnswerLapsed = errors.New("the yes holds no more")

// refuseBy ends the question by a person's no, or by their edit.
//
//go:noinline
func (i *invocation) refuseBy(answer Verdict) {
	answer = i.takeEdit(answer)
	i.decision.closeQuestion(answer, answer, i.p.now())
}

// judgeAgain asks the rules after a person's yes about the world as it is then: a wait
// of an hour can't outlive what made the call permissible, and what the person did not
// see they have not approved.
func (i *invocation) judgeAgain(ctx context.Context, answer Verdict) error {
	shown, v, at, env := i.decision, answer, i.p.now(), i.p.o.Env
	if err := i.readmit(ctx); err != nil {
		if v, err = leaveHeld(ctx, v, err); err == nil {
			i.decision.closeQuestion(v, answer, at)
		}
		return err
	}
	if !i.p.holdsAnswer(ctx, i.call, shown, answer) {
		return errAnswerLapsed
	}
	i.policy = i.p.policyInForce() // a reload may have come while the person thought
	c, d := i.remote.withGrantNow(i.call, i.desk).withTouchNow(env), shown
	d.Policy = i.policy.digest
	for _, n := range ruleGates() { // the review's answer stands
		d.putVerdict(i.p.askGate(ctx, i.policy, n, c, i.p.now()))
	}
	bound, err := bindPaths(ctx, c, env)
	if ctx.Err() != nil { // what the rules said without their time counts for nothing
		if v, err = leaveHeld(ctx, v, ctx.Err()); err == nil {
			i.decision.closeQuestion(v, answer, at)
		}
		return err
	}
	switch {
	case d.Outcome == Ask && !slices.Equal(askingGates(d), askingGates(shown)):
		v.Outcome, v.Code, v.Reason = Deny, CodeApprovalSuperseded, "there is another reason to ask now than the one that was answered"
	case err != nil || !isSameBound(d.Bound, bound):
		v.Outcome, v.Code, v.Reason = Deny, CodeApprovalChanged, "what the call names has changed since a person was asked"
	default:
		d.Bound = bound
	}
	d.closeQuestion(v, answer, at)
	i.call, i.decision = c, d
	return nil
}

// readmit calls Options.Readmit, and lists the call as one that waits for places. A
// Readmit that panics has given no place back.
func (i *invocation) readmit(ctx context.Context) (err error) {
	readmit := i.p.o.Readmit
	if i.remote != nil {
		readmit = i.remote.awaitCaller
	}
	if readmit == nil {
		return nil
	}
	entry := i.p.inFlight.addCall(i.call, PhasePlaces, i.p.now())
	defer entry.removeCall()
	defer func() {
		if recover() != nil {
			i.p.logger().Error("a call that was approved could not be readmitted: the hook panicked", "call", i.call.Proposed().ID())
			err = errors.New("the hook panicked")
		}
	}()
	return readmit(ctx, i.call)
}

// leaveHeld is what becomes of a call that was approved and whose caller ended
// before it could start: it stays held, unless it was withdrawn for good.
func leaveHeld(ctx context.Context, yes Verdict, err error) (Verdict, error) {
	if errors.Is(err, skills.ErrWithdrawn) || errors.Is(context.Cause(ctx), skills.ErrWithdrawn) {
		no := refuseCanceled()
		yes.Outcome, yes.Code, yes.Reason = no.Outcome, no.Code, no.Reason
		return yes, nil
	}
	return yes, fmt.Errorf("%w; it was approved, and its caller ended before it could start: %w", ErrHeld, err)
}

// askingGates lists the gates that ask, with why, and with the doubts that count there.
func askingGates(d Decision) []string {
	var out []string
	for _, v := range d.Verdicts {
		if v.Counts() && v.Outcome == Ask {
			why := v.Gate + " " + v.Code
			if v.Doubt != nil && v.Doubt.State == DoubtCounted {
				why += " " + DoubtsKey(v.Evidence)
			}
			out = append(out, why)
		}
	}
	return out
}

// countHeld counts a call that a person is to be asked about until it is called
// back, or denies it where too many wait already.
// A question that is on record is put again whatever the bounds are: others may
// have taken its place since the restart, and a person may answer it. Another
// call under its id is no such question.
func (i *invocation) countHeld() (leave func()) {
	d := &i.decision
	if d.Outcome != Ask {
		return func() {}
	}
	onRecord := i.held.isAbout(i.p.records.keyedDigest(d.Digest))
	leave, full := i.p.pending.countIn(i.call.Grant(), i.policy.pending, onRecord)
	if full != "" {
		d.putAnswer(refusePendingFull(full))
		return func() {}
	}
	return leave
}

// takeUpQuestion gives a decision the place of the question that an earlier process had
// put about the same call: its id, so that whatever is decided now ends it. A
// question about another call under this id is superseded, on record.
func (i *invocation) takeUpQuestion(ctx context.Context) error {
	switch {
	case i.held == nil:
	case i.held.digest == i.p.records.keyedDigest(i.decision.Digest):
		i.decision.ID = i.held.decision
	default:
		return i.p.endQuestion(ctx, i.held.record, CodeApprovalSuperseded,
			"another call took the place of the one that a person was asked about")
	}
	return nil
}

// changedSinceAsked reports whether what the call's paths lead to is not what the
// first question was about. Records of before there was an expiry don't tell.
func (i *invocation) changedSinceAsked() bool {
	before, d := i.held, i.decision
	return before != nil && before.decision == d.ID && !before.expires.IsZero() &&
		!slices.Equal(before.bound, i.p.records.boundsOf(d.Bound))
}

// takeEdit keeps what a person wants to run in place of the call, where they said so. One that is
// no call is told as the refusal.
func (i *invocation) takeEdit(answer Verdict) Verdict {
	args := answer.Edit
	answer.Edit = nil
	if args == nil || answer.Outcome != Deny || answer.Code != CodeApprovalEdited {
		return answer
	}
	e := edit{
		args: slices.Clone(args), decision: i.decision.ID,
		by: textcut.Head(answer.Meta["by"], maxWho), via: textcut.Head(answer.Meta["via"], maxWho),
	}
	if _, err := i.p.newEditedCall(i.call, e); err != nil {
		answer.Reason = "a person gave the call arguments that it can't have"
		return answer
	}
	i.edit = &e
	return answer
}

// beginEdited returns the way of the call that a person wants to run in place of this one, from
// the first gate on. The slot of the proposal is used once. Nil: there is no such call, or its agent has ended.
func (i *invocation) beginEdited() *invocation {
	if i.edit == nil || i.desk.isOver() {
		return nil
	}
	next := &invocation{
		p: i.p, desk: i.desk, proposal: i.proposal, number: i.number, restartable: i.restartable, limitsVerdict: i.limitsVerdict,
		slotTaken: i.slotTaken, edit: i.edit, remote: i.remote,
	}
	i.slotTaken = false
	next.proposal.Grant = next.proposal.Grant.TaintAs(i.desk.Grant()) // what was read since counts
	if v, ok := i.p.stopVerdict(next.proposal.Grant, next.proposal.Skill); ok {
		v.Gate = GateLimits
		next.limitsVerdict = v
	}
	return next
}

// parseEdited makes the proposal the call that a person wants to run in its place.
func (i *invocation) parseEdited(c Call) (Call, *CallError) {
	if i.edit == nil {
		return c, nil
	}
	if i.edit.proposed != "" && i.edit.proposed != i.p.records.keyedDigest(c.Digest()) {
		i.edit = nil // it was about another call that an earlier process had under this id
		return c, nil
	}
	next, err := i.p.newEditedCall(c, *i.edit)
	i.edit = nil // a person may give this one other arguments too
	var mistake *CallError
	switch {
	case errors.As(err, &mistake):
		return c, mistake
	case err != nil:
		return c, &CallError{CodeEditGone, "a person gave the call arguments that it can't have any more"}
	}
	return next, nil
}
