package sentinel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// invocation is one call on its way from a proposal to its result. Its steps come first,
// in the order in which Desk.Invoke takes them, and then what they use. A step returns what
// ends the way: a *skills.Refusal, or an error that wraps ErrHeld or ErrNotRecorded. How the
// skill itself failed is in failed.
type invocation struct {
	p        *Checkpoint
	policy   *policy // from judge, and again from judgeAgain
	desk     *Desk
	proposal Proposal
	number   int // of the proposal among those of a numbered desk

	limitsVerdict Verdict         // from reserve
	call          Call            // from parse, and as it was judged from judge on
	decision      Decision        // from judge, review and approve, until commit
	warrant       warrant.Warrant // from commit
	result        skills.Result   // from execute; finish adds what followed
	failed        error           // from execute; finish adds what followed
	began         time.Time       // when execute began

	restartable    bool        // the desk is numbered, so a restart can go on
	proposedBefore bool        // an earlier process may have proposed it: see answerFromHistory
	mayRunAgain    bool        // the call was allowed under its id before
	slotTaken      bool        // the limiter waits to hear whether the call of this proposal ran
	held           *heldBefore // a person was being asked about it when its process ended
	kept           []Value     // goes with the decision, for the process that ends the call after a crash
	resumed        *followPast // set where an earlier process ran the call
	edit           *edit       // what a person wants to run in place of the call, until that is parsed
	next           *invocation // of the call that a person wants to run in place of this one

	remote *remoteRun // set where another program runs the call

	waitCtx context.Context //nolint:containedctx // of the wait for a person; nil where none is asked
	endWait func()          // ends what approve began; nil where that is nothing
	leave   func()          // lets another caller work on the call
}

// Invoke proposes one call and, where the checkpoint allows it, runs it. It
// returns a *skills.Refusal when the call did not run, a *skills.Failure when
// it ran and failed, an error that wraps ErrHeld when it waits for a person
// still, and one that wraps ErrNotRecorded when the store is away, when the checkpoint
// lacks a part, or when an earlier proposal of the call has not ended. args is what the
// model sent, byte for byte.
func (d *Desk) Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error) {
	i, err := d.newInvocation(ctx, skill, args)
	if err != nil {
		return skills.Result{}, err
	}
	defer i.leave()
	if a := i.answerFromHistory(ctx); a != nil {
		return a.res, a.err
	}
	res, err := i.takeSteps(ctx, i.reserve, i.parse, i.judge, i.review, i.approve, i.commit, i.execute, i.finish)
	for i.next != nil { // a person gave the call other arguments
		i = i.next
		res, err = i.takeSteps(ctx, i.parse, i.judge, i.review, i.approve, i.commit, i.execute, i.finish)
	}
	return res, err
}

// newInvocation takes the next number of the desk and waits until no other caller works
// on the call of that number.
func (d *Desk) newInvocation(ctx context.Context, skill string, args json.RawMessage) (*invocation, error) {
	p := d.p
	if p == nil || p.o.Recorder == nil || p.o.Issuer == nil || p.o.Limiter == nil {
		return nil, fmt.Errorf("%w: the checkpoint has no recorder, limiter or issuer", ErrNotRecorded)
	}
	d.mu.Lock()
	i := &invocation{
		p: p, desk: d, number: d.next, proposedBefore: d.next < d.until, restartable: d.numbered, leave: func() {},
		proposal: Proposal{Skill: skill, Args: args, Grant: d.grant, Trace: d.trace, BeforeTaint: d.delegated},
	}
	d.next++
	d.mu.Unlock()
	if !i.restartable {
		i.proposal.ID = ids.New()
		return i, nil
	}
	i.proposal.ID = CallID(i.proposal.Grant.ID(), i.number)
	leave, err := p.locks.lockCall(ctx, i.proposal.ID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	i.leave = leave
	return i, nil
}

// takeSteps takes the steps in order. The first error ends the way; the skill's breaker is
// told then that the call did not run.
func (i *invocation) takeSteps(ctx context.Context, steps ...func(context.Context) error) (skills.Result, error) {
	ended := false
	defer func() { // also where a step panics
		i.endApproval()
		if !ended {
			i.releaseSlot(ctx)
		}
	}()
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return skills.Result{}, err
		}
	}
	ended = true
	return i.result, i.failed
}

// reserve uses the proposal's slot, whatever becomes of the proposal. A pause denies before
// anything is counted. A limiter's error denies, except ErrLimitsAway, which judge resolves.
func (i *invocation) reserve(ctx context.Context) error {
	start := i.p.now()
	v, paused := i.p.stopVerdict(i.proposal.Grant, i.proposal.Skill)
	if !paused {
		v = i.p.countProposal(ctx, i.proposal.Grant, i.proposal.ID, i.proposal.Skill)
	}
	v.Gate, v.Elapsed = GateLimits, i.p.now().Sub(start)
	i.limitsVerdict, i.slotTaken = v, true
	return nil
}

// parse makes the proposal a Call, or refuses it on record.
func (i *invocation) parse(ctx context.Context) (err error) {
	i.call, err = i.p.NewCall(i.proposal)
	var mistake *CallError
	if err == nil {
		i.call, mistake = i.parseEdited(i.call)
	}
	if mistake != nil || errors.As(err, &mistake) {
		return i.refuseMalformed(ctx, mistake)
	}
	return err
}

// judge lets rules rewrite the call and asks the rule gates about the result, all of
// them so that the review and a person see every reason.
func (i *invocation) judge(ctx context.Context) error {
	p, start := i.p, i.p.now()
	i.policy = p.policyInForce()
	c, failed := p.rewrite(ctx, i.policy, i.call)
	d := Decision{
		ID: ids.New(), CallID: c.ID(), Digest: c.Digest(), At: start, Policy: i.policy.digest, Verdicts: make([]Verdict, 0, 8),
	}
	if m, ok := c.Modified(); ok {
		d.Modified = &m
	}
	d.Verdicts = append(d.Verdicts, p.resolveUnreachableLimits(ctx, c, i.limitsVerdict))
	at := p.now() // and from here on, where one gate ends the next one starts
	for _, n := range ruleGates() {
		v := p.askGate(ctx, i.policy, n, c, at)
		at = at.Add(v.Elapsed)
		if n == GatePermission && failed != nil {
			v = mergeDenial(v, *failed)
		}
		d.Verdicts = append(d.Verdicts, v)
	}
	d.Elapsed = at.Sub(start)
	i.call, i.decision = c, d
	return nil
}

// review asks the review while no gate has denied or deferred.
func (i *invocation) review(ctx context.Context) error {
	d := &i.decision
	v := Verdict{Gate: GateReview, State: NotReached}
	if d.settle(); d.Outcome > Defer {
		c := i.call
		if _, off := i.policy.gates[GateReview].(skipGate); !off {
			c = c.withFindings(d.Verdicts)
		}
		v = i.p.askGate(ctx, i.policy, GateReview, c, d.At.Add(d.Elapsed))
		if v.SpentEvidence != "" && v.SpentEvidence != c.EvidenceKey() { // it judged by other evidence
			v.SpentDoubts = ""
		}
		d.Elapsed += v.Elapsed
	}
	d.Verdicts = append(d.Verdicts, v, Verdict{Gate: GateApproval, State: NotReached})
	d.settle()
	return nil
}

// approve asks a person where the outcome is Ask, and asks the rules again after a yes:
// see hold.go. endApproval ends what approve began.
func (i *invocation) approve(ctx context.Context) error {
	if err := i.takeUpQuestion(ctx); err != nil {
		return err
	}
	countOff := i.countHeld()
	i.endWait = countOff
	if i.decision.Outcome != Ask {
		return nil
	}
	waiting, leave, ok := i.desk.enterWait(ctx)
	if !ok {
		i.decision.putVerdict(markApproval(refuseCanceled()))
		return nil
	}
	i.waitCtx, i.endWait = waiting, func() { leave(); countOff() }
	return i.hold(waiting)
}

// endApproval ends what approve began, once.
func (i *invocation) endApproval() {
	if i.endWait != nil {
		i.endWait()
		i.endWait = nil
	}
}

// commit makes the decision durable, together with the spent warrant: the point of no
// return. It returns the refusal of a call that was not allowed.
func (i *invocation) commit(ctx context.Context) error {
	defer i.endApproval()
	if i.waitCtx != nil {
		ctx = i.waitCtx
	}
	for {
		i.denyIfPaused()
		if err := i.checkStart(ctx); err != nil {
			return err
		}
		err := i.recordDecision(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrAnswerOver) {
			return err
		}
		if err := i.askAfterAll(ctx); err != nil {
			return err
		}
	}
	i.p.tellObserver(Event{Call: i.call, Decision: i.decision, Kind: RecordDecision, Context: ctx})
	if i.decision.Outcome != Allow {
		i.rememberRefusal()
		i.next = i.beginEdited()
		return newRefusal(i.decision)
	}
	return nil
}

// execute runs the call under its warrant, once it is its turn.
func (i *invocation) execute(ctx context.Context) error {
	i.began = i.p.now()
	e := i.p.inFlight.addCall(i.call, PhaseQueued, i.began)
	defer e.removeCall()
	i.result, i.failed = i.waitAndRun(ctx, e)
	return nil
}

// finish decides and runs what follows from a call that ran, and records what became of
// the call. One whose follow-up waits for a person has no outcome yet: the error wraps
// ErrHeld.
func (i *invocation) finish(ctx context.Context) error {
	if stopped := stopOf(i.failed); stopped != nil {
		return i.recordStopped(ctx, stopped)
	}
	p, c := i.p, i.call
	b := outcomeBody{ElapsedUS: p.now().Sub(i.began).Microseconds()}
	err := i.concludeFollow(ctx)
	if errors.Is(err, ErrHeld) {
		return err
	}
	i.failed, i.result.Follow = err, nil
	if err != nil {
		i.logMissingCredential(ctx, err)
		i.result.Template = false // the text is the error's
	}
	// A store's error may say what is in it, as its results do.
	i.result.Trust = trustOf(c.Skill(), i.result)
	if i.result.Trust == skills.Trusted && readsBack(ctx, p, c) {
		i.result.Trust = skills.Untrusted
	}
	values := b.describeRun(c, i.result, err)
	b.Trust = string(i.result.Trust)
	i.reportSlot(ctx, !countsForBreaker(err))
	i.desk.rememberResult(c, i.result, err, b.Marks)
	i.recordOutcome(ctx, b, values)
	i.result.Note = ""
	if m := i.decision.Modified; m != nil {
		i.result.Note = m.noteRan(i.shownArgs())
	}
	return nil
}

// releaseSlot tells the limiter that the call did not run, so that the skill's breaker
// waits for it no longer. The slot itself stays used. For a call that an earlier process
// ran the limiter was told when the call was found.
func (i *invocation) releaseSlot(ctx context.Context) {
	if i.slotTaken {
		i.slotTaken = false
		i.p.releaseSlot(ctx, i.proposal.Skill, i.proposal.ID)
	}
}

// reportSlot tells the limiter that the call ran, and whether its skill is well.
func (i *invocation) reportSlot(ctx context.Context, ok bool) {
	if i.slotTaken {
		i.slotTaken = false
		i.p.o.Limiter.Report(context.WithoutCancel(ctx), i.call.Name(), i.proposal.ID, ok)
	}
}

// refuseMalformed refuses a proposal that became no Call, and records a few a minute for
// each conversation. It names a spent budget before the mistake: no other spelling would help.
func (i *invocation) refuseMalformed(ctx context.Context, mistake *CallError) error {
	i.releaseSlot(ctx) // before the store is waited for
	p, g, limits := i.p, i.proposal.Grant, i.limitsVerdict
	d := Refused(i.proposal.ID, mistake, p.now())
	d.placeVerdict(limits)
	r := newRefusal(d)
	r.Kind = skills.KindInvalid
	if limits.Counts() && limits.Outcome < Allow && limits.Code != CodeLimitsAway {
		r.Kind, r.Gate, r.Code, r.Reason = skills.KindBudget, GateLimits, limits.Code, limits.Reason
		r.RetryAfter, r.WhatYouCanDo = limits.RetryAfter, cmp.Or(limits.WhatYouCanDo, advice[GateLimits])
		switch limits.Code {
		case CodePaused:
			r.Kind = skills.KindPaused
		case CodeRevoked:
			r.Kind = skills.KindDeny
		}
	}
	r.Retryable = skills.Retryable(r.Kind, r.Code, r.RetryAfter)
	of := proposer{g.User(), g.Conversation()}
	ok, omitted, others := p.refused.take(of, d.At)
	_ = p.recordSuppressed(ctx, others) // kept for the next time where it fails
	if ok {
		rec := refusedRecord(g, d, len(i.proposal.Args), omitted)
		if i.restartable {
			rec.Values = append(rec.Values, Value{valueRefusal, encodeJSON(r)})
		}
		if err := p.writeRecord(ctx, rec); err != nil {
			p.refused.putBack(suppressed{of, omitted}, d.At)
			return err
		}
	}
	p.tellObserver(Event{Decision: d, Kind: RecordRefused, Context: ctx})
	return r
}

// denyIfPaused denies a call that was allowed, also by a person, and that a pause
// caught before it could start.
func (i *invocation) denyIfPaused() {
	if i.decision.Outcome != Allow {
		return
	}
	if v, ok := i.p.stopVerdict(i.call.Grant(), i.call.Name()); ok {
		i.decision.putVerdict(v)
	}
}

// checkStart denies a call that was allowed and can't start. One that a person
// approved and whose caller left stays held.
func (i *invocation) checkStart(ctx context.Context) error {
	d := &i.decision
	switch {
	case d.Outcome != Allow:
	case i.remote == nil && i.p.o.Executors[i.call.Name()] == nil:
		d.denyBy(GatePermission, CodeNoExecutor, "the skill has nothing that runs it")
	case ctx.Err() == nil:
	case d.Asked.IsZero():
		d.denyBy(GateLimits, codeCanceled, "the caller gave up before the call could start")
	default:
		yes, _ := d.Verdict(GateApproval)
		v, err := leaveHeld(ctx, yes, ctx.Err())
		if err != nil {
			i.p.tellObserver(Event{Call: i.call, Decision: *d, Kind: EventLeftHeld, Context: ctx})
			return err
		}
		d.putVerdict(v)
	}
	return nil
}

// recordDecision makes the decision durable. Where the files that a person approved the
// call about change up to the last moment, the denial for it is what is written.
func (i *invocation) recordDecision(ctx context.Context) error {
	allowed := i.decision.Outcome == Allow
	err := i.writeDecision(ctx)
	if allowed && errors.Is(err, skills.ErrChanged) {
		yes, _ := i.decision.Verdict(GateApproval)
		yes.Gate, yes.State, yes.Outcome, yes.Code = GateApproval, Judged, Deny, CodeApprovalChanged
		yes.Reason = "what the call names has changed since it was approved"
		i.decision.putVerdict(yes)
		i.warrant = warrant.Warrant{}
		return i.writeDecision(ctx)
	}
	return err
}

// writeDecision records the decision as it is.
func (i *invocation) writeDecision(ctx context.Context) error {
	p, d := i.p, &i.decision
	d.abandoned = ctx.Err() != nil && !d.personRefused()
	if i.remote != nil {
		if err := i.remote.sealWarrant(i.call, d); err != nil {
			return errors.Join(ErrNotRecorded, err)
		}
	}
	r := p.records.newDecision(RecordDecision, i.call, *d)
	if i.restartable && d.Outcome != Allow {
		r.Values = append(r.Values, Value{valueRefusal, encodeJSON(newRefusal(*d))})
	}
	r.Values = append(r.Values, i.kept...)
	if i.edit != nil {
		r.Values = append(r.Values, Value{valueEdit, i.edit.args})
	}
	if d.Outcome == Allow {
		if i.restartable && !i.mayRunAgain {
			r.Once, r.OnceFor = i.call.Proposed().ID(), onceFor
		}
		r.Marks, r.Habits = listNewMarks(ctx, p, i.call), listNewHabits(ctx, p, i.call, *d)
		if err := i.spendWarrant(&r); err != nil {
			return err
		}
		if bound := d.Bound; len(bound) > 0 {
			r.Check = func() error { return checkUnmoved(bound, p.o.Env) }
		}
	}
	return p.writeRecord(ctx, r)
}

// shownArgs are the arguments that ran, secrets left out.
func (i *invocation) shownArgs() string {
	if i.call.Skill() == nil {
		return ""
	}
	return string(shownArgs(i.call, false))
}

// spendWarrant has the record use up the warrant of the call: one that an executor redeems, or
// the one that the caller is handed.
func (i *invocation) spendWarrant(r *Record) error {
	if i.remote != nil {
		r.Spend, r.SpendExpires = i.remote.id, i.decision.reportBy
		return nil
	}
	w, err := i.p.o.Issuer.Issue(i.call.Digest())
	if err != nil {
		return errors.Join(ErrNotRecorded, err)
	}
	i.warrant, r.Spend, r.SpendExpires = w, w.ID(), w.Expires()
	return nil
}

// waitAndRun executes the order, once it is its turn. Executors contain their skills;
// one that breaks all the same must not take the desk with it, nor the record
// of what happened.
func (i *invocation) waitAndRun(ctx context.Context, e flightEntry) (res skills.Result, err error) {
	p, c, bound := i.p, i.call, i.decision.Bound
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
	if err := checkBound(ctx, bound, p.o.Env); err != nil { // in its skill's queue, or since it was written down
		return skills.Result{}, &skills.Failure{Code: skills.FailNotStarted, Err: err}
	}
	// The call is listed before the desk asks for pauses. So an operator who pauses and
	// reads the list finds every call that the pause did not stop.
	e.setPhase(PhaseRunning, p.now())
	if stopped := i.stopBeforeStart(ctx); stopped != nil {
		return skills.Result{}, stopped
	}
	return p.o.Executors[c.Name()].Execute(skills.WithApproved(ctx, listApproved(bound)), i.warrant, c.Order())
}

// stopBeforeStart asks for pauses and whether a person's yes still suffices, and asks the rules again where
// another policy came in force since the decision. It is asked when nothing stands between the call and its start but the start. Nil
// lets it start.
func (i *invocation) stopBeforeStart(ctx context.Context) *stoppedError {
	if v, ok := i.p.stopVerdict(i.call.Grant(), i.call.Name()); ok {
		no := i.decision
		no.putVerdict(v)
		return &stoppedError{outcomeOfStop(v), no}
	}
	var no Decision
	if now := i.p.policyInForce(); now == i.policy {
		no = i.p.withdrawLapsed(ctx, i.call, i.decision)
	} else {
		no = i.p.askRulesNow(ctx, now, i.call, i.decision)
	}
	if no.Outcome != Allow {
		return &stoppedError{CodeWithdrawn, no}
	}
	return nil
}

// recordStopped records that a pause or another policy kept an allowed call from starting, and
// refuses it. It left no trace and says nothing about its skill.
func (i *invocation) recordStopped(ctx context.Context, stopped *stoppedError) error {
	i.releaseSlot(ctx) // before the store is waited for
	b := outcomeBody{ElapsedUS: i.p.now().Sub(i.began).Microseconds(), Status: StatusFailed, Code: stopped.code}
	i.recordOutcome(ctx, b, []Value{{"error", []byte(stopped.Error())}})
	return newRefusal(stopped.no)
}

// recordOutcome records what became of a call. The effect may have happened. If the record
// can't be written, the ledger shows a decision without an outcome, which is the truth.
func (i *invocation) recordOutcome(ctx context.Context, b outcomeBody, values []Value) {
	p := i.p
	err := p.writeRecord(ctx, outcomeRecord(i.call, i.decision, b, values, p.now()))
	if err != nil { // perhaps for the values' sake: that it ran matters more
		err = p.writeRecord(ctx, outcomeRecord(i.call, i.decision, b, nil, p.now()))
	}
	if err == nil {
		p.tellObserver(Event{
			Call: i.call, Decision: i.decision, Kind: RecordOutcome, Status: b.Status, Code: b.Code,
			Elapsed: time.Duration(b.ElapsedUS) * time.Microsecond, Context: ctx,
		})
	}
}

// rememberRefusal adds a decision to the desk's trace, where it speaks against the call.
// Of a call that follows from another, the first is remembered: the same command again is
// known by it.
func (i *invocation) rememberRefusal() {
	d := i.decision
	v, ok := d.Verdict(d.BlockedBy)
	about := i.call
	if first := i.proposal.Follows; first != nil {
		about = *first
	} else {
		i.desk.rememberAttempt(i.call.Name(), i.call.Args())
	}
	if ok && isAboutTheCall(v) {
		i.desk.addRefusal(PastRefusal{Skill: about.Name(), Digest: about.Digest(), Gate: d.BlockedBy, Code: d.Code})
	}
}

// describeRun takes down what became of a call that ran, and returns its values.
func (b *outcomeBody) describeRun(c Call, res skills.Result, err error) (values []Value) {
	b.Status = StatusOK
	if err != nil {
		b.Status, b.Code = classifyFailure(err)
		b.Trust = string(trustOf(c.Skill(), skills.Result{}))
		values = append(values, Value{"error", []byte(err.Error())})
	} else {
		b.Bytes, b.Trust, b.Isolation = len(res.Content), string(trustOf(c.Skill(), res)), res.Isolation
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

// trustOf is what the Spec says of a result, never what the skill says. A result that
// is a template is always untrusted.
func trustOf(s *skills.Skill, r skills.Result) skills.Trust {
	if r.Template {
		return skills.Untrusted
	}
	return s.Spec().Output
}

// logMissingCredential tells the operator which credential a call lacked and what to do.
// The model is told neither, and the log no value.
func (i *invocation) logMissingCredential(ctx context.Context, err error) {
	c := i.call
	var missing *skills.CredentialError
	if errors.As(err, &missing) {
		i.p.logger().LogAttrs(ctx, slog.LevelWarn, "a skill can't use its user's credential, so it did nothing",
			slog.String("credential", missing.Name), slog.String("why", missing.Why), slog.String("remedy", missing.Remedy),
			slog.String("skill", c.Name()), slog.String("call", c.Proposed().ID()))
	}
}

// classifyFailure is the status and the code of a call that ran and failed.
func classifyFailure(err error) (status, code string) {
	var f *skills.Failure
	if !errors.As(err, &f) {
		return StatusFailed, "warrant" // the executor refused it: nothing ran
	}
	if f.Unknown {
		return StatusUnknown, f.Code
	}
	return StatusFailed, f.Code
}

// countsForBreaker reports whether the failure speaks against the skill: the
// breaker counts those, never refusals, bad arguments or a caller that left.
func countsForBreaker(err error) bool {
	var f *skills.Failure
	if !errors.As(err, &f) {
		return false
	}
	if f.Code == skills.FailCanceled || f.Code == skills.FailNotStarted || f.Code == skills.FailNotCommitted {
		return false
	}
	return !errors.Is(err, skills.ErrBadInput) && !errors.Is(err, skills.ErrChanged)
}
