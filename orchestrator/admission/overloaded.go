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
	// RetryAfter is when there may be room, 100 ms to a minute. It is an estimate from how
	// fast work has ended lately. Callers that all come back at that very moment find it
	// full again: add a little of your own.
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

// Overloaded returns the refusal of a user's work, as things stand now.
func (p *Pool) Overloaded(user string) *OverloadedError {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.accountOf(user)
	defer p.dropIdle(a)
	return p.newOverloaded(a)
}

// newOverloaded says whose share is full, and when there may be room.
func (p *Pool) newOverloaded(a *account) *OverloadedError {
	e := &OverloadedError{What: p.o.What, Of: OfProcess}
	slots, ahead := p.o.Process, p.waiting
	if p.isSpent(a) && !p.isFull() {
		e.Of, slots, ahead = OfUser, p.o.User, a.queue.Len()
	}
	e.RetryAfter = p.estimateRetry(slots, ahead)
	return e
}

// Busy returns the refusal of a conversation that does one piece of the pool's work at a
// time. The request has ahead more before it.
func (p *Pool) Busy(what string, ahead int) *OverloadedError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &OverloadedError{What: what, Of: OfConversation, RetryAfter: p.estimateRetry(1, ahead)}
}

// Held returns the refusal of a conversation whose work waits for a person.
func (p *Pool) Held(what string) *OverloadedError {
	return &OverloadedError{What: what, Of: OfConversation, RetryAfter: maxRetry, Held: true}
}

// estimateRetry estimates how long newcomers wait until one of the slots is theirs, with so
// many ahead of them. It takes the time between two ends of work from how long work has
// held its place lately. Where a full pool has seen no end for longer, that silence counts.
func (p *Pool) estimateRetry(slots, ahead int) time.Duration {
	hold := p.hold
	if hold == 0 {
		hold = firstHold
	}
	apart := hold / time.Duration(max(slots, 1))
	if p.isFull() && !p.ended.IsZero() {
		apart = max(apart, time.Since(p.ended))
	}
	if apart > maxRetry { // and no overflow below
		return maxRetry
	}
	return min(max(apart*time.Duration(min(ahead, 1<<20)+1), minRetry), maxRetry).Round(time.Millisecond)
}
