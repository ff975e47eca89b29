package handover

import (
	"context"
)

// MaxLifetime is how long a call may take to be reported at most.
const MaxLifetime = maxLifetime

// SetShare sets how many calls of a principal may be under way.
func (h *Handover) SetShare(n int) { h.o.MaxOfPrincipal = n }

// Decide begins a call as Propose does, for a caller that leaves at once. The channel is closed when it
// is decided, and its warrant, if any, lies there.
func (h *Handover) Decide(ctx context.Context, p Proposal) (<-chan struct{}, error) {
	f, err := h.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	return f.done, nil
}

// Collect is Decide for a caller that leaves once the call is decided.
func (h *Handover) Collect(ctx context.Context, p Proposal) error {
	f, err := h.begin(ctx, p)
	if err != nil {
		return err
	}
	_, leave := f.enter()
	defer leave()
	<-f.done
	return nil
}

func (h *Handover) begin(ctx context.Context, p Proposal) (*flight, error) {
	g, err := newGrant(h.o, &p)
	if err != nil {
		return nil, err
	}
	conv, err := h.openConversation(ctx, g)
	if err != nil {
		return nil, err
	}
	defer h.leaveConversation(conv)
	return h.joinFlight(conv, &p, g)
}

// CountInMemory counts the conversations of a user that are in memory.
func (h *Handover) CountInMemory(user string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conversations {
		if c.user == user {
			n++
		}
	}
	return n
}
