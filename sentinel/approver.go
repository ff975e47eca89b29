package sentinel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/skills"
)

// DefaultAskTimeout is how long a person has to answer where Options sets nothing.
const DefaultAskTimeout = 5 * time.Minute

// approverGrace is how long an Approver may take to return once its context has
// ended. One that takes longer is abandoned.
const approverGrace = 250 * time.Millisecond

// Approver asks a person about a call whose outcome is Ask. A Judged verdict is
// the person's answer: Allow is yes, Deny is no, and Meta tells under "by" who
// answered and under "via" how. It must return when ctx ends, which it does when
// the time to answer is over; an answer after that doesn't count.
//
// An error is no answer. ErrNoApprover denies the call: no person can be asked.
// ErrExpired, like the code approval.expired, ends it as a question that no person
// answered. After any other error, a panic or a verdict that is neither yes nor
// no the call stays held: the approver is asked again under the same id after a
// pause of a second, then of two and so on up to half a minute, until the expiry.
//
// An approver of one's own answers for a person named ann like this; the package's
// example has the whole of one:
//
//	return sentinel.Verdict{
//		Gate: sentinel.GateApproval, State: sentinel.Judged, Outcome: sentinel.Allow,
//		Meta: map[string]string{"by": "ann", "via": "pager"},
//	}, nil
type Approver interface {
	Approve(ctx context.Context, c Call, d Decision) (Verdict, error)
}

// ForesightedApprover is an Approver that knows of answers which people gave to calls to come. It is
// looked at before a person is asked about a call that no person was asked about yet. A yes is on
// record with the decision alone; no question is.
type ForesightedApprover interface {
	Approver
	// LookUpAnswer returns the yes that holds for a call, with Meta as Approve has it; ok is false where
	// there is none. After an error the call is asked about.
	LookUpAnswer(ctx context.Context, c Call, d Decision) (v Verdict, ok bool, err error)
}

// TellingApprover is an Approver that says when people can find its question.
type TellingApprover interface {
	Approver
	// ApproveTelling is Approve, and is called in its place. It calls asked each time that people can
	// see the question and answer it. A call that another program runs is pending from the first time on:
	// its program is told no id under which nothing can be found yet.
	ApproveTelling(ctx context.Context, c Call, d Decision, asked func()) (Verdict, error)
}

// RevisingApprover is an Approver whose yes can end before its call starts, because who may answer was changed
// since. It is asked when a call that a person approved has its places back or its caller has come, and once more
// before the call starts.
type RevisingApprover interface {
	Approver
	// AnswerHolds reports whether the yes to the question of the decision still suffices. After no, or an error, a
	// person is asked again; a call whose decision is on record by then is withdrawn.
	AnswerHolds(ctx context.Context, c Call, d Decision) (bool, error)
}

// ErrAnswerOver is wrapped by the error of a Recorder that can't record an allowed call, because the
// answer which a ForesightedApprover gave holds no more. A person is asked about the call then.
var ErrAnswerOver = errors.New("the answer that was given beforehand holds no more")

var (
	// ErrNoApprover is the error of an Approver that can reach no person, and
	// can't later either: there is none, or the terminal was closed.
	ErrNoApprover = errors.New("the call needs a person's approval, and no person can be asked")
	// ErrExpired is the error of an Approver whose question has expired.
	ErrExpired = errors.New("the time to answer is over")
	// ErrHeld is what Invoke returns for a call that still waits for a person
	// when its caller, its approver or its process has ended. Nothing ran and
	// nothing was decided: the call is asked about again under the same id once
	// the desk is resumed, and until the time of the first question is over.
	ErrHeld = errors.New("the call is held: it still waits for a person's answer")
)

// The codes of an approval that this package gives.
const (
	CodeApprovalNobody     = "approval.nobody"     // no person can be asked
	CodeApprovalExpired    = "approval.expired"    // no person answered in time
	CodeApprovalCanceled   = "approval.canceled"   // the call was withdrawn, and that is on record
	CodeApprovalChanged    = "approval.changed"    // what was approved is not what is there
	CodeApprovalSuperseded = "approval.superseded" // there is another reason to ask by now
	CodeApprovalEdited     = "approval.edited"     // a person gave the call other arguments, which are another call
	CodeApprovalUnbindable = "approval.unbindable" // what the call names can't be bound to a yes
)

// EventAsked is the kind of an Event of a call about which people can find the question: see
// TellingApprover. It is on no record.
const EventAsked = "asked"

// EventReopened is the kind of an Event of a call that a person approved and that waits for a person again: see
// RevisingApprover. It is on no record.
const EventReopened = "reopened"

// EventLeftHeld is the kind of an Event of a call that is left held: see
// ErrHeld. It is on no record.
const EventLeftHeld = "left_held"

// reply is what an approver returned, and whether it was too late.
type reply struct {
	v    Verdict
	err  error
	late bool
}

// question is put to a person: one call and its decision, as they were when it was asked. It is a pointer, since
// what stands in the frames of a goroutine that waits for hours makes its stack twice as large.
type question struct {
	p        *Checkpoint
	call     Call
	decision Decision
	asked    func() // says that people can find the question, once or several times
}

// awaitAnswer asks a person and waits: for the answer, the expiry, or the end of
// ctx. The verdict is Allow or Deny; the error wraps ErrHeld.
func (q *question) awaitAnswer(ctx context.Context) (v Verdict, err error) {
	p := q.p
	start := p.now()
	entry := p.inFlight.addCall(q.call, PhaseApproval, start)
	defer entry.removeCall()
	defer func() { v.Gate, v.Elapsed = GateApproval, p.now().Sub(start) }()
	if p.o.Approver == nil {
		return refuseNoApprover(), nil
	}
	wait, cancel := context.WithTimeoutCause(ctx, q.decision.Expires.Sub(start), ErrExpired)
	defer cancel()
	for n := 0; ; n++ {
		if v, answered := q.putOnce(wait); answered {
			return v, nil
		}
		if wait.Err() == nil {
			q.asked() // an approver that failed leaves the call held, and its caller need not wait for it
		}
		if !backoff.Wait(wait, approverPauses.Pause(n)) {
			return endWait(context.Cause(wait))
		}
	}
}

// approverPauses are how long an approver that failed is left alone before it is asked
// again.
var approverPauses = backoff.Pauses{First: time.Second, Longest: 30 * time.Second}

// putOnce puts the question once. answered is false where the approver failed
// or the wait has ended: nothing follows from what it said then.
func (q *question) putOnce(wait context.Context) (v Verdict, answered bool) {
	if r := q.awaitReply(wait); r != nil {
		return q.readReply(r)
	}
	return v, false
}

// awaitReply runs the approver and waits for its reply; nil is none in time.
func (q *question) awaitReply(wait context.Context) *reply {
	replies := make(chan *reply, 1)
	go q.runApprover(wait, replies)
	select {
	case r := <-replies:
		return r
	case <-wait.Done():
	}
	select { // its question is on a screen: it may take it back first
	case <-replies:
	case <-time.After(approverGrace):
	}
	return nil
}

// runApprover runs the approver. It answers on replies exactly once.
func (q *question) runApprover(ctx context.Context, replies chan<- *reply) {
	r := &reply{err: errors.New("the approver broke")}
	defer func() {
		if recover() != nil {
			q.p.logger().Error("the approver panicked; the call stays held", "call", q.call.Proposed().ID(), "stack", string(debug.Stack()))
		}
		replies <- r
	}()
	answer := &reply{}
	if a, ok := q.p.o.Approver.(TellingApprover); ok {
		answer.v, answer.err = a.ApproveTelling(ctx, q.call, q.decision, q.asked)
	} else { // of one that doesn't tell, people can find the question from the start
		q.asked()
		answer.v, answer.err = q.p.o.Approver.Approve(ctx, q.call, q.decision)
	}
	answer.late = ctx.Err() != nil
	r = answer
}

// readReply reads what the approver returned. A failure is no answer.
func (q *question) readReply(r *reply) (v Verdict, answered bool) {
	switch {
	case !q.p.now().Round(0).Before(q.decision.Expires.Round(0)): // the timer stands still while the machine sleeps
		return refuseExpired(), true
	case r.late:
		return v, false
	case errors.Is(r.err, ErrNoApprover):
		return refuseNoApprover(), true
	case errors.Is(r.err, ErrExpired):
		return refuseExpired(), true
	case r.err != nil:
		q.p.logger().Error("the approver failed; the call stays held and is asked about again", "call", q.call.Proposed().ID())
		return v, false
	case r.v.State != Judged || r.v.Outcome != Allow && r.v.Outcome != Deny:
		q.p.logger().Error("the approver said neither yes nor no; the call stays held and is asked about again", "call", q.call.Proposed().ID())
		return v, false
	}
	v = r.v
	v.cutToBounds()
	v.Meta = maps.Clone(v.Meta) // the approver may go on using its own
	return v, true
}

// endWait is what a wait comes to that ended without an answer, by its cause.
func endWait(cause error) (Verdict, error) {
	switch {
	case errors.Is(cause, skills.ErrWithdrawn):
		return refuseCanceled(), nil
	case errors.Is(cause, ErrExpired):
		return refuseExpired(), nil
	}
	return Verdict{}, fmt.Errorf("%w; its caller left: %w", ErrHeld, cause)
}

func refuseCanceled() Verdict {
	return Refuse(CodeApprovalCanceled, "the call was withdrawn while it waited for a person")
}

func refuseExpired() Verdict {
	v := Refuse(CodeApprovalExpired, "no person answered in time")
	v.WhatYouCanDo = "Tell the user what was not done; they can ask for it again."
	return v
}

func refuseNoApprover() Verdict {
	v := Refuse(CodeApprovalNobody, "the call needs a person's approval and no person can be asked")
	v.WhatYouCanDo = "Tell the user what needs their approval."
	return v
}
