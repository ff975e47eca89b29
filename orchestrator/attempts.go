package orchestrator

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/history"
)

// How often a turn is resumed without getting any further: what breaks its
// process each time must not do so for ever. A crash of its own process is
// likely to be its own doing, so it counts for several starts of the program:
// when that ended it may have been anything, and every turn that was under way
// would pay for it.
//
// For the same reason a start does not count before it is tried, and from the
// fourth in vain on it is tried only once the program has lived for a while,
// longer each time. A program that something else ends every moment so uses
// nothing up that was accepted, and in one that a request ends each time the
// others have the time until then for themselves.
const (
	maxAttempts = 3  // after crashes of the conversation's process
	maxLives    = 10 // after starts of the program

	crashCounts  = maxLives / maxAttempts // starts
	freeAttempts = 4                      // that wait for nothing
	defaultPause = 50 * time.Millisecond  // before the one after; each further one waits twice as long
	maxPause     = 5 * time.Second
)

// attempt counts that a turn is about to be resumed, and returns how much was
// counted since it last got further. One that broke off because the store was
// down counts nothing, but it waits: models were asked for nothing.
func (o *Orchestrator) attempt(ctx context.Context, about history.Turn, row history.Conversation, crashed bool) (int, error) {
	breaks, excused := o.outages.of(row.ID)
	counts, pause := 1, o.pause(row.Attempts-freeAttempts)
	switch {
	case excused:
		counts, pause = 0, o.pause(breaks-2)
	case crashed:
		counts, pause = crashCounts, 0 // its supervisor has an intensity
	}
	if row.Attempts+counts > maxLives {
		pause = 0 // it is not tried any more
	}
	if pause > 0 {
		o.log.Warn("a request waits before it is gone on with: it was in vain before", "conversation", row.ID,
			"turn", row.Turn, "attempts", row.Attempts, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	tries, err := o.kept.Attempt(ctx, about, counts)
	if err == nil {
		o.outages.tried(row.ID)
	}
	return tries, err
}

// pause is how long the n-th attempt waits that has to, from 0. They differ, so
// that not all that was under way begins in the same moment again.
func (o *Orchestrator) pause(n int) time.Duration {
	if n < 0 {
		return 0
	}
	d := min(o.tune.pause<<min(n, 16), maxPause)
	return d + rand.N(d)
}

// outages counts, by conversation, how often in a row its turn broke off
// because the store was down.
type outages struct {
	mu   sync.Mutex
	list map[string]*outage
}

type outage struct {
	breaks  int
	excused bool // the next attempt: it was the store's fault
}

func (l *outages) broke(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[string]*outage{}
	}
	e := l.list[conversation]
	if e == nil {
		e = &outage{}
		l.list[conversation] = e
	}
	e.breaks, e.excused = e.breaks+1, true
}

func (l *outages) of(conversation string) (breaks int, excused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.list[conversation]; e != nil {
		return e.breaks, e.excused
	}
	return 0, false
}

func (l *outages) tried(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.list[conversation]; e != nil {
		e.excused = false
	}
}

// over forgets a conversation whose turn got further.
func (l *outages) over(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.list, conversation)
}
