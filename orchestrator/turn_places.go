package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Held work holds no places. An agent whose call waits for a person gives its
// place back at once. A turn does when all that is under way in it waits for
// people, and with it go the credits of the requests that wait for it. Whatever
// goes on afterwards takes the places again first: the turn's, then the agent's,
// in line with everybody else, as work that was accepted. See
// docs/decisions/0009-held-work.md.

// placesWanted asks the conversation for the places of the turn's own grant, or
// of an agent's and its turn's. The answer comes when they are there.
type placesWanted struct {
	grant string
	over  bool // the call has ended: the clocks run again
}

// want is a call, or an agent, that goes on when it has its places.
type want struct {
	k    *member  // nil for the turn's own call
	from otp.From // none where no call waits
	over bool
}

// placesTime is how long one question for places may stay unanswered before it
// is asked again: otp.Call wants a bound, the wait has none.
const placesTime = time.Minute

// heldMark is how a call learns that a person was asked about it, without a
// question to its conversation for each call that wasn't.
type heldMark struct{ held, back atomic.Bool }

type heldKey struct{}

func markOf(ctx context.Context) *heldMark {
	if ctx == nil {
		return nil
	}
	m, _ := ctx.Value(heldKey{}).(*heldMark)
	return m
}

// markHeld notes that a person is being asked.
func markHeld(ctx context.Context) {
	if m := markOf(ctx); m != nil {
		m.held.Store(true)
		m.back.Store(false)
	}
}

// placedDesk is a desk whose calls have their places when they return.
type placedDesk struct {
	*sentinel.Desk
	o     *Orchestrator
	inner invoker
}

// placed returns the desk as a turn or an agent uses it.
func (o *Orchestrator) placed(d *sentinel.Desk, parent telemetry.Span) invoker {
	return placedDesk{d, o, o.traced(d, parent)}
}

// Invoke implements agents.Invoker. After a denial or a panic, too, the model is
// asked only once the places are back. Without them the caller has ended anyway.
func (d placedDesk) Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error) {
	m := &heldMark{}
	defer func() {
		if m.held.Load() && !m.back.Load() {
			_ = d.o.wantPlaces(ctx, d.Grant(), true)
		}
	}()
	return d.inner.Invoke(context.WithValue(ctx, heldKey{}, m), skill, args)
}

// readmit is sentinel.Options.Readmit: it returns when the approved call's turn
// and agent have their places. A call of no conversation has none to wait for.
func (o *Orchestrator) readmit(ctx context.Context, c sentinel.Call) error {
	m := markOf(ctx)
	if m == nil {
		return nil
	}
	if err := o.wantPlaces(ctx, c.Grant(), false); err != nil {
		return err
	}
	m.back.Store(true)
	return nil
}

// wantPlaces waits in the call's own goroutine until its conversation says that
// the places are there. It ends with ctx, or when the turn is gone.
func (o *Orchestrator) wantPlaces(ctx context.Context, g sentinel.Grant, over bool) error {
	for {
		pid, ok := o.sys.Whereis(serverName(g.Conversation()))
		if !ok {
			return errGone
		}
		asking, cancel := context.WithTimeout(ctx, placesTime)
		_, err := otp.Call(asking, pid, placesWanted{g.ID(), over})
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, otp.ErrTimeout):
			return err
		}
	}
}

// wantPlaces takes the question of a call of this turn. One of a turn that is
// over comes too late.
func (v *conversation) wantPlaces(c *otp.Context, m placesWanted) {
	t := v.turn
	switch {
	case t != nil && t.phase == closing:
		c.Reply(nil, errWithdrawn)
		return
	case t == nil || t.phase != working:
		c.Reply(nil, errGone)
		return
	}
	if t.desk.Grant().ID() == m.grant {
		t.need(c, want{from: c.From(), over: m.over})
		return
	}
	for _, k := range t.members {
		if k.desk.Grant().ID() == m.grant && k.agent != nil && !k.current().Done() {
			t.need(c, want{k, c.From(), m.over})
			return
		}
	}
	c.Reply(nil, errGone)
}

// need puts one in line for its places. A turn, or an agent, waits for one call
// at a time: a later question takes the place of the one before.
func (t *turn) need(c *otp.Context, w want) {
	placed := false
	for i, old := range t.wants {
		if old.k != w.k {
			continue
		}
		if placed = true; w.from.Valid() {
			t.wants[i] = w
		}
	}
	if !placed {
		t.wants = append(t.wants, w)
	}
	t.regain(c)
	t.serve(c)
}

// regain takes the turn's place again, or gets in line for it.
func (t *turn) regain(c *otp.Context) {
	if t.away && t.phase == working && t.seat.task == 0 &&
		t.seat.take(c, t.o.doors.turns, admission.Ask{User: t.v.user, Life: t.life, Accepted: true}) {
		t.comeBack(c, nil)
	}
}

// comeBack goes on with a turn that has its place again. Only a broken wait can
// fail here: then the turn breaks off.
func (t *turn) comeBack(c *otp.Context, err error) {
	if err != nil {
		t.end(c, "", ErrInterrupted)
		return
	}
	t.away = false
	t.v.reclaimRequests()
	t.serve(c)
	t.release(c)
}

// serve lets those go on that have their places, and gets the others in line.
func (t *turn) serve(c *otp.Context) {
	if t.away {
		return
	}
	list := t.wants
	t.wants = nil
	for _, w := range list {
		k := w.k
		switch {
		case k == nil:
			t.parked, t.holds = false, false
			w.from.Reply(nil, nil)
		case k.current().Done():
			w.from.Reply(nil, errWithdrawn)
		case k.seat.credit != nil,
			k.seat.task == 0 && k.seat.take(c, t.o.doors.agents, admission.Ask{User: t.v.user, Life: t.life, Accepted: true}):
			k.comeBack(w)
		default:
			t.wants = append(t.wants, w)
		}
	}
}

// reseated takes the end of an agent's wait for its place. One whose wait broke
// can't go on.
func (t *turn) reseated(c *otp.Context, k *member, err error) {
	if err != nil {
		t.cancel(c, k, "the agent found no place to go on")
		return
	}
	t.serve(c)
}

// comeBack goes on with an agent that has its place again.
func (k *member) comeBack(w want) {
	k.away, k.parked = false, false
	if w.over {
		k.release()
	}
	for _, msg := range k.later {
		k.send(msg)
	}
	k.later = nil
	w.from.Reply(nil, nil)
}

// stepAside gives an agent's place back.
func (k *member) stepAside() {
	k.seat.leave()
	k.away = true
}

// settle gives back what is held for nothing: the place of a turn of which all
// that is under way waits for people, and the wait of an agent that has ended.
func (t *turn) settle() {
	asked := t.parked
	for _, k := range t.members {
		asked = asked || k.parked
		if k.seat.task != 0 && k.current().Done() {
			k.seat.leave()
		}
	}
	if !asked || t.away || t.seat.credit == nil || !t.waitsForPeople() {
		return
	}
	t.away = true
	t.seat.leave()
	for _, k := range t.members {
		if k.seat.credit != nil { // it waits for its orchestrator, which waits for a person
			k.stepAside()
		}
	}
	t.v.lendRequests()
}

// waitsForPeople reports whether somebody is asked, and nothing else is under
// way: no question to a model, no call that runs, no agent at work or in line.
func (t *turn) waitsForPeople() bool {
	if t.phase != working || len(t.wants) > 0 || t.busy && !t.parked || !t.busy && t.wait == nil {
		return false
	}
	asked := t.parked
	for _, k := range t.members {
		switch {
		case k.seat.task != 0:
			return false
		case k.agent == nil || k.current().Done():
		case k.parked:
			asked = true
		case k.wants() == nil:
			return false
		}
	}
	return asked
}

// dropWants tells calls of a turn that ends that they get no places any more.
// They learn it before their agents do, so they are told that it is for good.
func (t *turn) dropWants() {
	for _, w := range t.wants {
		w.from.Reply(nil, errWithdrawn)
	}
	t.wants = nil
	if t.away {
		t.seat.leave()
	}
}

// lendRequests gives others the places of the requests that wait for a turn
// that waits for people: one for each request, so that their number stays
// bounded by the conversation's queue.
func (v *conversation) lendRequests() {
	if v.turn == nil || !v.turn.away {
		return
	}
	v.eachRequest((*admission.Credit).Lend)
}

// reclaimRequests takes them back.
func (v *conversation) reclaimRequests() { v.eachRequest((*admission.Credit).Reclaim) }

func (v *conversation) eachRequest(do func(*admission.Credit)) {
	if v.turn != nil && len(v.turn.waiters) > 0 {
		do(v.turn.waiters[0].credit)
	}
	for _, q := range v.queue {
		if len(q.waiters) > 0 {
			do(q.waiters[0].credit)
		}
	}
}

// busy refuses a request that finds the conversation's queue full.
func (v *conversation) busy(ahead int) *OverloadedError {
	if v.turn != nil && v.turn.away {
		return v.o.doors.turns.Held("requests")
	}
	return v.o.doors.turns.Busy("requests", ahead)
}
