package orchestrator

import (
	"slices"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// pending is how many requests have no answer yet.
func (v *conversation) pending() int {
	if v.turn == nil {
		return len(v.queue)
	}
	return len(v.queue) + 1
}

// check refuses everybody but the user who opened the conversation, and all of
// them where its history has lost its owner.
func (v *conversation) check(user string) error {
	if v.orphan {
		return errOrphaned
	}
	if user != v.user {
		return errOtherUser
	}
	return nil
}

func (v *conversation) received(c *otp.Context, m sendRequest, from otp.From) {
	if err := v.check(m.User); err != nil {
		from.Reply(nil, err)
		return
	}
	w := waiter{m.Token, from, m.Stays, m.Credit}
	defer v.lendRequests()
	if text, list := v.find(m.ID); list != nil {
		if text != m.Text {
			from.Reply(nil, errOtherText)
			return
		}
		*list = append(*list, w)
		return
	}
	if err := v.o.admits(); err != nil {
		from.Reply(nil, err)
		return
	}
	q := queued{m, []waiter{w}}
	if v.turn == nil {
		v.begin(c, q)
		return
	}
	if len(v.queue) >= maxQueued {
		from.Reply(nil, v.busy(len(v.queue)))
		return
	}
	v.queue = append(v.queue, q)
}

// find returns who waits for the request of that id, nil if it is not here.
func (v *conversation) find(id string) (text string, list *[]waiter) {
	if v.turn != nil && v.turn.opened.Request == id && v.turn.phase != closing {
		return v.turn.request, &v.turn.waiters
	}
	for i := range v.queue {
		if v.queue[i].req.ID == id {
			return v.queue[i].req.Text, &v.queue[i].waiters
		}
	}
	return "", nil
}

// attached lets a caller wait for a request that is worked on; it is answered
// with errNotHere for one that is not.
func (v *conversation) attached(m attach, from otp.From) {
	err := v.check(m.User)
	_, list := v.find(m.ID)
	switch {
	case err != nil:
		from.Reply(nil, err)
	case list == nil && v.turn != nil && v.turn.opened.Request == m.ID:
		v.turn.waiters = append(v.turn.waiters, waiter{m.Token, from, true, m.Credit}) // it is being written down
	case list == nil:
		from.Reply(nil, errNotHere)
	default:
		*list = append(*list, waiter{m.Token, from, true, m.Credit})
		v.lendRequests()
	}
}

// cancelled takes a caller off. It stops a request that no caller waits for any
// more, unless one of its callers wanted the request finished. After a crash, o.left
// names the requests whose callers had left and not come back.
func (v *conversation) cancelled(c *otp.Context, m cancelTurn) {
	_, list := v.find(m.ID)
	if list == nil {
		if v.turn == nil || v.turn.opened.Request != m.ID {
			v.o.left.drop(v.id, m.ID) // nothing is worked on, and it doesn't come again
		} else {
			v.turn.waiters = slices.DeleteFunc(v.turn.waiters, func(w waiter) bool { return w.stays && w.token == m.Token })
		}
		return
	}
	stop := v.o.left.has(v.id, m.ID)
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
			v.o.left.drop(v.id, m.ID)
			return
		}
	}
	v.turn.end(c, "", ErrCancelled)
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

// refuseQueued answers the requests that were not begun when a drain began.
func (v *conversation) refuseQueued(err error) {
	for _, q := range v.queue {
		for _, w := range q.waiters {
			w.from.Reply(nil, err)
		}
	}
	v.queue = nil
}
