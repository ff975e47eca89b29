package review

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/vedette-dev/vedette/skills"
)

// Terms are what holds between this process and one model.
type Terms struct {
	// RequestsPerMinute is how fast requests may be sent; at once a second's
	// worth. Zero is no bound.
	RequestsPerMinute int
	// Price is what budgets in money count with.
	Price Price
}

// Price is what a million tokens cost, in millionths of a currency.
type Price struct{ Input, Output int64 }

// Bounds of the options.
const (
	maxConcurrency = 1_000_000
	maxRetries     = 5
)

func (o Options) checkPace() error {
	switch {
	case o.Concurrency < 0 || o.Concurrency > maxConcurrency:
		return &skills.PathError{Path: "sentinel.concurrency", Msg: fmt.Sprintf("must be from 1 to %d", maxConcurrency)}
	case o.Retries < 0 || o.Retries > maxRetries:
		return &skills.PathError{Path: "sentinel.retries", Msg: fmt.Sprintf("must be from 0 to %d", maxRetries)}
	}
	for name, t := range o.Terms {
		if t.RequestsPerMinute < 0 || t.Price.Input < 0 || t.Price.Output < 0 {
			return &skills.PathError{Path: "models." + name, Msg: "has a negative rate or price"}
		}
	}
	return nil
}

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

// longestPause is how long a pause may be that the server asked for and that is
// waited for; with a longer one the next model's turn comes at once.
const longestPause = 2 * time.Second

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
		if err := l.rest(ctx, user, by); err != nil {
			return err
		}
		if err := l.places.take(ctx, user, by); err != nil {
			return err
		}
		if err := l.turn(ctx, user, by); err != nil {
			l.leave()
			return err
		}
		if wait, _ := l.paused(user); wait <= 0 {
			return nil
		}
		l.leave() // the server asked for a pause while we waited
	}
}

func (l *lane) leave() { l.places.give() }

// rest waits for the end of a short pause. Everybody who waits for it would be
// back in the same instant, so each adds a little of its own.
func (l *lane) rest(ctx context.Context, user string, by time.Time) error {
	wait, kind := l.paused(user)
	if wait <= 0 {
		return nil
	}
	if wait > min(longestPause, time.Until(by)) {
		return &fault{kind: kind, retry: wait}
	}
	wait += min(rand.N(wait/4+1), max(time.Until(by)-wait, 0)) //nolint:gosec // spreads load, guards nothing
	if !sleep(ctx, wait) {
		return errCanceled
	}
	return nil
}

// turn waits for the rate, users in turn. Who can't be served in time, by what
// the user's own calls will take alone, is told at once.
func (l *lane) turn(ctx context.Context, user string, by time.Time) error {
	if l.rate == nil {
		return nil
	}
	now := time.Now()
	before := float64(l.pace.waiting(user)) + 1 - l.rate.TokensAt(now)
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
	if !sleep(ctx, wait) {
		r.Cancel()
		return errCanceled
	}
	return nil
}

// paused returns how long the server still asks not to be asked for a user, and
// what it said then.
func (l *lane) paused(user string) (time.Duration, Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.all
	if own, ok := l.own[user]; ok && own.until.After(h.until) {
		h = own
	}
	return time.Until(h.until), h.kind
}

// pause keeps everybody away for a while, if the server asked for that; only the
// user, where the call may have brought it about.
func (l *lane) pause(user string, f *fault) {
	if f == nil || f.retry <= 0 || f.status == 0 || !f.again() {
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

// sleep waits, and reports whether it was for the whole time.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
