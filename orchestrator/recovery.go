package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/history"
)

// A turn whose end can't be written down, because the store is down, ends as
// follows. The turn's callers get ErrNotKept, its process ends, and the journal has
// a request under way. That is right: once the store is back, a process goes on with
// the request, as after a crash. The recovery wakes the conversation unless a caller
// sends first.
//
// It is not right for a request that no caller wants finished, or whose caller was
// told another end. A process gives up such a request when it reads the journal.
// Until then this process remembers the request.

// retryOutage is how often a conversation is woken whose store was down.
const retryOutage = 500 * time.Millisecond

type (
	wakeRequest struct {
		row          history.Conversation
		ifUnfinished bool // only if the journal has a request under way
	}
	searchAgain struct{}
)

// recovery is the process that wakes conversations with a request under way. At the start
// of the program it wakes all of them. Later it wakes those whose store was down and those
// whose processes ended with their work undone. Each goes on with its request by itself.
// One that can't be woken is tried again until it can, and every minute the journal is
// looked through for what else may have been left. A restart of the recovery looks too, so
// it loses nothing.
type recovery struct {
	restorer *restorer
	// wake asks for the conversation's process, which then goes on by itself.
	wake    func(ctx context.Context, id, user string) error
	waiting []wakeRequest
	tasks   map[otp.Ref]wakeRequest
	finding otp.Ref
}

// defaultLook is how often the journal is looked through.
const defaultLook = time.Minute

// Init begins to look for them.
func (r *recovery) Init(c *otp.Context) error {
	r.tasks = map[otp.Ref]wakeRequest{}
	r.findUnfinished(c)
	return nil
}

// findUnfinished begins to look through the journal.
func (r *recovery) findUnfinished(c *otp.Context) {
	r.finding = c.Async(time.Minute, func(ctx context.Context) (any, error) { return r.restorer.journal.Unfinished(ctx) })
}

// Handle wakes a few at the same time, and again later what could not be.
func (r *recovery) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case otp.TaskResult:
		if m.Ref == r.finding {
			r.onUnfinishedFound(c, m)
			return
		}
		r.onWoken(c, m)
	case wakeRequest:
		if !r.isQueued(m.row.ID) {
			r.waiting = append(r.waiting, m)
		}
	case searchAgain:
		r.findUnfinished(c)
	case breakdown:
		panic(errEnded)
	}
	r.wakeNext(c)
}

// onWoken takes the end of one attempt. Whatever was accepted is tried again, for
// as long as it takes: there may be no room yet, or no store, or its processes
// just came and went.
func (r *recovery) onWoken(c *otp.Context, m otp.TaskResult) {
	w, ok := r.tasks[m.Ref]
	delete(r.tasks, m.Ref)
	switch {
	case !ok || m.Err == nil || r.restorer.ending.isEnding():
		return
	case errors.Is(m.Err, ErrRequest): // it is another user's
		return
	case !errors.Is(m.Err, ErrNotKept) && !errors.Is(m.Err, ErrOverloaded):
		r.restorer.log.Warn("a request could not be gone on with yet", "conversation", w.row.ID, "error", m.Err)
	}
	c.SendAfter(retryOutage, w)
}

// isQueued reports whether the conversation stands in line already.
func (r *recovery) isQueued(id string) bool {
	return slices.ContainsFunc(r.waiting, func(w wakeRequest) bool { return w.row.ID == id })
}

// onUnfinishedFound puts the conversations in line that the journal names.
func (r *recovery) onUnfinishedFound(c *otp.Context, m otp.TaskResult) {
	list, ok := m.Value.([]history.Conversation)
	if !ok {
		r.restorer.log.Error("the requests to go on with can't be found yet", "error", m.Err)
		c.SendAfter(retryOutage, searchAgain{})
		return
	}
	for _, row := range list { // one whose process is there needs no waking
		if _, up := c.System().Whereis(serverName(row.ID)); !up && !r.isQueued(row.ID) {
			r.waiting = append(r.waiting, wakeRequest{row: row, ifUnfinished: true})
		}
	}
	c.SendAfter(r.restorer.tune.look, searchAgain{})
	r.wakeNext(c)
}

// waking is how many conversations are woken at the same time.
const waking = 8

// wakeNext wakes those in line, a few at the same time.
func (r *recovery) wakeNext(c *otp.Context) {
	for len(r.waiting) > 0 && len(r.tasks) < waking && !r.restorer.ending.isEnding() {
		w := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.tasks[c.Async(time.Minute, func(ctx context.Context) (any, error) { return r.wakeConversation(ctx, w) })] = w
	}
}

// Terminate has nothing to release.
func (r *recovery) Terminate(*otp.Context, otp.Reason) {}

// wakeConversation starts a conversation's process. With ifUnfinished set it does so only if
// a request is under way. Its first result is always nil, as a task has one.
func (r *recovery) wakeConversation(ctx context.Context, w wakeRequest) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if w.ifUnfinished {
		row, ok, err := r.restorer.journal.Get(ctx, w.row.ID)
		if err != nil || !ok || row.Turn == "" {
			return nil, err
		}
		w.row = row
	}
	return nil, r.wake(ctx, w.row.ID, w.row.User)
}
