package sentinel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/vedette-dev/vedette/internal/ids"
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
	// delegated are the skills of the children made before this turn's taint. At that time
	// no stranger's words of this turn could have asked for these skills.
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

// Child returns the desk of a sub-agent, whose grant is never wider than this
// desk's: a wider one is ErrWider.
func (d *Desk) Child(c Child) (*Desk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, err := d.grant.Narrow(c)
	if err != nil {
		return nil, err
	}
	if !g.TaintedThisTurn() {
		d.delegated = d.delegated.Union(g.Scope())
	}
	trace := Trace{earlier: d.trace.earlier, past: d.trace.past}.withHeard(g.ID(), d.grant.ID(), d.trace)
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

// RecallEarlier tells a new root desk of untrusted results of earlier turns: see
// Trace.WithEarlier.
func (d *Desk) RecallEarlier(steps []Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.WithEarlier(steps...)
}

// RecallResults tells a new root desk of results of earlier turns: see Trace.WithPastResults.
func (d *Desk) RecallResults(list []PastResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.WithPastResults(list...)
}

// Tainted reports whether the branch has read an untrusted result.
func (d *Desk) Tainted() bool { return d.Grant().Tainted() }

// Taint marks the branch as having read something untrusted in this turn. There is no way
// back.
func (d *Desk) Taint() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grant = d.grant.Taint()
}

// TaintAs adds the taint of a grant: for what comes up from a sub-agent, or over from one
// that it depends on. What was read in earlier turns alone stays that.
func (d *Desk) TaintAs(g Grant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grant = d.grant.TaintAs(g)
}

// addStep adds a step to the trace, with its taint.
func (d *Desk) addStep(st Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.withStep(st)
	if st.HasStrangers() {
		d.grant = d.grant.Taint()
	}
}

// rememberResult adds what the desk returns to the trace. An error's text comes from
// the skill too, so it is no more trusted than a result.
func (d *Desk) rememberResult(c Call, res skills.Result, err error, marks []string) {
	st := Step{Skill: c.Name(), CallID: c.ID(), Args: c.Args(), Result: res.Content, Trust: res.Trust,
		Marks: marks, Effect: c.Effect(), Sensitive: c.Sensitive(), StrangerFields: c.strangerFields(), Failed: err != nil}
	if err != nil {
		st.Result, st.Trust = err.Error(), cmp.Or(res.Trust, trustOf(c.Skill(), skills.Result{}))
		st = st.withMarks()
	} else {
		st.kept = c.Proposed().ID()
	}
	d.addStep(st)
}

// Omit records, once, that n proposals of the desk's agent were not looked at:
// those after the first that a spent budget refused, and those beyond what one
// answer of a model may hold. None became a Call and nothing ran. An error wraps
// ErrNotRecorded; for n below 1 nothing is written.
func (d *Desk) Omit(ctx context.Context, n int) error {
	if n < 1 {
		return nil
	}
	omitted := &CallError{Code: CodeOmitted, Reason: "proposals beyond the budget were left out and are counted here"}
	dec := Refused(ids.New(), omitted, d.p.now())
	dec.BlockedBy = GateLimits
	return d.p.writeRecord(ctx, refusedRecord(d.Grant(), dec, 0, n))
}

// CodeOmitted is the code of the record that Omit writes.
const CodeOmitted = "limits.omitted"

// rememberPastRefusal adds what was refused before a restart, as far as it was kept:
// the ledger holds a keyed digest, which compares with none.
func (d *Desk) rememberPastRefusal(p Past) {
	no := p.Refusal
	if _, ran := p.newStep(); !ran {
		d.rememberAttempt(p.Skill, p.Args)
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
	from, trace := other.grant, other.trace
	other.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = d.trace.withHeard(d.grant.ID(), from.ID(), trace)
	d.grant = d.grant.TaintAs(from)
}

// rememberAttempt keeps the arguments of a call that never ran.
func (d *Desk) rememberAttempt(skill, args string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.p.o.Registry.Get(skill)
	d.trace = d.trace.withTried(Step{Skill: skill, Args: args, hide: !known && d.p.o.Registry.TakesSecrets(d.grant.Scope())})
}

// answer is what a desk returns for a call.
type answer struct {
	res skills.Result
	err error
}

// heldWait is one call at a desk from before its question is put on record until
// its decision is, or until it is left held.
type heldWait struct {
	withdraw context.CancelCauseFunc
	done     chan struct{}
}

// enterWait lists a call that a person is to be asked about at the desk and those
// above it. The context that it returns ends with skills.ErrWithdrawn when one of
// them is withdrawn; leave ends the entry. ok is false where one already is.
func (d *Desk) enterWait(ctx context.Context) (waiting context.Context, leave func(), ok bool) {
	waiting, cancel := context.WithCancelCause(ctx)
	w := &heldWait{cancel, make(chan struct{})}
	leave = func() {
		for at := d; at != nil; at = at.parent {
			at.mu.Lock()
			delete(at.waits, w)
			at.mu.Unlock()
		}
		close(w.done)
		cancel(nil)
	}
	for at := d; at != nil; at = at.parent {
		at.mu.Lock()
		over := at.over
		if at.waits == nil {
			at.waits = map[*heldWait]struct{}{}
		}
		at.waits[w] = struct{}{}
		at.mu.Unlock()
		if over {
			leave()
			return ctx, func() {}, false
		}
	}
	return waiting, leave, true
}

// isOver reports whether the desk, or one above it, was withdrawn.
func (d *Desk) isOver() bool {
	for at := d; at != nil; at = at.parent {
		at.mu.Lock()
		over := at.over
		at.mu.Unlock()
		if over {
			return true
		}
	}
	return false
}

// Withdraw ends every question of this desk and of those below it that waits for
// a person, each with a decision on record, and lets no other be asked: for an
// agent or a turn that has ended. It returns when all of them have ended; what
// runs by then it leaves alone. The error is ctx's.
func (d *Desk) Withdraw(ctx context.Context) error {
	d.mu.Lock()
	d.over = true
	list := slices.Collect(maps.Keys(d.waits))
	d.mu.Unlock()
	for _, w := range list {
		w.withdraw(skills.ErrWithdrawn)
	}
	for _, w := range list {
		select {
		case <-w.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
