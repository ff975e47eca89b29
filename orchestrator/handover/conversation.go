package handover

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// conversation is a principal's conversation for a user, with what was reported in it.
type conversation struct {
	id      string
	user    string
	endless bool // its calls are forwarded: it forgets the oldest, and is never full
	seen    occurrences
	purged  bool // it is dropped once no caller works with it
	desk    *sentinel.RemoteDesk
	inUse   int   // callers that work with it, and calls under way
	used    int64 // when it was used last, on the Handover's clock
	loading sync.Mutex
	loaded  bool

	mu     sync.Mutex
	all    *handedList          // of the whole Handover
	handed map[string]time.Time // until when calls are to be reported
	calls  int                  // that were decided
	begun  int                  // that are under way
}

// beginCall counts a call that begins its way. It reports false where the conversation would hold too
// many then; one that is known already may always.
func (c *conversation) beginCall(known bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !known && !c.endless && c.calls+c.begun >= maxCalls {
		return false
	}
	c.begun++
	return true
}

// endCall counts a call whose way is over, and whether it was decided.
func (c *conversation) endCall(decided bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun--
	if decided {
		c.calls++
	}
}

// isFull reports whether the conversation holds as much as one may.
func (c *conversation) isFull() bool {
	if c.endless {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	trace, size := c.desk.Trace(), 0
	for i := range trace.Len() {
		s := trace.Step(i)
		size += len(s.Args) + len(s.Result)
	}
	return c.calls+c.begun >= maxCalls || size >= maxBytes
}

// addHanded notes until when a call is to be reported.
func (c *conversation) addHanded(call handedCall) {
	c.all.add(call)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handed == nil {
		c.handed = map[string]time.Time{}
	}
	c.handed[call.CallID] = call.until
}

// dropHanded forgets a call that has its outcome.
func (c *conversation) dropHanded(id string) {
	c.all.remove(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.handed, id)
}

// listLate returns the calls whose time to report is over.
func (c *conversation) listLate(now time.Time) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, until := range c.handed {
		if !now.Before(until) {
			out = append(out, id)
		}
	}
	return out
}

// openConversation returns the conversation of a grant, read back from the record where it isn't in
// memory. Call leaveConversation when done.
func (h *Handover) openConversation(ctx context.Context, g sentinel.Grant) (*conversation, error) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, ErrClosed
	}
	c := h.conversations[g.Conversation()]
	if c == nil {
		desk, err := h.o.Checkpoint.RemoteDesk(baseGrant(g))
		if err != nil {
			h.mu.Unlock()
			return nil, err
		}
		c = &conversation{id: g.Conversation(), user: g.User(), desk: desk, all: &h.handed, endless: isForwarding(g.Conversation())}
		h.conversations[c.id] = c
		h.evictIdle()
	}
	c.inUse++
	h.used++
	c.used = h.used
	h.mu.Unlock()
	if err := h.load(ctx, c, g); err != nil {
		h.leaveConversation(c)
		return nil, err
	}
	return c, nil
}

// baseGrant is the grant of a conversation's desk: it holds whose the conversation is, and its taint.
func baseGrant(g sentinel.Grant) sentinel.Grant {
	base, _ := sentinel.NewGrant(sentinel.GrantOptions{ // of a grant's own names
		ID: g.Conversation(), User: g.User(), Conversation: g.Conversation(), Agent: g.Agent(), Remote: g.Remote(),
	})
	return base
}

// load reads a conversation back, once. Where that fails the next caller tries again with an empty desk.
func (h *Handover) load(ctx context.Context, c *conversation, g sentinel.Grant) error {
	c.loading.Lock()
	defer c.loading.Unlock()
	if c.loaded {
		return nil
	}
	ids, more, err := h.listCalls(ctx, c, g)
	if err != nil {
		return err
	}
	desk, err := h.o.Checkpoint.RemoteDesk(baseGrant(g))
	if err != nil {
		return err
	}
	if more { // what isn't read back may have been a stranger's text
		desk.Taint()
	}
	open, err := desk.Recall(ctx, ids)
	if err != nil {
		return err
	}
	for _, past := range open {
		if past.IsForwarded() {
			continue
		}
		c.addHanded(handedCall{until: past.ReportBy(), InFlight: sentinel.InFlight{
			CallID: past.CallID, Conversation: c.id, User: g.User(), Agent: g.Agent(), Skill: past.Skill, Remote: g.Remote(),
			Phase: sentinel.PhaseHanded, Since: h.o.Now(), // since when this process knows of it
		}})
	}
	c.desk, c.loaded, c.calls = desk, true, len(ids)
	return nil
}

// listCalls lists the calls that a conversation is read back from. more says that there are others.
func (h *Handover) listCalls(ctx context.Context, c *conversation, g sentinel.Grant) (ids []string, more bool, err error) {
	if c.endless {
		return h.o.Records.NewestCalls(ctx, g.User(), c.id, recalledCalls)
	}
	ids, more, err = h.o.Records.Calls(ctx, g.User(), c.id, maxCalls+h.o.MaxUnderWay) // questions of before may end beyond the bound
	if err == nil && more {
		err = ErrConversationFull
	}
	return ids, false, err
}

// leaveConversation ends the use of a conversation.
func (h *Handover) leaveConversation(c *conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.inUse--
	if c.purged && c.inUse == 0 && h.conversations[c.id] == c {
		delete(h.conversations, c.id)
	}
	h.evictIdle()
}

// Forget drops what is in memory of a user's conversations, or of one, because it is being purged: the next
// call reads back what is still on record. A conversation with calls under way is dropped after the last.
func (h *Handover) Forget(user, conversation string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, c := range h.conversations {
		switch {
		case user != "" && c.user != user, conversation != "" && id != conversation:
		case c.inUse > 0:
			c.purged = true
		default:
			delete(h.conversations, id)
		}
	}
}

// evictIdle drops the conversations that were used longest ago, where there are too many. The lock is
// held.
func (h *Handover) evictIdle() {
	for len(h.conversations) > h.o.MaxConversations {
		var oldest *conversation
		for _, c := range h.conversations {
			if c.inUse == 0 && (oldest == nil || c.used < oldest.used) {
				oldest = c
			}
		}
		if oldest == nil {
			return
		}
		delete(h.conversations, oldest.id)
	}
}

// openOwner opens the conversation of a call that is on record. An empty principal is the program
// itself. ErrUnknownCall: there is none, or it is another principal's.
func (h *Handover) openOwner(ctx context.Context, id, principal string) (*conversation, error) {
	owner, user, conv, ok, err := h.o.Records.Owner(ctx, id)
	if err != nil {
		return nil, err
	}
	if !ok || owner == "" || principal != "" && owner != principal {
		return nil, ErrUnknownCall
	}
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: conv, User: user, Conversation: conv, Agent: DefaultAgent, Remote: owner})
	if err != nil {
		return nil, err
	}
	return h.openConversation(ctx, g)
}
