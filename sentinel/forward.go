package sentinel

import (
	"context"
	"fmt"
)

// CodeNotForwarded is the code of the outcome of a call that was allowed and whose answer never carried it to its
// caller. Its status is StatusFailed: nothing ran.
const CodeNotForwarded = "not_forwarded"

// IsForwarded reports whether a call left in an answer, and nothing is known of what became of it.
func (p Past) IsForwarded() bool { return p.Allowed && p.Status == StatusForwarded }

// BeginTurn says that a turn begins with words that a person sent. What the conversation read before was read in
// earlier turns. The name of the turn that goes on changes nothing.
func (r *RemoteDesk) BeginTurn(turn string) {
	d := r.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	if turn == "" || r.turn == turn {
		return
	}
	first := r.turn == ""
	r.turn = turn
	if first { // what was read back may have been read in this very turn
		return
	}
	if d.grant.o.Tainted {
		d.grant.o.TaintedBefore = true
	}
	refused := d.trace.refused
	d.trace = NewTrace().WithEarlier(append(d.trace.Earlier(), d.trace.steps...)...)
	d.trace.refused = refused
}

// TaintBefore marks the conversation as having read something untrusted in an earlier turn.
func (r *RemoteDesk) TaintBefore() {
	r.desk.TaintAs(Grant{o: GrantOptions{Tainted: true, TaintedBefore: true}})
}

// KeepNewest forgets the oldest results of a conversation that goes on without end: see KeepNewestResults. Its taint
// stays.
func (r *RemoteDesk) KeepNewest() {
	d := r.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := KeepNewestResults(d.trace.steps)
	if len(kept) == len(d.trace.steps) {
		return
	}
	refused, earlier := d.trace.refused, d.trace.earlier
	d.trace = NewTrace(kept...).WithEarlier(earlier...)
	d.trace.refused = refused
}

// Observe judges a proposal whose call goes through whatever is decided, and writes down what would have been
// (RecordShadow). No person is asked. The error is a *skills.Refusal of a proposal that is no Call, or wraps
// ErrNotRecorded.
func (r *RemoteDesk) Observe(ctx context.Context, h Handing) (Handed, error) {
	if h.Elsewhere == nil || h.ID == "" {
		return Handed{}, fmt.Errorf("%w: a call to be observed needs an id", ErrNotRecorded)
	}
	leave, err := r.desk.p.locks.lockCall(ctx, h.ID)
	if err != nil {
		return Handed{}, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	i, err := r.newInvocation(h)
	if err != nil {
		return Handed{}, err
	}
	_, err = i.takeSteps(ctx, i.reserve, i.parse, i.judge, i.review, i.denyRunsHere, i.observe)
	return Handed{ID: h.ID, Call: i.call, Decision: i.decision}, err
}

// observe writes down what would have been decided.
func (i remoteInvocation) observe(ctx context.Context) error {
	i.denyIfPaused()
	i.releaseSlot(ctx)
	rec := i.p.records.newDecision(RecordShadow, i.call, i.decision)
	if err := i.p.writeRecord(ctx, rec); err != nil {
		return err
	}
	i.p.tellObserver(Event{Call: i.call, Decision: i.decision, Kind: RecordShadow, Context: ctx})
	return nil
}

// Refuse writes down a proposal that its way to the checkpoint showed to be no Call: cut, larger than a bound, in a
// form that isn't known. It uses its slot of the limits. The error is the *skills.Refusal that its caller may be
// told, or wraps ErrNotRecorded.
func (r *RemoteDesk) Refuse(ctx context.Context, h Handing, mistake *CallError) error {
	i, err := r.newInvocation(h)
	if err != nil {
		return err
	}
	if err := i.reserve(ctx); err != nil {
		return err
	}
	return i.refuseMalformed(ctx, mistake)
}

// Forwarded takes down that an allowed call left in an answer, or that it didn't. A call with an outcome stays as it
// is. The error is ErrNoCall, ErrNotAllowed, or wraps ErrNotRecorded.
func (r *RemoteDesk) Forwarded(ctx context.Context, id string, left bool) error {
	p := r.desk.p
	leave, err := p.locks.lockCall(ctx, id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	list, past, err := r.readCall(ctx, id)
	if err != nil {
		return err
	}
	if !past.Allowed {
		return ErrNotAllowed
	}
	if past.Status != StatusUnknown || past.Code != "" {
		return nil
	}
	decision := findAllowance(list)
	b := outcomeBody{V: 1, DecisionID: decision.DecisionID, CallID: past.JudgedID, Status: StatusForwarded,
		ElapsedUS: p.now().Sub(decision.At).Microseconds()}
	if !left {
		b.Status, b.Code = StatusFailed, CodeNotForwarded
	}
	if err := p.writeRecord(ctx, endOf(decision, b, nil, p.now())); err != nil {
		return err
	}
	p.releaseSlot(ctx, decision.Skill, decision.CallID) // how tools of a client do says nothing of a skill
	p.tellObserver(Event{Kind: RecordOutcome, Status: b.Status, Code: b.Code, Context: ctx})
	return nil
}
