package orchestrator

import (
	"slices"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// countPending is how many requests have no answer yet.
func (v *conversation) countPending() int {
	if v.turn == nil {
		return len(v.queue)
	}
	return len(v.queue) + 1
}

// checkOwner refuses every user but the one who opened the conversation. Where the history
// has lost its owner it refuses all.
func (v *conversation) checkOwner(user string) error {
	if v.orphan {
		return ErrOrphaned
	}
	if user != v.user {
		return ErrOtherUser
	}
	return nil
}

// onRequest begins a request, puts it in line, or lets its caller wait for one that is
// here.
func (v *conversation) onRequest(c *otp.Context, m sendRequest, from otp.From) {
	if err := v.checkOwner(m.User); err != nil {
		from.Reply(nil, err)
		return
	}
	w := waiter{m.Token, from, m.Stays, m.Credit}
	defer v.lendCredits()
	if text, list := v.findRequest(m.ID); list != nil {
		if text != m.Text {
			from.Reply(nil, ErrOtherText)
			return
		}
		*list = append(*list, w)
		return
	}
	if err := v.ending.refuseIfEnding(); err != nil {
		from.Reply(nil, err)
		return
	}
	q := queuedRequest{m, []waiter{w}}
	if v.turn == nil {
		v.beginRequest(c, q)
		return
	}
	if len(v.queue) >= maxQueued {
		from.Reply(nil, v.newBusyError(len(v.queue)))
		return
	}
	v.queue = append(v.queue, q)
}

// findRequest returns who waits for the request of that id, nil if it is not here.
func (v *conversation) findRequest(id string) (text string, list *[]waiter) {
	if v.turn != nil && v.turn.opened.Request == id && v.turn.phase != phaseClosing {
		return v.turn.request, &v.turn.waiters
	}
	for i := range v.queue {
		if v.queue[i].req.ID == id {
			return v.queue[i].req.Text, &v.queue[i].waiters
		}
	}
	return "", nil
}

// onAttach lets a caller wait for a request that is worked on. For another request the
// caller gets errNotHere.
func (v *conversation) onAttach(m attach, from otp.From) {
	err := v.checkOwner(m.User)
	_, list := v.findRequest(m.ID)
	switch {
	case err != nil:
		from.Reply(nil, err)
	case list == nil && v.turn != nil && v.turn.opened.Request == m.ID:
		v.turn.waiters = append(v.turn.waiters, waiter{m.Token, from, true, m.Credit}) // it is being written down
	case list == nil:
		from.Reply(nil, errNotHere)
	default:
		*list = append(*list, waiter{m.Token, from, true, m.Credit})
		v.lendCredits()
	}
}

// onCallerLeft takes a caller off. It stops a request that no caller waits for any
// more, unless one of its callers wanted the request finished. After a crash, v.abandoned
// names the requests whose callers had left and not come back.
func (v *conversation) onCallerLeft(c *otp.Context, m cancelTurn) {
	_, list := v.findRequest(m.ID)
	if list == nil {
		if v.turn == nil || v.turn.opened.Request != m.ID {
			v.abandoned.dropRequest(v.id, m.ID) // nothing is worked on, and it doesn't come again
		} else {
			v.turn.waiters = slices.DeleteFunc(v.turn.waiters, func(w waiter) bool { return w.stays && w.token == m.Token })
		}
		return
	}
	stop := v.abandoned.hasRequest(v.id, m.ID)
	if i := slices.IndexFunc(*list, func(w waiter) bool { return w.token == m.Token }); i >= 0 {
		stop = !(*list)[i].stays
		*list = slices.Delete(*list, i, i+1)
	}
	if !stop || len(*list) > 0 {
		return
	}
	for i, q := range v.queue {
		if q.req.ID == m.ID {
			v.queue = slices.Delete(v.queue, i, i+1)
			v.abandoned.dropRequest(v.id, m.ID)
			return
		}
	}
	v.turn.finishTurn(c, "", ErrCancelled)
}

// lendCredits lends the credits of requests whose turn waits for people. It lends one for
// each request, so the conversation's queue bounds their number.
func (v *conversation) lendCredits() {
	if v.turn == nil || !v.turn.away {
		return
	}
	v.eachCredit((*admission.Credit).Lend)
}

// reclaimCredits takes them back.
func (v *conversation) reclaimCredits() { v.eachCredit((*admission.Credit).Reclaim) }

// eachCredit does the same to one credit of each request.
func (v *conversation) eachCredit(do func(*admission.Credit)) {
	if v.turn != nil && len(v.turn.waiters) > 0 {
		do(v.turn.waiters[0].credit)
	}
	for _, q := range v.queue {
		if len(q.waiters) > 0 {
			do(q.waiters[0].credit)
		}
	}
}

// newBusyError refuses a request that finds the conversation's queue full.
func (v *conversation) newBusyError(ahead int) *OverloadedError {
	if v.turn != nil && v.turn.away {
		return v.pools.turns.Held("requests")
	}
	return v.pools.turns.Busy("requests", ahead)
}

// refuseQueued answers the requests that were not begun when a drain began.
func (v *conversation) refuseQueued(err error) {
	for _, q := range v.queue {
		for _, w := range q.waiters {
			w.from.Reply(nil, err)
		}
	}
	v.queue = nil
}

// cancelRequest stops a request, for all who wait for it.
func (v *conversation) cancelRequest(c *otp.Context, m cancelRequest) error {
	if err := v.checkOwner(m.User); err != nil {
		return err
	}
	if v.turn != nil && v.turn.opened.Request == m.ID {
		v.turn.finishTurn(c, "", ErrCancelled)
		return nil
	}
	for i, q := range v.queue {
		if q.req.ID == m.ID {
			v.queue = slices.Delete(v.queue, i, i+1)
			for _, w := range q.waiters {
				w.from.Reply(requestResult{err: ErrCancelled}, nil)
			}
			return nil
		}
	}
	return errNotHere
}

// onForgetAll ends the process, since what is kept of the conversation is about to be
// purged. Its callers get ErrCancelled. What the turn still writes down is refused or purged.
func (v *conversation) onForgetAll(c *otp.Context, m forgetAll) {
	if m.User != "" && m.User != v.user {
		c.Reply(false, nil)
		return
	}
	for _, q := range v.early {
		q.from.Reply(nil, ErrCancelled)
	}
	v.early = nil
	for _, q := range v.queue {
		for _, w := range q.waiters {
			w.from.Reply(requestResult{err: ErrCancelled}, nil)
		}
	}
	v.queue = nil
	if t := v.turn; t != nil {
		for _, w := range t.waiters {
			w.from.Reply(requestResult{err: ErrCancelled}, nil)
		}
		t.waiters = nil
		t.stopAgents()
		t.giveBackPlaces()
		v.spending.forgetTurn(c.Context(), t.id, t.desk.Grant())
	}
	v.events.forgetEvents()
	c.Reply(true, nil)
	v.goToRest(c)
}
