package orchestrator

import (
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// Held work holds no places. An agent whose call waits for a person gives its
// place back at once. A turn does when all that is under way in it waits for
// people, and with it go the credits of the requests that wait for it. Whatever
// goes on afterwards takes the places again first: the turn's, then the agent's,
// in line with everybody else, as work that was accepted. See
// docs/decisions/0009-held-work.md.

// requestPlace puts one in line for its places. A turn, or an agent, waits for one call
// at a time: a later question takes the place of the one before.
func (t *turn) requestPlace(c *otp.Context, w placeRequest) {
	placed := false
	for i, old := range t.placeRequests {
		if old.k != w.k {
			continue
		}
		if placed = true; w.from.Valid() {
			t.placeRequests[i] = w
		}
	}
	if !placed {
		t.placeRequests = append(t.placeRequests, w)
	}
	t.regainPlace(c)
	t.servePlaceRequests(c)
}

// newAsk asks a pool for a place that comes back with the turn's life.
func (t *turn) newAsk(accepted bool) admission.Ask {
	return admission.Ask{User: t.desk.Grant().User(), Life: t.life, Accepted: accepted}
}

// isAway reports whether there is a turn that has given its place back.
func (t *turn) isAway() bool { return t != nil && t.away }

// regainPlace takes the turn's place again, or gets in line for it.
func (t *turn) regainPlace(c *otp.Context) {
	if t.away && t.phase == phaseWorking && t.place.task == 0 &&
		t.place.takeOrWait(c, t.pools.turns, t.newAsk(true)) {
		t.onPlaceRegained(c, nil)
	}
}

// onPlaceRegained goes on with a turn that has its place again. Only a broken wait can
// fail here: then the turn breaks off.
func (t *turn) onPlaceRegained(c *otp.Context, err error) {
	if err != nil {
		t.finishTurn(c, "", ErrInterrupted)
		return
	}
	t.away = false
	t.servePlaceRequests(c)
	t.startReadyAgents(c)
}

// servePlaceRequests lets those go on that have their places, and gets the others in line.
func (t *turn) servePlaceRequests(c *otp.Context) {
	if t.away {
		return
	}
	list := t.placeRequests
	t.placeRequests = nil
	for _, w := range list {
		k := w.k
		switch {
		case k == nil:
			t.parked, t.holds = false, false
			w.from.Reply(nil, nil)
		case k.currentState().Done():
			w.from.Reply(nil, errWithdrawn)
		case k.place.credit != nil,
			k.place.task == 0 && k.place.takeOrWait(c, t.pools.agents, t.newAsk(true)):
			k.returnToWork(w)
		default:
			t.placeRequests = append(t.placeRequests, w)
		}
	}
}

// onAgentPlaceRegained takes the end of an agent's wait for its place. One whose wait broke
// can't go on.
func (t *turn) onAgentPlaceRegained(c *otp.Context, k *agentRun, err error) {
	if err != nil {
		t.cancelAgent(c, k, "the agent found no place to go on")
		return
	}
	t.servePlaceRequests(c)
}

// giveBackIdlePlaces gives back places that are held for nothing. These are the place of a
// turn that waits for people alone, and the wait of an agent that has ended.
func (t *turn) giveBackIdlePlaces() {
	asked := t.parked
	for _, k := range t.agents {
		asked = asked || k.parked
		if k.place.task != 0 && k.currentState().Done() {
			k.place.giveBack()
		}
	}
	if !asked || t.away || t.place.credit == nil || !t.waitsForPeople() {
		return
	}
	t.away = true
	t.place.giveBack()
	for _, k := range t.agents {
		if k.place.credit != nil { // it waits for its orchestrator, which waits for a person
			k.giveUpPlace()
		}
	}
}

// waitsForPeople reports whether a person is asked, and nothing else is under way.
// Questions to models, running calls, and agents at work or in line are under way.
func (t *turn) waitsForPeople() bool {
	idle := t.loop.Task() == loop.TaskNone
	if t.phase != phaseWorking || len(t.placeRequests) > 0 || !idle && !t.parked || idle && t.wait == nil {
		return false
	}
	asked := t.parked
	for _, k := range t.agents {
		switch {
		case k.place.task != 0:
			return false
		case k.agent == nil || k.currentState().Done():
		case k.parked:
			asked = true
		case k.helpWanted() == nil:
			return false
		}
	}
	return asked
}

// dropPlaceRequests tells calls of a turn that ends that they get no places any more.
// They learn it before their agents do, so they are told that it is for good.
func (t *turn) dropPlaceRequests() {
	for _, w := range t.placeRequests {
		w.from.Reply(nil, errWithdrawn)
	}
	t.placeRequests = nil
	if t.away {
		t.place.giveBack()
	}
}

// giveBackPlaces gives back all that the turn holds.
func (t *turn) giveBackPlaces() {
	t.place.giveBack()
	t.dropPlaceRequests()
	if t.endLife != nil {
		t.endLife()
	}
}

// onPlaceWaitEnd goes on with agents that waited for room.
func (t *turn) onPlaceWaitEnd(c *otp.Context, m otp.TaskResult) {
	if mine, err := t.place.onWaitEnd(m); mine {
		if t.phase == phaseAdmitting {
			t.onAdmission(c, err)
		} else {
			t.onPlaceRegained(c, err)
		}
		return
	}
	for _, k := range t.agents {
		mine, err := k.place.onWaitEnd(m)
		switch {
		case !mine:
			continue
		case k.currentState().Done(): // it was cancelled meanwhile
			k.place.giveBack()
		case k.agent != nil:
			t.onAgentPlaceRegained(c, k, err)
		case err != nil:
			t.failUnstarted(c, k, "there was no room for the agent: too many are at work; dispatch it again later")
		default:
			t.launchAgent(c, k)
			t.startReadyAgents(c) // it may not have come up
		}
		return
	}
}

// takeAgentPlace gets the agent its place, or leaves it pending until there is one.
func (t *turn) takeAgentPlace(c *otp.Context, k *agentRun) bool {
	return k.place.takeOrWait(c, t.pools.agents, t.newAsk(len(k.rounds) > 0))
}
