package review

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/vedette-dev/vedette/internal/backoff"
)

// lane is the way to one model. It bounds requests at a time and a minute, and holds
// all back while the server has asked to wait.
type lane struct {
	places *places
	rate   *rate.Limiter // nil: any
	pace   *places       // one at a time waits for the rate; the others wait for that

	mu  sync.Mutex
	all hold            // no request is sent before its end
	own map[string]hold // nor a user before the end of its own
}

// hold is a time in which a server asked not to be asked.
type hold struct {
	until time.Time
	kind  Failure // what the server said when it asked for that
}

// maxHolds bounds the users that a server has asked to wait. Beyond it the next
// isn't held: it is asked to wait again, at the price of a request.
const maxHolds = 4096

// longestPause is the longest pause on a server's wish that a request waits for. With a longer
// one the next model's turn comes at once.
const longestPause = 2 * time.Second

// returnSpread is what requests that wait for the same pause add to it: up to a quarter.
var returnSpread = backoff.Spread{Least: 100, Most: 125}

func newLane(concurrency int, perMinute int) *lane {
	l := &lane{places: newPlaces(concurrency), pace: newPlaces(1)}
	if perMinute > 0 {
		l.rate = rate.NewLimiter(rate.Limit(float64(perMinute)/60), max(1, perMinute/60))
	}
	return l
}

// enter waits until a request of the user may be sent, not beyond by. Without an
// error the caller must leave. The error is a *fault without the model's name, or
// errCanceled.
func (l *lane) enter(ctx context.Context, user string, by time.Time) error {
	for {
		if err := l.waitOutPause(ctx, user, by); err != nil {
			return err
		}
		if err := l.places.take(ctx, user, by); err != nil {
			return err
		}
		if err := l.awaitRate(ctx, user, by); err != nil {
			l.leave()
			return err
		}
		if wait, _ := l.pauseLeft(user); wait <= 0 {
			return nil
		}
		l.leave() // the server asked for a pause while we waited
	}
}

func (l *lane) leave() { l.places.give() }

// waitOutPause waits for the end of a short pause. Everybody who waits for it would be
// back in the same instant, so each adds a little of its own.
func (l *lane) waitOutPause(ctx context.Context, user string, by time.Time) error {
	wait, kind := l.pauseLeft(user)
	if wait <= 0 {
		return nil
	}
	if wait > min(longestPause, time.Until(by)) {
		return &fault{kind: kind, retry: wait}
	}
	wait = min(returnSpread.Draw(wait), max(time.Until(by), wait))
	if !backoff.Wait(ctx, wait) {
		return errCanceled
	}
	return nil
}

// awaitRate waits for the rate, users in turn. Who can't be served in time, by what
// the user's own calls will take alone, is told at once.
func (l *lane) awaitRate(ctx context.Context, user string, by time.Time) error {
	if l.rate == nil {
		return nil
	}
	now := time.Now()
	before := float64(l.pace.countWaiting(user)) + 1 - l.rate.TokensAt(now)
	if least := time.Duration(before / float64(l.rate.Limit()) * float64(time.Second)); least > by.Sub(now) {
		return &fault{kind: Busy, retry: least}
	}
	if err := l.pace.take(ctx, user, by); err != nil {
		return err
	}
	defer l.pace.give()
	now = time.Now()
	r := l.rate.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if !r.OK() || wait > by.Sub(now) {
		r.CancelAt(now)
		return &fault{kind: Busy, retry: wait}
	}
	if !backoff.Wait(ctx, wait) {
		r.Cancel()
		return errCanceled
	}
	return nil
}

// pauseLeft returns how long the server still asks not to be asked for a user, and
// what it said then.
func (l *lane) pauseLeft(user string) (time.Duration, Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.all
	if own, ok := l.own[user]; ok && own.until.After(h.until) {
		h = own
	}
	return time.Until(h.until), h.kind
}

// pauseAfter keeps everybody away for a while, if the server asked for that. It keeps only the
// user away where the call may have brought it about.
func (l *lane) pauseAfter(user string, f *fault) {
	if f == nil || f.retry <= 0 || f.status == 0 || !f.mayRepeat() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	next := hold{now.Add(f.retry), f.kind}
	if f.kind.Unavailable() {
		if next.until.After(l.all.until) {
			l.all = next
		}
		return
	}
	if len(l.own) >= maxHolds {
		maps.DeleteFunc(l.own, func(_ string, h hold) bool { return !h.until.After(now) })
	}
	if h, known := l.own[user]; (known || len(l.own) < maxHolds) && next.until.After(h.until) {
		if l.own == nil {
			l.own = map[string]hold{}
		}
		l.own[user] = next
	}
}
