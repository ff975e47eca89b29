package review

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/vedette-dev/vedette/agents/llm"
)

// turn is the time that one model has for one call.
type turn struct {
	end time.Time
	// fair is the least that a request has, for its timeout to say something of
	// the model.
	fair time.Duration
	// user and turn are the call's, and ahead says whether no call waits for the answer
	// yet.
	user, turn string
	ahead      *expected
	// canary says that the question is this package's own.
	canary bool
}

// next gives the next model an equal share of what is left of the review.
func (q *inquiry) next() turn {
	now := time.Now()
	share := max(q.until.Sub(now), 0) / time.Duration(max(q.left, 1))
	q.left--
	return turn{end: now.Add(share), fair: share / 2, user: q.user, turn: q.turn, ahead: q.ahead, canary: q.canary}
}

// patience is until when a request waits for its turn: as long as would be left
// for the answer.
func (t turn) patience() time.Time {
	now := time.Now()
	return now.Add(t.end.Sub(now) / 2)
}

// leaves reports whether there is time for an answer after a wait.
func (t turn) leaves(wait time.Duration) bool { return time.Until(t.end)-wait >= t.fair }

// The pauses before a request is sent again: doubled each time, and spread by
// half to either side.
const (
	firstPause = 100 * time.Millisecond
	pauseCap   = 2 * time.Second
)

// again reports whether sending the same request again may help, and whether
// the server's wish for a pause counts.
func (f *fault) again() bool {
	switch f.kind {
	case Connect, LoneConnect, Server, LoneServer, RateLimited, LoneRateLimited:
		return true
	case BadRequest:
		return f.status == http.StatusRequestTimeout || f.status == http.StatusConflict
	}
	return false
}

// graver is the fault that stands for both. One that makes the call unjudgeable
// is not undone by the model being down a moment later, unless somebody else has
// met the very same by then; and a request that was not sent says less than one
// that was.
func graver(first, second *fault) *fault {
	if first == nil || first.kind == second.kind.lone() ||
		second.kind != BreakerOpen && (first.kind.Unavailable() || !second.kind.Unavailable()) {
		return second
	}
	return first
}

// ask sends one request, and again where that may help, within the model's turn.
func (m *model) ask(ctx context.Context, r llm.Request, q *inquiry, t *turn, repair bool) (answer, error) {
	var stands *fault
	for n := 1; ; n++ {
		a, err := m.try(ctx, r, q, t, n, repair)
		var f *fault
		if !errors.As(err, &f) {
			return a, err
		}
		stands = graver(stands, f)
		wait := min(firstPause<<(n-1), pauseCap)
		wait = wait/2 + rand.N(wait) //nolint:gosec // spreads load, guards nothing
		if n > m.retries || !f.again() || f.retry > longestPause || !t.leaves(max(wait, f.retry)) || !sleep(ctx, wait) {
			return answer{}, stands
		}
	}
}

// try sends one request once its turn has come. The error is a *fault or
// errCanceled.
func (m *model) try(ctx context.Context, r llm.Request, q *inquiry, t *turn, n int, repair bool) (answer, error) {
	arrived := time.Now()
	var e exchange
	a, err := m.admitted(ctx, r, q, t, &e)
	var f *fault
	if errors.As(err, &f) {
		f.model = m.name
		m.mu.Lock()
		m.lastFailure = f.kind
		m.mu.Unlock()
	}
	ev := RequestEvent{
		Model: m.name, Canceled: err != nil && f == nil, Sent: e.sent, Attempt: n, Repair: repair, Second: q.second, Canary: q.canary,
		Began: e.began, Wait: e.began.Sub(arrived), Duration: e.took,
		TokensIn: max(e.usage.Prompt, 0), TokensOut: max(e.usage.Completion, 0),
	}
	if !e.sent {
		ev.Began, ev.Wait = time.Now(), time.Since(arrived)
	}
	if f != nil {
		ev.Failure, ev.Status = f.kind, f.status
	}
	ev.Cost = m.terms.Price.of(int64(ev.TokensIn), int64(ev.TokensOut))
	q.count(ev)
	m.observer.Request(ctx, ev)
	return a, err
}

// inUse reports, as an error, that the breaker lets no request through. Where
// canaries are asked one of them is the probe, and inUse waits for it.
func (m *model) inUse(ctx context.Context, q *inquiry, t turn) error {
	switch state := m.breaker.Load().State(); {
	case state == gobreaker.StateOpen:
		return &fault{kind: BreakerOpen}
	case state == gobreaker.StateHalfOpen && !q.canary && m.watched():
		return m.proved(ctx, t.patience())
	}
	return nil
}

// admitted sends the request through the model's lane, the budget and the
// breaker. The breaker is asked before anybody waits, and again at the end.
func (m *model) admitted(ctx context.Context, r llm.Request, q *inquiry, t *turn, e *exchange) (answer, error) {
	if err := m.inUse(ctx, q, *t); err != nil {
		return answer{}, err
	}
	by, err := m.enter(ctx, q, t)
	if err != nil {
		return answer{}, err
	}
	if !q.urgent {
		defer m.lane.leave()
	}
	s, err := m.hold(ctx, r, q, by)
	if err != nil {
		return answer{}, err
	}
	defer func() { m.settle(ctx, s, &r, e) }()
	if err := m.inUse(ctx, q, *t); err != nil { // it may have come to be half-open meanwhile
		return answer{}, err
	}
	a, err := m.breaker.Load().Execute(func() (answer, error) { return m.chat(ctx, r, *t, e) })
	var f *fault
	switch {
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		err = &fault{kind: BreakerOpen}
	case errors.As(err, &f):
		m.lane.pause(q.user, f) // before the place is handed on
	}
	return a, err
}
