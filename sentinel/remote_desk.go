package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// RemoteDesk is the desk of a conversation whose calls another program proposes and runs itself.
// It decides them as a Desk does, and hands out a warrant instead of a result. What is reported of
// them is in the trace of the conversation's later calls. It is safe for concurrent use.
type RemoteDesk struct {
	desk *Desk
	turn string // the newest that BeginTurn was told of; desk's lock guards it
}

// Handing is a proposal of a program that runs its calls itself.
type Handing struct {
	// ID names the call. It must never have been used for a call of another principal.
	ID    string
	Grant Grant
	Skill string
	Args  json.RawMessage
	// Tool is the skill as the program declares it, where the registry doesn't have it.
	Tool *skills.Skill
	// History is what the program read before. It taints, and it grounds nothing. Earlier is what it read in
	// earlier turns of the user's.
	History, Earlier []Step
	// Lifetime is how long the program has to run the call and to report it.
	Lifetime time.Duration
	// Elsewhere reports whether the program may run the skill itself.
	Elsewhere func(skill string) bool
	// Seal makes the warrant that the program is handed, for the call as it was judged.
	Seal func(Call, Seal) (string, error)
	// OnHeld is told once people can find the question about the call. It must not block.
	OnHeld func(Decision)
	// AwaitCaller is called after a person has approved the call and before the rules are asked again.
	// It returns when the program asks for the call, with the authority that it has then.
	AwaitCaller func(context.Context) (Grant, error)
}

// Seal is what a warrant says besides its call.
type Seal struct {
	ID              string
	Issued, Expires time.Time
}

// Handed is where a call stands that was proposed at a RemoteDesk.
type Handed struct {
	// ID is that of the proposal.
	ID       string
	Call     Call
	Decision Decision
	// Warrant is what the program is handed. It is empty where Past is set.
	Warrant string
	// ReportBy is until when the program may say what became of the call.
	ReportBy time.Time
	// Past is what is on record of a call that was decided before.
	Past *Past
}

// ErrOtherCall means that the id is on record for another call.
var ErrOtherCall = errors.New("another call was proposed under this id")

// remoteRun is what an invocation has whose call another program runs. Nil is any other's.
type remoteRun struct {
	Handing
	id    string // of the warrant
	token string
	now   *Grant // as the caller had it when a person had approved the call
	clock func() time.Time
}

// tellHeld says that people can find the question.
func (r *remoteRun) tellHeld(d Decision) {
	if r != nil && r.OnHeld != nil {
		r.OnHeld(d)
	}
}

// awaitCaller waits until the program asks for a call that was approved.
func (r *remoteRun) awaitCaller(ctx context.Context, _ Call) error {
	if r.AwaitCaller == nil {
		return nil
	}
	g, err := r.AwaitCaller(ctx)
	if err == nil {
		r.now = &g
	}
	return err
}

// withGrantNow returns the call under the authority that its caller has now: what was taken from
// the caller meanwhile, and what the conversation has read, hold for a call that waited. What the
// digest covers stays the same.
func (r *remoteRun) withGrantNow(c Call, d *Desk) Call {
	if r == nil || r.now == nil {
		return c
	}
	return c.withGrantNow(*r.now, d)
}

// sealWarrant makes the warrant of an allowed call, before its decision is written down.
func (r *remoteRun) sealWarrant(c Call, d *Decision) error {
	if d.Outcome != Allow {
		d.reportBy, r.token = time.Time{}, ""
		return nil
	}
	now := r.clock()
	d.reportBy, r.id = now.Add(r.Lifetime).Truncate(time.Second), NewID()
	token, err := r.Seal(c, Seal{ID: r.id, Issued: now, Expires: d.reportBy})
	if err != nil {
		return fmt.Errorf("the warrant can't be made: %w", err)
	}
	r.token = token
	return nil
}

// CodeNoExecutor is the code of an allowed call of a skill that nothing here runs.
const CodeNoExecutor = "permission.no_executor"

// CodeRunsHere is the code of a call that another program would run and may not.
const CodeRunsHere = "permission.runs_here"

// Grant returns the conversation's authority as it is now, taint included.
func (r *RemoteDesk) Grant() Grant { return r.desk.Grant() }

// Trace returns what was reported in the conversation so far.
func (r *RemoteDesk) Trace() Trace { return r.desk.Trace() }

// Taint marks the conversation as having read something untrusted.
func (r *RemoteDesk) Taint() { r.desk.Taint() }

// HandOver takes a proposal through all gates. Where they allow it, the decision is on record when
// HandOver returns, with the warrant spent: no other can be made for the id. A call that was decided
// before is answered from the record, in Handed.Past, and gets no warrant.
//
// The error is a *skills.Refusal where the call must not run. It wraps ErrHeld where a person is
// asked still, ErrOtherCall where the id is another call's, and ErrNotRecorded where the store is
// away. Nothing may run after any of them.
func (r *RemoteDesk) HandOver(ctx context.Context, h Handing) (Handed, error) {
	p := r.desk.p
	if h.Seal == nil || h.Elsewhere == nil || h.Lifetime <= 0 || h.ID == "" {
		return Handed{}, fmt.Errorf("%w: a call to be handed over needs an id, a lifetime and a way to seal its warrant", ErrNotRecorded)
	}
	leave, err := p.locks.lockCall(ctx, h.ID)
	if err != nil {
		return Handed{}, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	i, err := r.newInvocation(h)
	if err != nil {
		return Handed{}, err
	}
	past, err := i.findPast(ctx)
	if err != nil || past != nil {
		return Handed{Past: past}, err
	}
	_, err = i.takeSteps(ctx, i.reserve, i.parse, i.judge, i.review, i.denyRunsHere, i.approve, i.commit, i.startElsewhere)
	for i.next != nil { // a person gave the call other arguments
		i = remoteInvocation{i.next}
		_, err = i.takeSteps(ctx, i.parse, i.judge, i.review, i.denyRunsHere, i.approve, i.commit, i.startElsewhere)
	}
	out := Handed{ID: h.ID, Call: i.call, Decision: i.decision}
	if err == nil {
		out.Warrant, out.ReportBy = i.remote.token, i.decision.reportBy
	}
	return out, err
}

// remoteInvocation is an invocation whose last step hands out a warrant.
type remoteInvocation struct{ *invocation }

// newInvocation begins the way of a proposal, under the conversation's taint and trace.
func (r *RemoteDesk) newInvocation(h Handing) (remoteInvocation, error) {
	d := r.desk
	history, err := r.readHistory(h.History)
	if err != nil {
		return remoteInvocation{}, err
	}
	earlier, err := r.readHistory(h.Earlier)
	if err != nil {
		return remoteInvocation{}, err
	}
	d.mu.Lock()
	if len(earlier) > 0 {
		d.grant = d.grant.TaintBefore()
	}
	if len(history) > 0 {
		d.grant = d.grant.Taint()
	}
	g, trace := h.Grant.TaintAs(d.grant), d.trace
	same := g.o.Remote == d.grant.o.Remote && g.o.User == d.grant.o.User && g.o.Conversation == d.grant.o.Conversation
	d.mu.Unlock()
	if !same {
		return remoteInvocation{}, fmt.Errorf("%w: the grant is of another conversation", ErrNotRecorded)
	}
	if len(earlier) > 0 {
		trace = trace.WithEarlier(append(trace.Earlier(), earlier...)...)
	}
	for _, s := range history {
		trace = trace.withStep(s.withMarks())
	}
	return remoteInvocation{&invocation{
		p: d.p, desk: d, restartable: true, leave: func() {}, remote: &remoteRun{Handing: h, clock: d.p.now},
		proposal: Proposal{ID: h.ID, Skill: h.Skill, Args: h.Args, Grant: g, Trace: trace, Tool: h.Tool},
	}}, nil
}

// readHistory returns steps as the trace takes them. What is wrong in them changes nothing.
func (r *RemoteDesk) readHistory(list []Step) ([]Step, error) {
	out := make([]Step, 0, len(list))
	for _, s := range list {
		args, _, err := canonicalize([]byte(s.Args))
		if err != nil {
			return nil, err
		}
		s.Args, s.Trust = args, skills.Untrusted
		if known, ok := r.desk.p.o.Registry.Get(s.Skill); ok {
			s.Effect, s.Sensitive, s.StrangerFields = known.Effect(), known.Sensitive(), known.Spec().StrangerFields
		}
		out = append(out, s)
	}
	return out, nil
}

// findPast returns what is on record of the call. It is nil where the call is to be decided now:
// for the first time, once more after a refusal for now, or still, while a person is asked.
func (i remoteInvocation) findPast(ctx context.Context) (*Past, error) {
	past, found, err := i.p.readHistory(ctx, i.proposal.ID, 0)
	if err != nil {
		return nil, err
	}
	i.held, i.edit = past.held, past.edit
	if !found && past.held == nil && past.edit == nil {
		return nil, nil //nolint:nilnil // no call and no error
	}
	c, cerr := i.p.NewCall(i.proposal)
	if !found && past.held != nil {
		if cerr != nil || !past.held.asPast().isCall(i.p.records, c) {
			return nil, ErrOtherCall
		}
		return nil, nil //nolint:nilnil // the question goes on
	}
	if !past.isProposal(i.p.records, c, cerr, len(i.proposal.Args)) {
		return nil, ErrOtherCall
	}
	if past.edit != nil {
		return nil, nil //nolint:nilnil // what a person wants in its place goes on
	}
	if no := past.Refusal; no != nil && (no.Kind == skills.KindDefer || no.Kind == skills.KindPaused) {
		return nil, nil //nolint:nilnil // it was refused for then
	}
	return &past, nil
}

// asPast is the call that a person is asked about, as far as isCall looks at it.
func (h *heldBefore) asPast() Past {
	b, proposed := h.record.readProposal()
	return Past{Skill: h.record.readSkill(b), spec: b.SkillSpec, digest: b.Digest, proposed: proposed}
}

// denyRunsHere denies a call of a skill that its caller may not run: it would run twice, or without
// what confines it here.
func (i remoteInvocation) denyRunsHere(context.Context) error {
	if s := i.call.Skill(); s != nil && !i.remote.Elsewhere(s.Name()) && i.decision.Outcome > Deny {
		i.decision.denyBy(GatePermission, CodeRunsHere, "the skill runs in this program; no other program is handed its calls")
	}
	return nil
}

// startElsewhere is the last step: from its return on the call may run. A pause that began, or a policy
// that came in force, while the decision was written down still holds it back.
func (i remoteInvocation) startElsewhere(ctx context.Context) error {
	i.began = i.p.now()
	if stopped := i.stopBeforeStart(ctx); stopped != nil {
		return i.recordStopped(ctx, stopped)
	}
	i.slotTaken = false // the limiter hears of it with the report
	return nil
}

// CodeWithdrawn is the code of the outcome of a call that was allowed and that the rules allowed no
// more when its warrant was asked for. Its status is StatusFailed: nothing ran.
const CodeWithdrawn = "withdrawn"

// Recheck asks for pauses and asks the rules again about a call whose warrant was not handed out at
// once, under the authority that its caller has now. The error is a *skills.Refusal where the call must
// not run any more: that is on record, and the warrant must be thrown away. It wraps ErrReported where
// the call has its outcome already.
func (r *RemoteDesk) Recheck(ctx context.Context, h Handed, now Grant) error {
	p := r.desk.p
	leave, err := p.locks.lockCall(ctx, h.ID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	past, found, err := r.PastCall(ctx, h.ID)
	switch {
	case err != nil:
		return err
	case !found || !past.IsOpen():
		return ErrReported
	}
	c, d := h.Call.withGrantNow(now, r.desk).withTouchNow(p.o.Env), h.Decision
	code := CodeWithdrawn
	if v, ok := p.stopVerdict(c.Grant(), c.Name()); ok {
		code = outcomeOfStop(v)
		d.putVerdict(v)
	} else {
		d = p.askRulesNow(ctx, p.policyInForce(), c, d)
	}
	if d.Outcome == Allow {
		return nil
	}
	i := &invocation{p: p, desk: r.desk, call: c, decision: h.Decision}
	no := newRefusal(d)
	i.recordOutcome(ctx, outcomeBody{Status: StatusFailed, Code: code}, []Value{{"error", []byte(no.Reason)}})
	p.releaseSlot(ctx, c.Name(), h.ID)
	return no
}
