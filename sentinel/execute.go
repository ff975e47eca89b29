package sentinel

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
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
	numbered bool // what a restart needs is kept as well
	repeat   bool // the call was allowed under its id before
}

// decideAndRecord judges the call, asks a person where needed and makes the
// decision durable together with the spent warrant: the point of no return.
func (p *Checkpoint) decideAndRecord(ctx context.Context, c Call, limits Verdict, k keeping) (granted, error) {
	c, d := p.judge(ctx, c, limits)
	defer p.countHeld(ctx, c, &d)()
	if d.Outcome == Ask {
		if err := p.record(ctx, p.decisionRecord(RecordHeld, c, d)); err != nil {
			return granted{}, err
		}
		p.observe(Event{Call: c, Decision: d, Kind: RecordHeld, Context: ctx})
		c, d = p.ask(ctx, c, d)
	}
	g := granted{c: c, d: d}
	if d.Outcome == Allow {
		p.halt(c, &g.d)
	}
	if g.d.Outcome == Allow {
		if ctx.Err() != nil {
			g.d.deny(GateLimits, codeCanceled, "the caller gave up before the call could start")
		} else if p.o.Executors[c.Name()] == nil {
			g.d.deny(GatePermission, "permission.no_executor", "the skill has nothing that runs it")
		}
	}
	g.d.abandoned = ctx.Err() != nil && !g.d.personRefused()
	r := p.decisionRecord(RecordDecision, c, g.d)
	if k.numbered && g.d.Outcome != Allow {
		r.Values = append(r.Values, Value{valueRefusal, encode(refusal(g.d))})
	}
	if g.d.Outcome == Allow {
		if k.numbered && !k.repeat {
			r.Once, r.OnceFor = c.Proposed().ID(), onceFor
		}
		w, err := p.o.Issuer.Issue(c.Digest())
		if err != nil {
			return granted{}, errors.Join(ErrNotRecorded, err)
		}
		g.w, r.Spend, r.SpendExpires = w, w.ID(), w.Expires()
	}
	if err := p.record(ctx, r); err != nil {
		return granted{}, err
	}
	p.observe(Event{Call: c, Decision: g.d, Kind: RecordDecision, Context: ctx})
	return g, nil
}

// personRefused reports whether a person said no: the word stands whatever
// became of the caller.
func (d *Decision) personRefused() bool {
	v, _ := d.Verdict(GateApproval)
	return v.State == Judged && v.Outcome == Deny
}

// deny lowers a decision after the gates have spoken.
func (d *Decision) deny(gate, code, reason string) {
	for i := range d.Verdicts {
		if d.Verdicts[i].Gate == gate {
			v := &d.Verdicts[i]
			v.State, v.Outcome, v.Code, v.Reason = Judged, Deny, code, reason
		}
	}
	d.Outcome, d.BlockedBy, d.Code, d.Reason = Deny, gate, code, reason
}

// ask puts an Ask before a person. After a yes the rules are asked again about
// the world as it is then: a wait of an hour can't outlive what made the call
// permissible, and what the person did not see they have not approved.
func (p *Checkpoint) ask(ctx context.Context, c Call, d Decision) (Call, Decision) {
	before := bind(c)
	d.Bound = before
	v := p.approve(ctx, c, d)
	if v.State != Judged || v.Outcome != Allow {
		d.answered(v)
		return c, d
	}
	if p.o.Readmit != nil {
		if err := p.o.Readmit(ctx, c); err != nil {
			d.answered(Refuse("approval.canceled", "the call was approved, and found no place to run before its caller left"))
			return c, d
		}
	}
	now := c.again(p.o.Env)
	again := p.rulesAgain(ctx, now, d)
	switch {
	case again.Outcome != Allow && again.Outcome != Ask:
		again.put(v)
		return now, again
	case again.Outcome == Ask && !slices.Equal(asking(again), asking(d)):
		v.Outcome, v.Code, v.Reason = Deny, "approval.superseded", "there is another reason to ask now than the one that was answered"
	case !slices.Equal(bind(now), before):
		v.Outcome, v.Code, v.Reason = Deny, "approval.changed", "what the call reads has changed since it was approved"
	}
	again.answered(v)
	return now, again
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
	d.Verdicts = slices.Clone(before.Verdicts)
	for _, n := range inner() {
		if n != GateReview {
			d.put(p.check(ctx, n, c, p.now()))
		}
	}
	d.settle()
	return d
}

func (p *Checkpoint) approve(ctx context.Context, c Call, d Decision) (v Verdict) {
	start := p.now()
	seat := p.flight.enter(c, PhaseApproval, start)
	defer seat.leave()
	defer func() {
		if recover() != nil {
			v = Verdict{State: Failed, Code: "approval.panic", Reason: "the approver broke"}
		}
		v.Gate, v.Elapsed = GateApproval, p.now().Sub(start)
	}()
	if p.o.Approver == nil {
		return Refuse("approval.nobody", "the call needs a person's approval and nobody can give it")
	}
	v, err := p.o.Approver.Approve(ctx, c, d)
	if err != nil {
		return Verdict{State: Failed, Code: "approval.error", Reason: "nobody could be asked", Detail: err.Error()}
	}
	if v.State != Judged {
		return Verdict{State: Failed, Code: "approval.no_answer", Reason: "the approver gave no answer"}
	}
	return v
}

// execute runs the call under its warrant and records what became of it.
func (d *Desk) execute(ctx context.Context, g granted) (skills.Result, error) {
	p, c := d.p, g.c
	start := p.now()
	seat := p.flight.enter(c, PhaseQueued, start)
	res, err := p.run(ctx, c, g, seat)
	seat.leave()
	b := outcomeBody{Status: StatusOK, ElapsedUS: p.now().Sub(start).Microseconds()}
	if stopped(err) {
		return skills.Result{}, d.caught(ctx, g, b, err)
	}
	var values []Value
	if err != nil {
		b.Status, b.Code = failure(err)
		b.Trust = string(trust(c.Skill(), skills.Result{}))
		values = append(values, Value{"error", []byte(err.Error())})
	} else {
		res.Trust = trust(c.Skill(), res)
		b.Bytes, b.Trust, b.Isolation = len(res.Content), string(res.Trust), res.Isolation
		b.Truncated, b.Template = res.Truncated, res.Template
		b.Marks = TextMarks(res.Content)
		values = append(values, Value{"result", []byte(res.Content)})
	}
	p.o.Limiter.Report(context.WithoutCancel(ctx), c.Name(), c.Proposed().ID(), !executorFailed(err))
	d.remember(c, res, err, b.Marks)
	p.ended(ctx, g, b, values)
	res.Note = ""
	if m := g.d.Modified; m != nil {
		res.Note = m.Note()
	}
	return res, err
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
	// Listed first and asked then: whoever pauses and looks at the list finds
	// in it every call that was not stopped.
	seat.turn(PhaseRunning, p.now())
	if v, ok := p.paused(c.Grant().User(), c.Name()); ok {
		return skills.Result{}, &stop{v}
	}
	return p.o.Executors[c.Name()].Execute(ctx, g.w, c.Order())
}

// remember adds what the desk returns to the trace. An error's text comes from
// the skill too, so it is no more trusted than a result.
func (d *Desk) remember(c Call, res skills.Result, err error, marks []string) {
	st := Step{Skill: c.Name(), CallID: c.ID(), Args: c.Args(), Result: res.Content, Trust: res.Trust, Marks: marks, Effect: c.Effect(), Failed: err != nil}
	if err != nil {
		st.Result, st.Trust = err.Error(), trust(c.Skill(), skills.Result{})
		st = st.marked()
	}
	d.append(st)
}

// trust is the Spec's word, never the skill's own; a fixed text is nobody's.
func trust(s *skills.Skill, r skills.Result) skills.Trust {
	if r.Template {
		return skills.Untrusted
	}
	return s.Spec().Output
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
	return f.Code != skills.FailCanceled && f.Code != skills.FailNotStarted && !errors.Is(err, skills.ErrBadInput)
}
