package sentinel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/vedette-dev/vedette/skills"
)

// Desk is what an agent is handed instead of skills. It adds the grant and the
// trace; the agent can't. It is safe for concurrent use.
type Desk struct {
	p      *Checkpoint
	parent *Desk

	mu    sync.Mutex
	grant Grant
	trace Trace
	// delegated are the skills of the children made before the taint. At that time no
	// stranger's words could have asked for these skills.
	delegated skills.Scope
	// numbered desks name their calls by number: see Checkpoint.Numbered. next
	// is the number of the next, and those below until may have been proposed
	// before.
	numbered    bool
	next, until int
	// waits are the calls of this desk and those below it that a person is asked
	// about. Once it is over, no other is.
	waits map[*heldWait]struct{}
	over  bool
}

// Desk returns a root desk that acts under the grant.
func (p *Checkpoint) Desk(g Grant) *Desk { return &Desk{p: p, grant: g} }

// Child returns the desk of a sub-agent, whose grant is never wider than this
// desk's: a wider one is ErrWider.
func (d *Desk) Child(c Child) (*Desk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, err := d.grant.Narrow(c)
	if err != nil {
		return nil, err
	}
	if !g.Tainted() {
		d.delegated = d.delegated.Union(g.Scope())
	}
	trace := Trace{}.hearing(g.ID(), d.grant.ID(), d.trace)
	return &Desk{p: d.p, parent: d, grant: g, trace: trace, numbered: d.numbered}, nil
}

// Extend adds skills to a child's grant while it works. Skills that its parent
// does not hold are ErrWider, and so is any extension of a root desk.
func (d *Desk) Extend(more skills.Scope) error {
	if d.parent == nil {
		return fmt.Errorf("%w: it has no parent", ErrWider)
	}
	outer := d.parent.Grant().Scope()
	if ok, wider := more.Within(outer); !ok {
		return fmt.Errorf("%w: %d of the skills asked for are not the parent's", ErrWider, len(wider))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grant.o.Scope = d.grant.o.Scope.Union(more)
	return nil
}

// Grant returns the desk's authority as it is now, taint included.
func (d *Desk) Grant() Grant {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.grant
}

// Trace returns what the desk has returned so far.
func (d *Desk) Trace() Trace {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trace
}

// Tainted reports whether the branch has read an untrusted result.
func (d *Desk) Tainted() bool { return d.Grant().Tainted() }

// Taint marks the branch as having read something untrusted: for what comes
// up from a sub-agent, or over from one that it depends on. There is no way
// back.
func (d *Desk) Taint() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grant = d.grant.Taint()
}

// Invoke proposes one call and, where the checkpoint allows it, runs it. It
// returns a *skills.Refusal when the call did not run, a *skills.Failure when
// it ran and failed, an error that wraps ErrHeld when it waits for a person
// still, and one that wraps ErrNotRecorded when the store is away. args is what the model sent, byte for byte.
func (d *Desk) Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error) {
	p := d.p
	if p == nil || p.o.Recorder == nil || p.o.Issuer == nil || p.o.Limiter == nil {
		return skills.Result{}, fmt.Errorf("%w: the checkpoint has no recorder, limiter or issuer", ErrNotRecorded)
	}
	d.mu.Lock()
	n, late := d.next, d.next < d.until
	d.next++
	prop := Proposal{Skill: skill, Args: args, Grant: d.grant, Trace: d.trace, BeforeTaint: d.delegated}
	d.mu.Unlock()
	if !d.numbered {
		prop.ID = newID()
		return d.propose(ctx, prop, keeping{desk: d})
	}
	prop.ID = CallID(prop.Grant.ID(), n)
	leave, err := p.lanes.enter(ctx, prop.ID)
	if err != nil {
		return skills.Result{}, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	if !late {
		return d.propose(ctx, prop, keeping{desk: d, numbered: true})
	}
	past, found, err := p.past(ctx, prop.ID, n)
	if err != nil {
		return skills.Result{}, err
	}
	if past.follow != nil {
		return d.resumeFollow(ctx, prop, past)
	}
	k := keeping{desk: d, numbered: true, held: past.held}
	if found {
		var a *answer
		if a, k.repeat = d.again(past, prop); a != nil {
			return a.res, a.err
		}
	}
	return d.propose(ctx, prop, k)
}

// propose takes a proposal through the checkpoint.
func (d *Desk) propose(ctx context.Context, prop Proposal, k keeping) (skills.Result, error) {
	p, g, callID := d.p, prop.Grant, prop.ID
	lv := p.reserve(ctx, g, callID, prop.Skill)
	c, err := p.NewCall(prop)
	var ce *CallError
	if errors.As(err, &ce) {
		p.release(ctx, prop.Skill, callID)
		return skills.Result{}, p.refuse(ctx, g, callID, ce, lv, len(prop.Args), k.numbered)
	}
	if err != nil {
		return skills.Result{}, err
	}
	dec, err := p.decideAndRecord(ctx, c, lv, k)
	if err != nil {
		p.release(ctx, prop.Skill, callID)
		return skills.Result{}, err
	}
	if dec.d.Outcome != Allow {
		p.release(ctx, prop.Skill, callID)
		d.refused(c, dec.d)
		return skills.Result{}, refusal(dec.d)
	}
	return d.execute(ctx, dec)
}

// reserve uses the proposal's slot. A limiter that can't answer denies.
func (p *Checkpoint) reserve(ctx context.Context, g Grant, callID, skill string) (v Verdict) {
	start := p.now()
	defer func() { v.Gate, v.Elapsed = GateLimits, p.now().Sub(start) }()
	if v, ok := p.paused(g.User(), skill); ok { // before the count: a paused call takes no slot
		return v
	}
	return p.count(ctx, g, callID, skill)
}

// refuse records a proposal that became no Call, a few a minute for each
// conversation, and answers it. One over budget is told that first: no other
// spelling would help.
func (p *Checkpoint) refuse(ctx context.Context, g Grant, callID string, ce *CallError, limits Verdict, argBytes int, keep bool) error {
	d := Refused(callID, ce, p.now())
	d.place(limits)
	r := refusal(d)
	r.Kind = skills.KindInvalid
	if limits.Counts() && limits.Outcome < Allow && limits.Code != CodeLimitsAway {
		r.Kind, r.Gate, r.Code, r.Reason = skills.KindBudget, GateLimits, limits.Code, limits.Reason
		r.RetryAfter, r.WhatYouCanDo = limits.RetryAfter, cmp.Or(limits.WhatYouCanDo, advice[GateLimits])
		if limits.Code == CodePaused {
			r.Kind = skills.KindPaused
		}
	}
	r.Retryable = skills.Retryable(r.Kind, r.Code, r.RetryAfter)
	of := proposer{g.User(), g.Conversation()}
	ok, omitted, others := p.refused.take(of, d.At)
	_ = p.tellSuppressed(ctx, others) // kept for the next time where it fails
	if ok {
		rec := refusedRecord(g, d, argBytes, omitted)
		if keep {
			rec.Values = append(rec.Values, Value{valueRefusal, encode(r)})
		}
		if err := p.record(ctx, rec); err != nil {
			p.refused.putBack(suppressed{of, omitted}, d.At)
			return err
		}
	}
	p.observe(Event{Decision: d, Kind: RecordRefused, Context: ctx})
	return r
}

// append adds a step to the trace, with its taint.
func (d *Desk) append(st Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.with(st)
	if st.Trust != skills.Trusted {
		d.grant = d.grant.Taint()
	}
}

// Omit records, once, that n proposals of the desk's agent were not looked at:
// those after the first that a spent budget refused, and those beyond what one
// answer of a model may hold. None became a Call and nothing ran. An error wraps
// ErrNotRecorded; for n below 1 nothing is written.
func (d *Desk) Omit(ctx context.Context, n int) error {
	if n < 1 {
		return nil
	}
	dec := Refused(newID(), &CallError{Code: CodeOmitted, Reason: "proposals beyond the budget were left out and are counted here"}, d.p.now())
	dec.BlockedBy = GateLimits
	return d.p.record(ctx, refusedRecord(d.Grant(), dec, 0, n))
}

// CodeOmitted is the code of the record that Omit writes.
const CodeOmitted = "limits.omitted"

// refused adds a decision to the trace, where it speaks against the call.
func (d *Desk) refused(c Call, dec Decision) {
	d.try(c.Args())
	v, ok := dec.Verdict(dec.BlockedBy)
	if !ok || !speaksAgainst(v) {
		return
	}
	d.addRefusal(PastRefusal{Skill: c.Name(), Digest: c.Digest(), Gate: dec.BlockedBy, Code: dec.Code})
}

// refusedThen adds what was refused before a restart, as far as it was kept:
// the ledger holds a keyed digest, which compares with none.
func (d *Desk) refusedThen(p Past) {
	no := p.Refusal
	if _, ran := p.step(); !ran {
		d.try(p.Args)
	}
	if no == nil || p.Skill == "" || no.Kind == skills.KindDefer || !aboutTheCall[no.Gate] || noAnswer[no.Code] {
		return
	}
	d.addRefusal(PastRefusal{Skill: p.Skill, Gate: no.Gate, Code: no.Code})
}

func (d *Desk) addRefusal(r PastRefusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.WithRefusal(r)
}

// Hear tells the desk that its agent is shown what another's desk returned: it is
// tainted if that one is, and what stood in arguments and untrusted results there
// attests as little here. Call it whenever results, missions or messages pass from one
// agent to the other.
func (d *Desk) Hear(other *Desk) {
	other.mu.Lock()
	by, trace, tainted := other.grant.ID(), other.trace, other.grant.Tainted()
	other.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.hearing(d.grant.ID(), by, trace)
	if tainted {
		d.grant = d.grant.Taint()
	}
}

// try keeps the arguments of a call that never ran.
func (d *Desk) try(args string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.withTried(args)
}

// answer is what a desk returns for a call.
type answer struct {
	res skills.Result
	err error
}
