package models

import (
	"context"

	"github.com/vedette-dev/vedette/limits"
)

// Caller is on whose behalf a model is asked.
type Caller struct {
	User, Conversation, Turn string
	// Agent is the id of the asking agent's grant; empty for the orchestrator's
	// own questions.
	Agent string
	// ID is the question's: the same again after a restart.
	ID string
	// Spent, if set, is told what the question came to.
	Spent *Spent
}

// Spending is what the caller spent, under the caller's own id.
func (c Caller) Spending(tokens, cost int64) limits.Spending {
	return limits.Spending{
		ID: c.ID, User: c.User, Conversation: c.Conversation, Turn: c.Turn, Agent: c.Agent, Tokens: tokens, Cost: cost,
	}
}

type callerKey struct{}

// WithCaller returns a context under which models are asked on behalf of who.
func WithCaller(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

func callerOf(ctx context.Context) Caller {
	who, _ := ctx.Value(callerKey{}).(Caller)
	return who
}
