package admission

import (
	"errors"
	"fmt"
	"time"
)

// ErrOverloaded is what every *OverloadedError is.
var ErrOverloaded = errors.New("too much is waiting already; try again later")

// The values of OverloadedError.Of.
const (
	OfProcess      = "process"
	OfUser         = "user"
	OfConversation = "conversation"
)

// OverloadedError refuses work that there is no room for. Nothing was begun.
type OverloadedError struct {
	// What is full: turns, agents, conversations, requests.
	What string
	// Of says whose share is full: process, user or conversation. A full share of the
	// process leaves no room for any other user either.
	Of string
	// RetryAfter is when there may be room, 100 ms to a minute: an estimate from
	// how fast work has ended lately. Callers that all come back at that very
	// moment find it full again: add a little of your own.
	RetryAfter time.Duration
	// Held is set where the conversation's own request waits for a person's
	// approval. No pace of work says when that ends, so RetryAfter is a minute.
	Held bool
}

// Error says what is full and when to come again.
func (e *OverloadedError) Error() string {
	if e.Held {
		return fmt.Sprintf("too many %s of this %s, whose work waits for a person to approve a call; answer that first, or try again in %v",
			e.What, e.Of, e.RetryAfter)
	}
	return fmt.Sprintf("too many %s of this %s; try again in %v", e.What, e.Of, e.RetryAfter)
}

// Is makes errors.Is(err, ErrOverloaded) true.
func (e *OverloadedError) Is(target error) bool { return target == ErrOverloaded }
