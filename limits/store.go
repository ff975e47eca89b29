package limits

import (
	"context"
	"errors"
	"time"
)

// Errors of stores. Whatever a Store returns, the caller refuses the call.
var (
	// ErrFull means that the store holds as many keys as it may and may evict
	// none. Raise MemoryOptions.MaxKeys, or end turns sooner.
	ErrFull = errors.New("limits: the store is full")
	// ErrAway means that the server which counts is unreachable, silent or not
	// ready. The caller may let a call go on all the same, depending on what the
	// call does. A caller that doesn't decide refuses the call.
	ErrAway = errors.New("limits: the store is away")
	// ErrRequest means that a question to a Store has no answer: a bug in the
	// caller. It has no id or no bucket, the same key twice, or a rule without
	// numbers.
	ErrRequest = errors.New("limits: malformed request to the store")
)

// Store counts. Store is safe for concurrent use and may be shared by processes.
// Store owns the clock: on a server it uses the server's time. For a key that
// holds something time never runs backwards: a clock that is set back stands still
// for it.
//
// Package storetest holds the tests that every Store must pass.
type Store interface {
	BucketStore
	MeterStore
	BreakerStore
}

// BucketStore holds the counts of Take.
type BucketStore interface {
	// Take puts id into every bucket, or into none if one without id has no room.
	// It is one atomic step. A bucket that holds id already (see Bucket.Window)
	// isn't full for it and isn't filled again. So repeating a Take is free.
	Take(ctx context.Context, id string, buckets []Bucket) (Taken, error)

	// Forget drops the lifetime buckets whose key is prefix or goes on with "/"
	// after it. The prefix holds at least a key's first segment. Buckets with a
	// window stay until it has passed. Otherwise a user could end a conversation
	// and open it again to get round its limit.
	Forget(ctx context.Context, prefix string) error
}

// Bucket is one thing that is counted, and how far.
type Bucket struct {
	// Key is a path of segments with "/" between them. The first segment names
	// the owner, a conversation; a store may keep an owner's keys together.
	Key string
	// Max is how many ids the bucket holds. At zero or less it holds none.
	Max int
	// Window is how long an id stays: taken at t, it is gone at t+Window. Zero
	// means until Forget, or until the store's idle time has passed.
	Window time.Duration
}

// Taken answers Take.
type Taken struct {
	// OK says that every bucket holds the id.
	OK bool
	// Full is the index of the first bucket without room, -1 if OK.
	Full int
	// Used counts the ids in bucket Full, or in the first bucket if OK.
	Used int
	// RetryAfter is when bucket Full has room again if no other call takes the room.
	// It is zero for a bucket without a window, which never gets room by itself.
	RetryAfter time.Duration
}

// BreakerStore holds the circuit breakers, by key.
//
// A breaker is closed until Rule.Failures calls have failed within Rule.Window. It
// is then open and admits nothing for Rule.OpenFor, and after that half-open: it
// admits one call, the probe. The probe's success closes the breaker, its failure
// opens it again. Another call may be the probe if the first is abandoned, or not
// settled within Rule.OpenFor.
type BreakerStore interface {
	// Admit says whether the call may run now. Asking again with the id of the
	// current probe admits it again. A key that never failed is closed and
	// takes no room.
	Admit(ctx context.Context, key, callID string, rule Rule) (Admission, error)

	// Settle reports what became of a call. Outside the closed state only the
	// current probe's word counts. So the late end of a call admitted before
	// neither closes the breaker nor reopens it. A call's failure counts once.
	Settle(ctx context.Context, key, callID string, outcome Outcome, rule Rule) error

	// State returns the state without changing it.
	State(ctx context.Context, key string, rule Rule) (State, error)
}

// Rule is a breaker's numbers. All must be positive.
type Rule struct {
	Failures int
	Window   time.Duration
	OpenFor  time.Duration
}

// Admission answers Admit.
type Admission struct {
	OK bool
	// Probe says that this call is the one that a half-open breaker lets through.
	Probe bool
	// RetryAfter is, if not OK, when a call may be admitted again.
	RetryAfter time.Duration
}

// Outcome is what became of a call that was admitted.
type Outcome uint8

// Outcomes. The zero value is none of them and is refused.
const (
	// Succeeded means that the executor worked.
	Succeeded Outcome = iota + 1
	// Failed means that the executor itself broke.
	Failed
	// Abandoned means that the call never ran.
	Abandoned
)

// State is a breaker's state.
type State uint8

// States. The zero value is none of them.
const (
	Closed State = iota + 1
	Open
	HalfOpen
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	case HalfOpen:
		return "half_open"
	}
	return "unknown"
}
