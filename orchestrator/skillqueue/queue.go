// Package skillqueue bounds how many calls of a skill run at once.
//
// A call that was allowed enters the queue of its skill before it starts. Further calls
// wait, and users take turns (package admission). A call whose wait ends without a place
// was not started, and its record says so.
//
//	q := skillqueue.New("files.read", 4)
//	cp, err := sentinel.New(sentinel.Options{Queues: map[string]sentinel.Queue{"files.read": q}, …})
//
// What not to do: don't give a queue to natives. They are messages to a conversation's own
// process, and a native that waits for another's place could wait for itself.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package skillqueue

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/sentinel"
)

const (
	// maxWait is how long an allowed call waits for others of its skill: less than its
	// warrant lives.
	maxWait = 10 * time.Second
	// maxWaiting bounds who waits for a skill. Agents and turns wait for one thing at a
	// time and are bounded themselves.
	maxWaiting = 1 << 20
)

// Queue implements sentinel.Queue for one skill. It is safe for concurrent use.
type Queue struct{ pool *admission.Pool }

// New returns the queue of a skill, of which so many calls run at once.
func New(skill string, concurrency int) *Queue {
	return &Queue{admission.New(admission.Options{
		What: "calls of " + skill, Process: concurrency, Waiting: maxWaiting, UserWaiting: maxWaiting, Wait: maxWait,
	})}
}

// Enter implements sentinel.Queue. It waits for the call's turn, for ten seconds at most.
func (q *Queue) Enter(ctx context.Context, c sentinel.Call) (leave func(), err error) {
	credit, err := q.pool.Acquire(ctx, admission.Ask{User: c.Grant().User()})
	if err != nil {
		if !errors.Is(err, admission.ErrOverloaded) {
			err = errors.New("the caller left before it could start")
		}
		return nil, err
	}
	return credit.Release, nil
}

// Stats returns how busy the skill is.
func (q *Queue) Stats() admission.Stats { return q.pool.Stats() }
