package llm

import (
	"context"
	"sync/atomic"
)

// Caller is on whose behalf a model is asked. A Client passes a Caller by. A model that
// bounds or counts questions reads it from the context, as package orchestrator/models does.
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

type callerKey struct{}

// WithCaller returns a context under which models are asked on behalf of who.
func WithCaller(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

// CallerFrom returns on whose behalf models are asked under ctx: the zero Caller where
// WithCaller was not used.
func CallerFrom(ctx context.Context) Caller {
	who, _ := ctx.Value(callerKey{}).(Caller)
	return who
}

// Spent is what questions to models came to. It is safe for concurrent use.
type Spent struct {
	tokens, cost atomic.Int64
	estimated    atomic.Bool
}

// Add counts more. Estimated says that a server did not tell.
func (s *Spent) Add(tokens, cost int64, estimated bool) {
	if s == nil {
		return
	}
	s.tokens.Add(tokens)
	s.cost.Add(cost)
	if estimated {
		s.estimated.Store(true)
	}
}

// Read returns the sums: tokens, money in millionths, and whether any of it is
// an estimate.
func (s *Spent) Read() (tokens, cost int64, estimated bool) {
	if s == nil {
		return 0, 0, false
	}
	return s.tokens.Load(), s.cost.Load(), s.estimated.Load()
}
