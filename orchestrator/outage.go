package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/history"
)

// What happens to a turn whose end can't be written down, because the store is
// down: its callers are told ErrNotKept, its process ends, and the journal has
// a request under way. That is right: when the store is back, a process reads
// the journal and goes on with the request, as it would after a crash. The
// recovery wakes it unless somebody who sends is faster.
//
// It is not right for a request that nobody wants finished, or whose caller was
// told another end. Those are given up when they are read, and until then this
// process remembers them.

// retryOutage is how often a conversation is woken whose store was down.
const retryOutage = 500 * time.Millisecond

// firstRetry is how long an agent waits before it writes again; each further
// wait is twice as long, up to retryOutage.
const firstRetry = 10 * time.Millisecond

// unwritten ends a process that can't tell any more what the journal holds.
func (v *conversation) unwritten(c *otp.Context, t *turn) {
	if !t.wanted() {
		v.o.unwanted.Store(t.id, struct{}{})
	}
	if t.outage {
		v.o.outages.broke(v.id) // it is not the request's fault
	}
	v.refuseQueued(ErrNotKept)
	v.o.log.Error("a request waits for the database to come back", "conversation", v.id, "turn", t.id)
	v.o.again(v.id, v.user)
	c.Stop(otp.Normal())
}

// breakOff leaves a turn as the journal has it. Its agents end with its process.
// Its counts stay, as they do after a crash: it is the same turn that goes on.
func (t *turn) breakOff(c *otp.Context) {
	t.phase, t.err, t.unkept, t.outage, t.wait = closing, ErrNotKept, true, true, nil
	t.v.over(c, t)
}

// keep writes what an agent did. While the store is down it tries again, for as
// long as ctx lets it: the agent's own time. An agent that waits loses nothing
// by it, and one that is ended for it would lose all it did. What was kept
// although it was not known may be written twice; saved.take knows.
func (j agentJournal) keep(ctx context.Context, items ...history.Item) error {
	o, wait := j.t.o, firstRetry
	for {
		err := o.kept.Add(ctx, j.about(), items...)
		if !history.Down(err) {
			return err
		}
		if wait == firstRetry {
			o.log.Error("an agent waits for the database to come back", "conversation", j.about().Conversation, "agent", j.k.args.AgentID)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
		wait = min(2*wait, retryOutage)
	}
}

// wanted reports whether the request is to be gone on with: not one that was
// stopped, failed, or was sent by callers who have now been told that it did
// and asked for no more.
func (t *turn) wanted() bool {
	if !errors.Is(t.err, ErrNotKept) {
		return false
	}
	for _, w := range t.waiters {
		if w.stays {
			return true
		}
	}
	return len(t.waiters) == 0
}

// again asks the recovery to wake a conversation.
func (o *Orchestrator) again(id, user string) {
	if pid, ok := o.sys.Whereis("recovery"); ok {
		pid.Send(wake{history.Conversation{ID: id, User: user}})
	}
}

// givenUp ends a turn that nobody wants any more. It reports false for others.
func (o *Orchestrator) givenUp(ctx context.Context, about history.Turn) (bool, error) {
	if _, ok := o.unwanted.Load(about.Turn); !ok {
		return false, nil
	}
	err := o.lost(ctx, about)
	if err == nil {
		o.unwanted.Delete(about.Turn)
	}
	return true, err
}

type (
	wake  struct{ row history.Conversation }
	retry struct{}
)

// recovery is the process that wakes conversations with a request under way:
// at the start of the program all of them, later those whose store was down.
// Each goes on with its request by itself. A restart of the recovery looks for
// them anew, so it loses nothing.
type recovery struct {
	o       *Orchestrator
	waiting []history.Conversation
	tasks   map[otp.Ref]history.Conversation
	finding otp.Ref
}

// Init begins to look for them.
func (r *recovery) Init(c *otp.Context) error {
	r.tasks = map[otp.Ref]history.Conversation{}
	r.find(c)
	return nil
}

func (r *recovery) find(c *otp.Context) {
	r.finding = c.Async(time.Minute, func(ctx context.Context) (any, error) { return r.o.kept.Unfinished(ctx) })
}

// Handle wakes a few at the same time, and again later what could not be.
func (r *recovery) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case otp.TaskResult:
		if m.Ref == r.finding {
			r.found(c, m)
			return
		}
		row := r.tasks[m.Ref]
		delete(r.tasks, m.Ref)
		if errors.Is(m.Err, ErrNotKept) || errors.Is(m.Err, ErrOverloaded) { // not yet
			c.SendAfter(retryOutage, wake{row})
			return
		}
		if m.Err != nil && !r.o.ending() {
			r.o.log.Warn("a request could not be gone on with; it is tried again when the conversation is used", "conversation", row.ID, "error", m.Err)
		}
	case wake:
		if !r.queued(m.row.ID) {
			r.waiting = append(r.waiting, m.row)
		}
	case retry:
		r.find(c)
	case breakdown:
		panic(errEnded)
	}
	r.next(c)
}

// queued reports whether the conversation stands in line already.
func (r *recovery) queued(id string) bool {
	for _, row := range r.waiting {
		if row.ID == id {
			return true
		}
	}
	return false
}

func (r *recovery) found(c *otp.Context, m otp.TaskResult) {
	list, ok := m.Value.([]history.Conversation)
	if !ok {
		r.o.log.Error("the requests to go on with can't be found yet", "error", m.Err)
		c.SendAfter(retryOutage, retry{})
		return
	}
	r.waiting = append(r.waiting, list...)
	r.next(c)
}

// waking is how many conversations are woken at the same time.
const waking = 8

func (r *recovery) next(c *otp.Context) {
	for len(r.waiting) > 0 && len(r.tasks) < waking && !r.o.ending() {
		row := r.waiting[0]
		r.waiting = r.waiting[1:]
		conv := &Conversation{r.o, ConversationOptions{ID: row.ID, User: row.User}}
		ref := c.Async(time.Minute, func(ctx context.Context) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return conv.call(ctx, claim{row.User})
		})
		r.tasks[ref] = row
	}
}

// Terminate has nothing to release.
func (r *recovery) Terminate(*otp.Context, otp.Reason) {}
