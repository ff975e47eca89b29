package handover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// flight is one proposed call while it is decided, while a person is asked, and until its warrant was
// handed out. A repeat of the proposal joins it.
type flight struct {
	id       string
	conv     *conversation
	proposal Proposal
	grantID  string

	held chan struct{} // closed once a person is asked
	done chan struct{} // closed at the end
	came chan struct{} // a caller came

	mu      sync.Mutex
	changed chan struct{}  // closed when pending changes, and another takes its place
	pending bool           // a person is asked, and no yes that holds was said
	grant   sentinel.Grant // of the newest repeat
	waiting int            // callers
	asked   sentinel.Decision
	handed  sentinel.Handed
	err     error
	taken   bool // the warrant was handed out
	// repeated is set where a repeat joined: its caller may have less authority than the first one had.
	repeated bool
	known    bool // the call was on record when the flight began
}

// joinFlight returns the flight of a call that is under way, or begins one.
func (h *Handover) joinFlight(conv *conversation, p *Proposal, g sentinel.Grant) (*flight, error) {
	id := CallID(p.Principal, p.User, p.Conversation, p.CallID)
	for {
		if f, err := h.findFlight(id, p, g); f != nil || err != nil {
			if len(p.History) > 0 { // the flight goes on without it, and no call that follows does
				conv.desk.Taint()
			}
			return f, err
		}
		known, err := h.prepare(conv, id)
		if err != nil {
			return nil, err
		}
		f := &flight{
			known: known, id: id, conv: conv, proposal: *p, grantID: g.ID(), grant: g, held: make(chan struct{}), changed: make(chan struct{}),
			done: make(chan struct{}), came: make(chan struct{}, 1),
		}
		if begun, err := h.beginFlight(f); begun || err != nil {
			return f, err
		}
	}
}

// beginFlight begins a flight; begun is false where another of its call began meanwhile.
func (h *Handover) beginFlight(f *flight) (begun bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return false, ErrClosed
	case h.underWay[f.id] != nil:
		return false, nil
	case len(h.underWay) >= h.o.MaxUnderWay:
		return false, ErrBusy
	case h.shares[f.proposal.Principal] >= h.o.MaxOfPrincipal:
		return false, ErrShare
	case !f.conv.beginCall(f.known):
		return false, ErrConversationFull
	}
	h.underWay[f.id] = f
	h.shares[f.proposal.Principal]++
	f.conv.inUse++
	h.work.Go(func() { h.fly(f) })
	return true, nil
}

// findFlight returns the flight of a call that is under way, nil where there is none. ErrDigest: it is
// another call's.
func (h *Handover) findFlight(id string, p *Proposal, g sentinel.Grant) (*flight, error) {
	h.mu.Lock()
	f := h.underWay[id]
	h.mu.Unlock()
	if f == nil {
		return nil, nil //nolint:nilnil // none is under way
	}
	if f.grantID != g.ID() || f.proposal.Skill != p.Skill || !h.sameArguments(f, p, g) || !sameTool(f.proposal.Forwarding, p.Forwarding) {
		return nil, ErrDigest
	}
	f.mu.Lock()
	f.grant, f.repeated = g, true
	f.mu.Unlock()
	return f, nil
}

// sameTool reports whether two forwarded calls are of a tool that was declared alike.
func sameTool(a, b *Forwarding) bool {
	if a == nil || b == nil || a.Tool == nil || b.Tool == nil {
		return (a == nil) == (b == nil) && (a == nil || a.Tool == b.Tool)
	}
	return a.Tool.Digest() == b.Tool.Digest()
}

// sameArguments reports whether two proposals of a skill have the same arguments.
func (h *Handover) sameArguments(f *flight, p *Proposal, g sentinel.Grant) bool {
	if bytes.Equal(f.proposal.Arguments, p.Arguments) {
		return true
	}
	one, err := h.o.Checkpoint.NewCall(sentinel.Proposal{ID: f.id, Skill: p.Skill, Args: f.proposal.Arguments, Grant: g})
	two, err2 := h.o.Checkpoint.NewCall(sentinel.Proposal{ID: f.id, Skill: p.Skill, Args: p.Arguments, Grant: g})
	return err == nil && err2 == nil && one.Digest() == two.Digest()
}

// prepare ends calls of the conversation that were not reported in time, so that the next one is judged
// under their taint, and refuses a call that would be one too many. known says that the call is on
// record, where that was looked up.
func (h *Handover) prepare(conv *conversation, id string) (known bool, err error) {
	for _, late := range conv.listLate(h.o.Now()) {
		if _, err := conv.desk.EndUnreported(h.base, late); err != nil {
			return false, err
		}
		conv.dropHanded(late)
	}
	if !conv.isFull() {
		return false, nil
	}
	if _, known, err = conv.desk.PastCall(h.base, id); err != nil || known {
		return known, err
	}
	return false, ErrConversationFull
}

// fly takes a call through the checkpoint.
func (h *Handover) fly(f *flight) {
	defer func() {
		if recover() != nil {
			h.o.Log.Error("a proposed call broke", "call", f.id, "stack", string(debug.Stack()))
			h.land(f, sentinel.Handed{}, fmt.Errorf("%w: it broke", sentinel.ErrNotRecorded))
		}
	}()
	handed, err := f.conv.desk.HandOver(h.base, h.newHanding(f))
	h.land(f, handed, err)
}

// land ends a flight. One whose warrant is still to be handed out stays where repeats find it.
func (h *Handover) land(f *flight, handed sentinel.Handed, err error) {
	f.conv.endCall(handed.Past == nil && !errors.Is(err, sentinel.ErrHeld) && !errors.Is(err, sentinel.ErrOtherCall))
	if handed.Warrant != "" {
		f.conv.addHanded(newHandedCall(handed, h.o.Now()))
	}
	f.mu.Lock()
	f.handed, f.err = handed, err
	f.mu.Unlock()
	if handed.Warrant == "" || err != nil {
		h.dropFlight(f)
	}
	close(f.done)
}

// dropFlight forgets a flight, once.
func (h *Handover) dropFlight(f *flight) {
	h.mu.Lock()
	known := h.underWay[f.id] == f
	if known {
		delete(h.underWay, f.id)
		if h.shares[f.proposal.Principal]--; h.shares[f.proposal.Principal] == 0 {
			delete(h.shares, f.proposal.Principal)
		}
	}
	h.mu.Unlock()
	if known {
		h.leaveConversation(f.conv)
	}
}

// dropWarrants forgets warrants that were not asked for and have expired.
func (h *Handover) dropWarrants() {
	now := h.o.Now()
	h.mu.Lock()
	var late []*flight
	for _, f := range h.underWay {
		f.mu.Lock()
		if f.handed.Warrant != "" && !now.Before(f.handed.ReportBy) {
			late = append(late, f)
		}
		f.mu.Unlock()
	}
	h.mu.Unlock()
	for _, f := range late {
		h.dropFlight(f)
	}
}

// newHanding is the proposal as the checkpoint takes it.
func (h *Handover) newHanding(f *flight) sentinel.Handing {
	p := &f.proposal
	f.mu.Lock()
	grant := f.grant
	f.mu.Unlock()
	lifetime := h.o.Grace
	if s, ok := h.o.Checkpoint.Registry().Get(p.Skill); ok {
		lifetime = min(lifetime+s.Spec().Timeout, maxLifetime)
	}
	if p.Forwarding != nil {
		return newForwarding(h, f, grant)
	}
	return sentinel.Handing{
		ID: f.id, Grant: grant, Skill: p.Skill, Args: p.Arguments, History: listHistory(p.History), Lifetime: lifetime,
		Elsewhere: h.o.Skills.Allows, OnHeld: f.onHeld,
		AwaitCaller: func(ctx context.Context) (sentinel.Grant, error) { return f.awaitCaller(ctx, h.o.Now) },
		Seal: func(c sentinel.Call, s sentinel.Seal) (string, error) {
			return h.o.Tokens.Token(warrant.Claims{
				Audience: p.Principal, ID: s.ID, Digest: c.Digest(), Skill: c.Name(), CallID: f.id, Body: warrant.BodyDigest([]byte(c.Args())),
				User: c.Grant().User(), Conversation: c.Grant().Conversation(), IssuedAt: s.Issued, Expires: s.Expires,
			})
		},
	}
}

// listHistory is a history as the checkpoint takes it.
func listHistory(list []Result) []sentinel.Step {
	var out []sentinel.Step
	for i, r := range list {
		out = append(out, sentinel.Step{Skill: r.Skill, CallID: fmt.Sprintf("client-%d", i+1), Args: string(r.Arguments), Result: r.Result,
			Trust: skills.Untrusted})
	}
	return out
}

// onHeld notes that a person is asked, or asked again.
func (f *flight) onHeld(d sentinel.Decision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked.ID == "" {
		close(f.held)
	}
	f.asked = d
	f.setPending(true)
}

// setPending says whether an answer is waited for. The caller holds the lock.
func (f *flight) setPending(pending bool) {
	if f.pending != pending {
		f.pending = pending
		close(f.changed)
		f.changed = make(chan struct{})
	}
}

// awaitCaller waits until a caller asks for the call, which a person has approved. It waits until the
// question would have expired, and for a minute at least.
func (f *flight) awaitCaller(ctx context.Context, now func() time.Time) (sentinel.Grant, error) {
	f.mu.Lock()
	f.setPending(false)
	limit := max(f.asked.Expires.Sub(now()), collectTime)
	f.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		f.mu.Lock()
		g, here := f.grant, f.waiting > 0
		f.mu.Unlock()
		if here {
			return g, nil
		}
		select {
		case <-f.came:
		case <-ctx.Done():
			return g, context.Cause(ctx)
		case <-timer.C:
			return g, errors.New("its caller did not come back for it")
		}
	}
}

// enter says that a caller waits, until leave. landed reports whether the flight was over by then.
func (f *flight) enter() (landed bool, leave func()) {
	landed = f.hasEnded()
	f.mu.Lock()
	f.waiting++
	f.mu.Unlock()
	select {
	case f.came <- struct{}{}:
	default: // it has not looked since the last one
	}
	return landed, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.waiting--
	}
}

// awaitFlight waits for the end of a flight, and says where its call stands. While a person is asked it
// waits no longer than the proposal says. What ended, or was approved and ends soon, is not pending.
func (h *Handover) awaitFlight(ctx context.Context, f *flight, p *Proposal) (Answer, error) {
	landed, leave := f.enter()
	defer leave()
	var late <-chan time.Time
	over := p.Wait <= 0
	for {
		f.mu.Lock()
		pending, changed := f.pending, f.changed
		f.mu.Unlock()
		switch {
		case f.hasEnded():
			return h.takeAnswer(ctx, f, p, landed)
		case pending && over:
			return f.answerPending(), nil
		case pending && late == nil:
			timer := time.NewTimer(p.Wait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-f.done:
		case <-changed:
		case <-late:
			over = true
		case <-ctx.Done():
			return Answer{}, context.Cause(ctx)
		}
	}
}

// hasEnded reports whether the flight is over.
func (f *flight) hasEnded() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// takeAnswer is the answer of a flight that is over. The first one takes the warrant; where it was left
// lying the rules are asked again.
func (h *Handover) takeAnswer(ctx context.Context, f *flight, p *Proposal, landed bool) (Answer, error) {
	f.mu.Lock()
	handed, err := f.handed, f.err
	mine := err == nil && handed.Warrant != "" && !f.taken && ctx.Err() == nil
	f.taken = f.taken || mine
	f.mu.Unlock()
	switch {
	case err != nil:
		return answerRefused(h, f, p, handed, err)
	case handed.Past != nil:
		return answerRecorded(ctx, h, f.conv, f.id, p.CallID, *handed.Past)
	case !mine && ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case mine && h.o.Now().Before(handed.ReportBy):
		return h.handOut(ctx, f, p, handed, landed)
	}
	h.dropFlight(f) // the warrant was handed out, or has expired
	return h.answerFromRecord(ctx, f, p)
}

// answerFromRecord is the answer of a call whose warrant was handed out, or never will be.
func (h *Handover) answerFromRecord(ctx context.Context, f *flight, p *Proposal) (Answer, error) {
	past, _, err := f.conv.desk.PastCall(ctx, f.id)
	if err != nil {
		return Answer{}, err
	}
	return answerRecorded(ctx, h, f.conv, f.id, p.CallID, past)
}

// handOut gives the warrant to its caller.
func (h *Handover) handOut(ctx context.Context, f *flight, p *Proposal, handed sentinel.Handed, landed bool) (Answer, error) {
	defer h.dropFlight(f)
	f.mu.Lock()
	repeated := f.repeated
	f.mu.Unlock()
	if landed || repeated {
		now, err := newGrant(h.o, p) // of this very caller
		if err != nil {
			return Answer{}, err
		}
		err = f.conv.desk.Recheck(ctx, handed, now)
		if errors.Is(err, sentinel.ErrReported) { // it has its end
			return h.answerFromRecord(ctx, f, p)
		}
		if err != nil {
			f.conv.dropHanded(f.id)
			return answerRefused(h, f, p, handed, err)
		}
	}
	a := Answer{ID: f.id, State: Allowed, DecisionID: handed.Decision.ID, Warrant: handed.Warrant,
		Arguments: json.RawMessage(handed.Call.Args()), Expires: &handed.ReportBy}
	line := handed.Decision.Line(p.CallID)
	a.Decision, a.Approval = &line, approvalOf(handed.Decision)
	if m, ok := handed.Call.Modified(); ok {
		a.Note = m.Note()
	}
	return a, nil
}
