package skills

import "context"

// Caller is for whom a skill runs: what the order says, never what a model wrote.
type Caller struct {
	// User is the id of the user, as the program gave it when it opened the
	// conversation. It may hold any text of one line: escape it in file names,
	// queries and pages.
	User string
	// Conversation is the conversation's id.
	Conversation string
	// CallID is the id of the call, as the ledger has it.
	CallID string
	// IdempotencyKey is the same for every run of one call. A back end that keeps
	// it does the work once.
	IdempotencyKey string
}

type callerKey struct{}

// CallerFrom returns for whom a Go skill runs. ctx is the context that the
// skill's function was given, or one made of it. ok is false for any other.
func CallerFrom(ctx context.Context) (c Caller, ok bool) {
	c, ok = ctx.Value(callerKey{}).(Caller)
	return c, ok
}
