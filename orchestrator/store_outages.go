package orchestrator

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/history"
)

// These bounds say how often a turn is resumed without progress: a turn must not
// break its process for ever. A crash of the turn's own process is likely the turn's
// doing, and counts as several starts of the program. An end of the program may have
// any cause, and every turn under way would pay for that end.
//
// For the same reason a start counts only once the turn is tried. From the fourth
// start without progress on, the turn waits for a while after the start, longer each
// time. So a program that something else ends every moment gives up no accepted
// request. In a program that one request ends each time, the other requests work
// until that request is tried.
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
		o.log.Warn("a request waits before its next attempt: the attempts before made no progress", "conversation", row.ID,
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
