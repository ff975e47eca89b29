package sentinel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// Issuer makes warrants; *warrant.Signer is one.
type Issuer interface {
	Issue(digest string) (warrant.Warrant, error)
}

// Options are the parts of a Checkpoint. Gates must hold the six gates from
// schema to review, each once, a switched-off one as Skip.
type Options struct {
	Registry *skills.Registry
	Gates    []Gate
	Env      touch.Env
	// Limiter, Recorder, Issuer and Executors are needed by a Desk, not by
	// Decide. Without an Approver Ask is Deny.
	Limiter Limiter
	// LimitsAway says what follows where Limiter's error wraps ErrLimitsAway;
	// nil denies.
	LimitsAway OutageTable
	Approver   Approver
	// AskTimeout is how long a person has to answer, from the first question on
	// and over restarts, whichever the approver. Zero means DefaultAskTimeout.
	AskTimeout time.Duration
	// Readmit, where set, is called after a person has approved a call and
	// before the rules are asked again. It returns when the call's turn and agent
	// have their places back; an error leaves the call held.
	Readmit func(ctx context.Context, c Call) error
	// Pending bounds the calls that wait for a person at a time. A call beyond
	// it is denied with CodePendingFull, and no person is asked.
	Pending PendingLimits
	// Pauser is the kill switch; without one nothing can be paused.
	Pauser Pauser
	// Ended reports whether the principal of that id may act no more: see Grant.Principal. It is asked when Pauser
	// is, and must answer at once. Without it none ever ends.
	Ended    func(principal string) bool
	Recorder Recorder
	// History is needed by desks that are resumed.
	History History
	// Marks finds what tainted calls wrote, so that it reads back untrusted. Without it what
	// skills read is as trusted as they are.
	Marks StoreMarks
	// Habits remembers what people approve; nil remembers nothing.
	Habits    HabitKeeper
	Issuer    Issuer
	Executors map[string]skills.Executor
	// Queues are where allowed calls of a skill wait for others of it. A skill
	// without one runs at once.
	Queues map[string]Queue
	// Follows gives back what waits for a call that follows from another, so that a
	// question about it outlives its caller and its process. Without it, or without
	// History, such a question is withdrawn and what waits is thrown away.
	Follows FollowKeeper
	// DigestKey salts the digests in the ledger.
	DigestKey [32]byte
	Values    ValuesMode
	// Evidence says what the evidence of a call shows; see Call.Evidence.
	Evidence EvidenceOptions
	// PolicyDigest identifies the configuration in every record. Gates, AskTimeout, Pending and
	// PolicyDigest are the first Policy: see Checkpoint.SetPolicy.
	PolicyDigest string
	// Observe is told of every decision and outcome after it was recorded.
	// It must not block; what it is handed may hold values.
	Observe func(Event)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log receives what operators must know, without values; nil discards.
	Log *slog.Logger
}

// Queue lets only so many calls of a skill run at a time.
type Queue interface {
	// Enter waits for the call's turn, less long than a warrant lives; leave
	// must be called when the call has ended. An error means that it can't
	// start: that is recorded, and its text goes to the model.
	Enter(ctx context.Context, c Call) (leave func(), err error)
}

// Event is one decision or outcome, for live displays and metrics.
type Event struct {
	Call     Call
	Decision Decision
	// Kind is a record kind. Status, Code and Elapsed belong to an outcome.
	Kind    string
	Status  string
	Code    string
	Elapsed time.Duration
	// Context is the one that the call was made under, for traces. It may have
	// ended.
	Context context.Context //nolint:containedctx // it tells where the event belongs, and bounds nothing
}

// Checkpoint is the one place that decides. It is safe for concurrent use. Its
// zero value denies everything.
type Checkpoint struct {
	o        Options
	inForce  atomic.Pointer[policy]
	records  recordMaker
	refused  refusedLimit
	inFlight flightList
	locks    callLocks
	pending  pendingCount
}

// mandatory gates can't be switched off.
var mandatory = map[string]bool{GateSchema: true, GateScope: true, GatePermission: true, GateGuard: true}

// New checks the parts and returns the Checkpoint. A gate that is missing,
// unknown, there twice, or switched off though it can't be, is an error.
func New(o Options) (*Checkpoint, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Values == "" {
		o.Values = ValuesKeys
	}
	p := &Checkpoint{o: o, records: recordMaker{o.DigestKey, o.Values, o.Registry, nil}}
	p.records.kept = &keptParts{now: p.now}
	first, err := newPolicy(Policy{Gates: o.Gates, AskTimeout: o.AskTimeout, Pending: o.Pending, Digest: o.PolicyDigest})
	p.inForce.Store(first)
	errs := []error{err}
	if o.Registry == nil {
		errs = append(errs, errors.New("the registry of skills is missing"))
	}
	if o.Recorder != nil && o.DigestKey == [32]byte{} {
		errs = append(errs, errors.New("the key that salts digests in the ledger is missing"))
	}
	return p, errors.Join(errs...)
}

// innerGates are the gates that are Gates: limits and approval are asked otherwise.
func innerGates() []string {
	return gateOrder[1 : len(gateOrder)-1]
}

// ruleGates are the gates that go by rules alone: all inner ones but the review.
func ruleGates() []string {
	return gateOrder[1 : len(gateOrder)-2]
}

// SetPolicy puts another policy in force. Calls that are judged from now on are judged by it. A call
// that was judged by the one before keeps that one's verdicts and digest; once a person has approved
// it, and before it starts, the rules of the policy that is in force then are asked again, and what
// they don't allow doesn't start. What has started runs on. The error is that of New, and changes nothing.
func (p *Checkpoint) SetPolicy(next Policy) error {
	pol, err := newPolicy(next)
	if err != nil {
		return err
	}
	p.inForce.Store(pol)
	return nil
}

// PolicyDigest returns the digest of the policy that is in force.
func (p *Checkpoint) PolicyDigest() string { return p.policyInForce().digest }

// policyInForce returns the policy that is in force. That of the zero Checkpoint has no gate, so it denies.
func (p *Checkpoint) policyInForce() *policy {
	if pol := p.inForce.Load(); pol != nil {
		return pol
	}
	return &policy{}
}

// Registry returns the skills the checkpoint knows.
func (p *Checkpoint) Registry() *skills.Registry { return p.o.Registry }

// NewCall freezes a proposal with the checkpoint's skills; see NewCall.
func (p *Checkpoint) NewCall(prop Proposal) (Call, error) {
	prop.Evidence = p.o.Evidence
	return NewCall(p.o.Registry, p.o.Env, prop)
}

// Decide judges a call, rewritten by the rules that do so, and runs nothing. Decide
// counts no limit, asks no person and records nothing. Limits and approval are
// skipped and Ask stays Ask. The error is ctx's, where it ended before every gate
// had answered.
func (p *Checkpoint) Decide(ctx context.Context, c Call) (Decision, error) {
	i := &invocation{p: p, call: c, limitsVerdict: Verdict{Gate: GateLimits, State: Skipped}}
	_, _ = i.takeSteps(ctx, i.judge, i.review) // neither ends the way
	i.decision.placeVerdict(Verdict{Gate: GateApproval, State: Skipped})
	return i.decision, ctx.Err()
}

// askGate asks one gate. What can't judge denies: a gate that isn't there, one
// that panics, one that returns an error. start is when it is asked.
func (p *Checkpoint) askGate(ctx context.Context, pol *policy, name string, c Call, start time.Time) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			p.logger().Error("a gate panicked", "gate", name, "stack", string(debug.Stack()))
			v = Verdict{State: Failed, Code: name + ".panic", Reason: "the gate broke; nothing runs without it"}
		}
		v.Gate, v.Elapsed = name, p.since(start)
	}()
	g := pol.gates[name]
	if g == nil {
		return Verdict{State: Failed, Code: name + ".missing", Reason: "the gate is missing"}
	}
	if c.parts().follows != nil {
		if v, ok := inheritVerdict(g, c); ok {
			return v
		}
	}
	v, err := g.Check(ctx, c)
	if err != nil {
		return Verdict{
			State: Failed, Code: name + ".error", Reason: "the gate could not judge", Detail: err.Error(), Meta: v.Meta,
		}
	}
	if !isAnswer(name, v, c) {
		return Verdict{State: Failed, Code: name + ".no_answer", Reason: "the gate gave no verdict that counts"}
	}
	if v.Doubt != nil && !mayDoubt(name, v.Doubt.Outcome) {
		v.countDoubt()
	}
	v.cutToBounds()
	return v
}

// askRulesNow asks the rules of a policy about a call that was allowed and has not started. An answer
// that was given to another question counts no more, and neither does one that was given beforehand
// under another policy, or whose people may not give it any more. The review's answer stands.
func (p *Checkpoint) askRulesNow(ctx context.Context, pol *policy, c Call, allowed Decision) Decision {
	d := allowed
	yes, _ := d.Verdict(GateApproval)
	for _, n := range ruleGates() {
		d.putVerdict(p.askGate(ctx, pol, n, c, p.now()))
	}
	d.Policy = pol.digest
	beforehand := yes.Meta[metaStanding] != "" && (c.Tainted() || pol.digest != allowed.Policy)
	if beforehand || !slices.Equal(askingGates(d), askingGates(allowed)) {
		yes = Verdict{Gate: GateApproval, State: NotReached} // it was the answer to another question
	}
	d.putAnswer(yes)
	return p.withdrawLapsed(ctx, c, d)
}

// holdsAnswer reports whether a person's yes still suffices, where the approver can tell. What it can't tell does
// not hold. The answer is asked for also where the caller has left meanwhile.
func (p *Checkpoint) holdsAnswer(ctx context.Context, c Call, d Decision, yes Verdict) (holds bool) {
	a, ok := p.o.Approver.(RevisingApprover)
	if !ok || d.Asked.IsZero() || yes.State != Judged || yes.Outcome != Allow || yes.Meta[metaStanding] != "" {
		return true
	}
	defer func() {
		if recover() != nil {
			p.logger().Error("the approver panicked; its yes does not hold", "call", c.Proposed().ID(), "stack", string(debug.Stack()))
			holds = false
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	holds, err := a.AnswerHolds(ctx, c, d)
	if err != nil {
		p.logger().Error("the approver could not tell whether its yes holds, so it does not", "call", c.Proposed().ID(), "error", err)
	}
	return holds && err == nil
}

// withdrawLapsed denies an allowed call whose yes holds no more.
func (p *Checkpoint) withdrawLapsed(ctx context.Context, c Call, d Decision) Decision {
	if yes, _ := d.Verdict(GateApproval); d.Outcome == Allow && !p.holdsAnswer(ctx, c, d, yes) {
		d.putVerdict(markApproval(Refuse(CodeApprovalSuperseded,
			"who may approve the call was changed, and the yes that was given does not suffice")))
	}
	return d
}

// mayDoubt reports whether a gate may leave a doubt to the review: the judge, and the scope
// gate where it would ask.
func mayDoubt(gate string, outcome Outcome) bool {
	return gate == GateJudge || gate == GateScope && outcome == Ask
}

// isAnswer reports whether a gate has said what such a gate may say: a
// mandatory one has judged, unless there is no skill to judge, and only the
// review may speak without being heard.
func isAnswer(name string, v Verdict, c Call) bool {
	switch v.State {
	case Judged:
		return v.Outcome <= Allow
	case Skipped:
		return !mandatory[name] || c.Skill() == nil && name != GateScope
	case Shadow:
		return name == GateReview
	}
	return false
}

func (p *Checkpoint) now() time.Time {
	if p.o.Now == nil {
		return time.Now()
	}
	return p.o.Now()
}

// since is how long ago start was. The clock's time of day, which takes longer to read, isn't needed.
func (p *Checkpoint) since(start time.Time) time.Duration {
	if p.o.Now == nil {
		return time.Since(start)
	}
	return p.o.Now().Sub(start)
}

func (p *Checkpoint) logger() *slog.Logger {
	if p.o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return p.o.Log
}

func (p *Checkpoint) tellObserver(e Event) {
	if p.o.Observe == nil {
		return
	}
	defer func() {
		if recover() != nil {
			p.logger().Error("the observer of decisions panicked")
		}
	}()
	p.o.Observe(e)
}

// InFlight returns the calls that wait for a person, for their places or for their skill,
// or run, the oldest first. After a pause began, a call that it stops and that is not
// among them does not run.
func (p *Checkpoint) InFlight() []InFlight { return p.inFlight.list() }

// writeRecord makes r durable. It outlives the caller's context, which may have
// ended while a person was asked or a skill ran.
func (p *Checkpoint) writeRecord(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err := p.o.Recorder.Record(ctx, r)
	if errors.Is(err, skills.ErrChanged) || errors.Is(err, ErrAnswerOver) { // the record's own word, and no fault of the store's
		return err
	}
	if err != nil {
		p.logger().Error("a record could not be written", "kind", r.Kind, "call", r.CallID, "error", err)
		return fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	p.records.kept.add(r.Parts)
	return nil
}

// ErrNotRecorded is returned when a decision could not be made durable.
// Nothing ran.
var ErrNotRecorded = errors.New("the decision could not be recorded, so nothing ran")

// recordTimeout bounds the wait for the store, also for calls whose own
// context has ended: an outcome must not be lost with it.
const recordTimeout = 30 * time.Second

// Desk returns a root desk that acts under the grant.
func (p *Checkpoint) Desk(g Grant) *Desk { return &Desk{p: p, grant: g} }

// RemoteDesk returns the desk of a conversation whose calls the program of the grant's principal
// runs itself. What was recorded of the conversation before is in it after RemoteDesk.Recall.
func (p *Checkpoint) RemoteDesk(g Grant) (*RemoteDesk, error) {
	if g.Remote() == "" || p.o.Recorder == nil || p.o.History == nil || p.o.Limiter == nil {
		return nil, fmt.Errorf("%w: the grant names no principal, or the checkpoint has no recorder, history or limiter", ErrNotRecorded)
	}
	return &RemoteDesk{desk: p.Desk(g)}, nil
}

// Numbered returns a root desk whose calls, and those of its children, have
// ids made of the grant's id and the number of the proposal: a process that
// resumes the desk proposes an unanswered call under the id it had before. The
// grant's id must never have been used for another desk.
func (p *Checkpoint) Numbered(g Grant) *Desk { return &Desk{p: p, grant: g, numbered: true} }
