package api

import (
	"cmp"
	"context"
	"errors"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/handover"
)

// findID returns the id under which what a user calls by name is kept. The errors are those of
// Orchestrator.Conversation.
func (a *API) findID(ctx context.Context, user, name string) (string, error) {
	return access.ConversationID(user, name, func(id string) (string, error) {
		info, err := a.o.Orchestrator.Conversation(ctx, "", id)
		if errors.Is(err, orchestrator.ErrUnknownConversation) {
			return "", nil
		}
		return info.User, err
	})
}

// findListed returns the id by which a list is narrowed to a conversation: that of what the user calls so, where
// there is one, and otherwise the name itself.
func (a *API) findListed(ctx context.Context, user, name string) string {
	if name == "" || user == "" {
		return name
	}
	id, err := a.findID(ctx, user, name)
	if err == nil {
		_, err = a.o.Orchestrator.Conversation(ctx, user, id)
	}
	if err != nil {
		return name
	}
	return id
}

// listCalledSo returns the ids by which a list is narrowed to what a principal calls so: a conversation with this server
// first, then those of calls that the principal proposed, and of calls that it was handed in answers.
func (a *API) listCalledSo(ctx context.Context, p access.Principal, named, name string) []string {
	user := cmp.Or(named, p.User)
	ids := []string{a.findListed(ctx, user, name)}
	if name == "" || user == "" {
		return ids
	}
	return append(ids, handover.ConversationID(p.ID, user, name),
		handover.ForwardingID(handover.Thread{Principal: p.ID, User: user, Conversation: name}))
}
