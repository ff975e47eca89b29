package handover

import (
	"context"
)

// Decide begins a call as Propose does, for a caller that leaves at once. The channel is closed when it
// is decided, and its warrant, if any, lies there.
func (h *Handover) Decide(ctx context.Context, p Proposal) (<-chan struct{}, error) {
	g, err := newGrant(h.o, &p)
	if err != nil {
		return nil, err
	}
	conv, err := h.openConversation(ctx, g)
	if err != nil {
		return nil, err
	}
	defer h.leaveConversation(conv)
	f, err := h.joinFlight(conv, &p, g)
	if err != nil {
		return nil, err
	}
	return f.done, nil
}
