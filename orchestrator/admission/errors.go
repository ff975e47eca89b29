package admission

import (
	"errors"
	"fmt"
	"time"
)

// ErrOverloaded is what every *OverloadedError is.
var ErrOverloaded = errors.New("too much is waiting already; try again later")

// OverloadedError refuses work that there is no room for. Nothing was begun.
type OverloadedError struct {
	// What is full: turns, agents, conversations, requests.
	What string
	// User is set where it is the user's own share that is full, and the
	// process has room for others.
	User bool
	// RetryAfter is when there may be room, 100 ms to a minute: an estimate from
	// how fast work has ended lately. Callers that all come back at that very
	// moment find it full again: add a little of your own.
	RetryAfter time.Duration
}

// Error says what is full and when to come again.
func (e *OverloadedError) Error() string {
	whose := "of this process"
	if e.User {
		whose = "of this user"
	}
	return fmt.Sprintf("too many %s %s; try again in %v", e.What, whose, e.RetryAfter)
}

// Is makes errors.Is(err, ErrOverloaded) true.
func (e *OverloadedError) Is(target error) bool { return target == ErrOverloaded }
