package orchestrator

import (
	"context"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// Held work holds no places. An agent whose call waits for a person gives its
// place back at once. A turn does when all that is under way in it waits for
// people, and with it go the credits of the requests that wait for it. Whatever
// goes on afterwards takes the places again first: the turn's, then the agent's,
// in line with everybody else, as work that was accepted. See
// docs/decisions/0009-held-work.md.

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

// dismiss gives back all that the turn holds.
func (t *turn) dismiss() {
	t.seat.leave()
	t.dropWants()
	if t.gone != nil {
		t.gone()
	}
}

// seated goes on with agents that waited for room.
func (t *turn) seated(c *otp.Context, m otp.TaskResult) {
	if mine, err := t.seat.came(m); mine {
		if t.phase == admitting {
			t.admitted(c, err)
		} else {
			t.comeBack(c, err)
		}
		return
	}
	for _, k := range t.members {
		mine, err := k.seat.came(m)
		switch {
		case !mine:
			continue
		case k.current().Done(): // it was cancelled meanwhile
			k.seat.leave()
		case k.agent != nil:
			t.reseated(c, k, err)
		case err != nil:
			t.failed(c, k, "there was no room for the agent: too many are at work; dispatch it again later")
		default:
			t.launch(c, k)
			t.release(c) // it may not have come up
		}
		return
	}
}

// room gets the agent its place, or leaves it pending until there is one.
func (t *turn) room(c *otp.Context, k *member) bool {
	return k.seat.take(c, t.o.doors.agents, admission.Ask{User: t.v.user, Life: t.life, Accepted: len(k.rounds) > 0})
}

// seat is a place in a pool that a conversation's process has, or waits for in
// a task of its own.
type seat struct {
	credit *admission.Credit
	task   otp.Ref            // while it waits
	gone   context.CancelFunc // ends the wait, or returns the credit
}
