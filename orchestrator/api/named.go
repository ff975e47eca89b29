package api

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
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
