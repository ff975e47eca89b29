package sentinel

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// granted is a decision that is on record, with the warrant it gave.
type granted struct {
	c Call // as it was judged
	d Decision
	w warrant.Warrant
}

// keeping says how the records of a call are made.
type keeping struct {
	desk     *Desk       // that the call was proposed at
	numbered bool        // what a restart needs is kept as well
	repeat   bool        // the call was allowed under its id before
	held     *heldBefore // a person was being asked about it when its process ended
	kept     []Value     // goes with the decision, for who ends the call after a crash
}

// decideAndRecord judges the call, asks a person where needed and makes the
// decision durable together with the spent warrant: the point of no return.
func (p *Checkpoint) decideAndRecord(ctx context.Context, c Call, limits Verdict, k keeping) (granted, error) {
	c, d := p.judge(ctx, c, limits)
	if err := p.takeUp(ctx, &d, k); err != nil {
		return granted{}, err
	}
	countOff := p.countHeld(c, &d, k.held)
	defer countOff()
	if d.Outcome == Ask {
		waiting, leave, ok := k.desk.enterWait(ctx)
		defer leave()
		ctx = waiting
		var err error
		if !ok {
			d.put(markApproval(refuseCanceled()))
		} else if c, d, err = p.hold(ctx, c, d, k); err != nil {
			return granted{}, err
		}
	}
	if d.Outcome == Allow {
		p.halt(c, &d)
	}
	if d.Outcome == Allow {
		if err := p.checkStart(ctx, c, &d); err != nil {
			return granted{}, err
		}
	}
	g, err := p.commit(ctx, granted{c: c, d: d}, k)
	if err != nil {
		return granted{}, err
	}
	p.observe(Event{Call: c, Decision: g.d, Kind: RecordDecision, Context: ctx})
	return g, nil
}

// checkStart denies a call that was allowed and can't start. One that a person
// approved and whose caller left stays held.
func (p *Checkpoint) checkStart(ctx context.Context, c Call, d *Decision) error {
	switch {
	case p.o.Executors[c.Name()] == nil:
		d.deny(GatePermission, "permission.no_executor", "the skill has nothing that runs it")
	case ctx.Err() == nil:
	case d.Asked.IsZero():
		d.deny(GateLimits, codeCanceled, "the caller gave up before the call could start")
	default:
		yes, _ := d.Verdict(GateApproval)
		v, err := p.leaveHeld(ctx, yes, ctx.Err())
		if err != nil {
			p.observe(Event{Call: c, Decision: *d, Kind: EventLeftHeld, Context: ctx})
			return err
		}
		d.put(v)
	}
	return nil
}

// commit makes the decision durable. Where the files that a person approved the
// call about change up to the last moment, the denial for it is what is written.
func (p *Checkpoint) commit(ctx context.Context, g granted, k keeping) (granted, error) {
	allowed := g.d.Outcome == Allow
	g, err := p.writeDecision(ctx, g, k)
	if allowed && errors.Is(err, skills.ErrChanged) {
		yes, _ := g.d.Verdict(GateApproval)
		yes.Gate, yes.State, yes.Outcome, yes.Code = GateApproval, Judged, Deny, CodeApprovalChanged
		yes.Reason = "what the call names has changed since it was approved"
		g.d.put(yes)
		g.w = warrant.Warrant{}
		g, err = p.writeDecision(ctx, g, k)
	}
	return g, err
}

// writeDecision records the decision as it is.
func (p *Checkpoint) writeDecision(ctx context.Context, g granted, k keeping) (granted, error) {
	g.d.abandoned = ctx.Err() != nil && !g.d.personRefused()
	r := p.decisionRecord(RecordDecision, g.c, g.d)
	if k.numbered && g.d.Outcome != Allow {
		r.Values = append(r.Values, Value{valueRefusal, encode(refusal(g.d))})
	}
	r.Values = append(r.Values, k.kept...)
	if g.d.Outcome == Allow {
		if k.numbered && !k.repeat {
			r.Once, r.OnceFor = g.c.Proposed().ID(), onceFor
		}
		w, err := p.o.Issuer.Issue(g.c.Digest())
		if err != nil {
			return g, errors.Join(ErrNotRecorded, err)
		}
		g.w, r.Spend, r.SpendExpires = w, w.ID(), w.Expires()
		if bound := g.d.Bound; len(bound) > 0 {
			r.Check = func() error { return p.checkUnmoved(bound) }
		}
	}
	return g, p.record(ctx, r)
}

// execute runs the call under its warrant and records what became of it.
func (d *Desk) execute(ctx context.Context, g granted) (skills.Result, error) {
	p, c := d.p, g.c
	start := p.now()
	seat := p.flight.enter(c, PhaseQueued, start)
	res, err := p.run(ctx, c, g, seat)
	seat.leave()
	b := outcomeBody{ElapsedUS: p.now().Sub(start).Microseconds()}
	if stopped(err) {
		return skills.Result{}, d.caught(ctx, g, b, err)
	}
	return d.conclude(ctx, ranCall{g: g, res: res, err: err, start: start})
}

// ranCall is a call whose executor has returned.
type ranCall struct {
	g       granted
	res     skills.Result
	err     error
	start   time.Time
	resumed *followPast // an earlier process ran it; nil: this one did
}

// conclude decides and runs what follows from a call that ran, and records what became of
// the call. One whose follow-up waits for a person has no outcome yet: the error wraps
// ErrHeld.
func (d *Desk) conclude(ctx context.Context, e ranCall) (skills.Result, error) {
	p, g, c, res := d.p, e.g, e.g.c, e.res
	b := outcomeBody{ElapsedUS: p.now().Sub(e.start).Microseconds()}
	err := d.concludeFollow(ctx, e)
	res.Follow = nil
	if errors.Is(err, ErrHeld) {
		p.release(ctx, c.Name(), c.Proposed().ID())
		return skills.Result{}, err
	}
	if err != nil {
		p.logCredential(ctx, c, err)
	} else {
		res.Trust = trust(c.Skill(), res)
	}
	values := b.describe(c, res, err)
	if e.resumed == nil { // the place of one that an earlier process ran was given back when it was found
		p.o.Limiter.Report(context.WithoutCancel(ctx), c.Name(), c.Proposed().ID(), !executorFailed(err))
	}
	d.remember(c, res, err, b.Marks)
	p.ended(ctx, g, b, values)
	res.Note = ""
	if m := g.d.Modified; m != nil {
		res.Note = m.Note()
	}
	return res, err
}

// describe takes down what became of a call that ran, and returns its values.
func (b *outcomeBody) describe(c Call, res skills.Result, err error) (values []Value) {
	b.Status = StatusOK
	if err != nil {
		b.Status, b.Code = failure(err)
		b.Trust = string(trust(c.Skill(), skills.Result{}))
		values = append(values, Value{"error", []byte(err.Error())})
	} else {
		b.Bytes, b.Trust, b.Isolation = len(res.Content), string(trust(c.Skill(), res)), res.Isolation
		b.Truncated, b.Template = res.Truncated, res.Template
		b.Marks = TextMarks(res.Content)
		values = append(values, Value{"result", []byte(res.Content)})
	}
	if e := res.Egress; e != nil { // also of a call that failed: what left has left
		b.Egress = e
		if len(e.Details) > 0 {
			values = append(values, Value{"egress", e.Details})
		}
	}
	return values
}

// ended records what became of a call. The effect has happened: a record that
// can't be written now leaves the call unknown in the ledger, which is the
// truth an auditor can rely on.
func (p *Checkpoint) ended(ctx context.Context, g granted, b outcomeBody, values []Value) {
	err := p.record(ctx, outcomeRecord(g.c, g.d, b, values, p.now()))
	if err != nil { // perhaps for the values' sake: that it ran matters more
		err = p.record(ctx, outcomeRecord(g.c, g.d, b, nil, p.now()))
	}
	if err == nil {
		p.observe(Event{
			Call: g.c, Decision: g.d, Kind: RecordOutcome, Status: b.Status, Code: b.Code,
			Elapsed: time.Duration(b.ElapsedUS) * time.Microsecond, Context: ctx,
		})
	}
}

// run executes the order, once it is its turn. Executors contain their skills;
// one that breaks all the same must not take the desk with it, nor the record
// of what happened.
func (p *Checkpoint) run(ctx context.Context, c Call, g granted, seat seat) (res skills.Result, err error) {
	defer func() {
		if recover() != nil {
			p.logger().Error("an executor panicked", "skill", c.Name(), "stack", string(debug.Stack()))
			res, err = skills.Result{}, &skills.Failure{Code: skills.FailPanic, Unknown: true, Err: errors.New("the executor broke")}
		}
	}()
	if ctx.Err() != nil { // while the decision was written down: nothing was done, and that is known
		return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: errors.New("the caller left before it could start")}
	}
	if q := p.o.Queues[c.Name()]; q != nil {
		leave, err := q.Enter(ctx, c)
		if err != nil {
			return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: err}
		}
		defer leave()
	}
	if err := p.checkBound(ctx, g.d.Bound); err != nil { // in its skill's queue, or since it was written down
		return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: err}
	}
	// The call is listed before the desk asks for pauses. So an operator who pauses and
	// reads the list finds every call that the pause did not stop.
	seat.turn(PhaseRunning, p.now())
	if v, ok := p.paused(c.Grant().User(), c.Name()); ok {
		return skills.Result{}, &stop{v}
	}
	return p.o.Executors[c.Name()].Execute(skills.WithApproved(ctx, listApproved(g.d.Bound)), g.w, c.Order())
}

// remember adds what the desk returns to the trace. An error's text comes from
// the skill too, so it is no more trusted than a result.
func (d *Desk) remember(c Call, res skills.Result, err error, marks []string) {
	st := Step{Skill: c.Name(), CallID: c.ID(), Args: c.Args(), Result: res.Content, Trust: res.Trust,
		Marks: marks, Effect: c.Effect(), Failed: err != nil}
	if err != nil {
		st.Result, st.Trust = err.Error(), trust(c.Skill(), skills.Result{})
		st = st.marked()
	}
	d.append(st)
}

// trust is what the Spec says of a result, never what the skill says. A result that
// is a template is always untrusted.
func trust(s *skills.Skill, r skills.Result) skills.Trust {
	if r.Template {
		return skills.Untrusted
	}
	return s.Spec().Output
}

// logCredential tells the operator which credential a call lacked and what to do.
// The model is told neither, and the log no value.
func (p *Checkpoint) logCredential(ctx context.Context, c Call, err error) {
	var missing *skills.CredentialError
	if errors.As(err, &missing) {
		p.logger().LogAttrs(ctx, slog.LevelWarn, "a skill can't use its user's credential, so it did nothing",
			slog.String("credential", missing.Name), slog.String("why", missing.Why), slog.String("remedy", missing.Remedy),
			slog.String("skill", c.Name()), slog.String("call", c.Proposed().ID()))
	}
}

func failure(err error) (status, code string) {
	var f *skills.Failure
	if !errors.As(err, &f) {
		return StatusFailed, "warrant" // the executor refused it: nothing ran
	}
	if f.Unknown {
		return StatusUnknown, f.Code
	}
	return StatusFailed, f.Code
}

// executorFailed reports whether the failure speaks against the skill: the
// breaker counts those, never refusals, bad arguments or a caller that left.
func executorFailed(err error) bool {
	var f *skills.Failure
	if !errors.As(err, &f) {
		return false
	}
	if f.Code == skills.FailCanceled || f.Code == skills.FailNotStarted || f.Code == skills.FailNotCommitted {
		return false
	}
	return !errors.Is(err, skills.ErrBadInput) && !errors.Is(err, skills.ErrChanged)
}
