package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/backoff"
)

// model is one member of the chain with its breaker.
type model struct {
	client   *llm.Client
	name     string
	form     form
	retries  int
	terms    Terms
	lane     *lane
	purse    Purse
	alarm    *alarm
	observer Observer
	window   time.Duration
	timeout  time.Duration // of a review
	longest  time.Duration // that a server's wish not to be asked is heeded
	now      func() time.Time
	// suspect and prove ask for a canary, which there is where watched says so.
	suspect, prove func()
	watched        func() bool
	looked         atomic.Bool // until a canary that was asked for is over
	fresh          func() *gobreaker.CircuitBreaker[answer]
	breaker        atomic.Pointer[gobreaker.CircuitBreaker[answer]]

	mu          sync.Mutex
	met         map[Failure]witness // by the failure as it is where it is believed
	users       shares
	lastFailure Failure
	canary      Canary
	canaryAt    time.Time
	doubtCanary Canary    // of the newest canaries for doubts
	doubtAt     time.Time // when those were asked
	suspectedAt time.Time // when it was to be looked at
	well        time.Time // when a canary was last answered; zero once one has not been
	hung        bool      // the last canary
	proof       *proof    // the newest
}

// buckets is how finely a breaker's window rolls.
const buckets = 12

func newModel(c *llm.Client, o Options, a *alarm) *model {
	m := &model{
		client: c.Limited(maxResponse), name: c.Name(), form: newForm(o, c.Config()), retries: o.Retries, terms: o.Terms[c.Name()],
		purse: o.Purse, alarm: a, observer: o.Observer, window: o.Breaker.Window, timeout: o.Timeout, longest: o.Breaker.OpenFor, now: o.Now,
	}
	m.users.window = m.window
	m.lane = newLane(o.Concurrency, m.terms.RequestsPerMinute)
	failures := uint32(o.Breaker.Failures) // checked: from 1 to maxFailures
	settings := gobreaker.Settings{
		Name: m.name, MaxRequests: 1, Timeout: o.Breaker.OpenFor,
		Interval: o.Breaker.Window, BucketPeriod: max(o.Breaker.Window/buckets, 1),
		ReadyToTrip: func(c gobreaker.Counts) bool {
			// Requests counts excluded calls too, so the sum is what was judged.
			n := c.TotalSuccesses + c.TotalFailures
			return c.ConsecutiveFailures >= failures || n >= 4*failures && 2*c.TotalFailures >= n
		},
		IsExcluded: isExcludedFromBreaker,
		OnStateChange: func(name string, from, to gobreaker.State) {
			// The breaker is locked here: tell, and ask it nothing.
			o.Log.Warn("the review's breaker changed", slog.String("model", name),
				slog.String("from", from.String()), slog.String("to", to.String()))
			o.Observer.Breaker(BreakerEvent{Model: name, From: from.String(), To: to.String()})
		},
	}
	m.fresh = func() *gobreaker.CircuitBreaker[answer] { return gobreaker.NewCircuitBreaker[answer](settings) }
	m.breaker.Store(m.fresh())
	return m
}

// isExcludedFromBreaker keeps what says nothing about a model's health away from its breaker:
// a caller that gave up, and everything that an attacker could bring about.
func isExcludedFromBreaker(err error) bool {
	var f *fault
	if errors.As(err, &f) {
		return !f.kind.Unavailable()
	}
	return err != nil
}

// judgeDocument asks the model, and once more in other words where its answer can't be
// used. The error is a *fault or errCanceled. When asking again fails too, the
// first fault stands: it is the one that the call brought about. Whether the caller
// gave up meanwhile is for the caller of judge to see.
func (m *model) judgeDocument(ctx context.Context, document string, q *inquiry) (answer, error) {
	t := q.nextTurn()
	a, err := m.sendWithRetries(ctx, m.form.buildRequest(document, false), q, &t, false)
	var f *fault
	if !errors.As(err, &f) || !f.kind.isRepairable() {
		return a, err
	}
	again, err := m.sendWithRetries(ctx, m.form.buildRequest(document, true), q, &t, true)
	if err == nil {
		q.repaired = f.kind
		return again, nil
	}
	return answer{}, f
}

// sendRequest sends one request. Its deadline also bounds a half-open breaker's probe,
// which would otherwise hold the breaker half-open for ever.
func (m *model) sendRequest(ctx context.Context, r llm.Request, t turn, e *exchange) (answer, error) {
	own, cancel := context.WithDeadline(ctx, t.end)
	defer cancel()
	e.sent, e.began = true, time.Now()
	resp, err := m.client.Chat(own, r)
	e.took, e.usage = time.Since(e.began), resp.Usage
	e.said, e.unpaid = countAnswerBytes(resp), isUnpaidRequest(err)
	if err != nil {
		if callerGaveUp(ctx) != nil {
			m.noteServedRequest(t, nil)
			return answer{}, errCanceled
		}
		f := m.nameFault(err, t, t.end.Sub(e.began) >= t.fair)
		m.noteServedRequest(t, f)
		return answer{}, f
	}
	m.noteServedRequest(t, nil)
	a, kind := m.form.readJudgement(resp)
	if kind != "" {
		return answer{}, &fault{kind: kind, model: m.name}
	}
	if a.approve && m.fillsContext(resp.Usage) {
		return answer{}, &fault{kind: TooLong, model: m.name}
	}
	return a, nil
}

// fillsContext reports whether question and answer fill the model's context. A server
// that doesn't refuse what is longer, as Ollama's, cuts its beginning off without
// a word, criteria first, and an approval of the rest is none of the call.
func (m *model) fillsContext(u llm.Usage) bool {
	size := m.client.Config().Context
	return size > 0 && u.Prompt+u.Completion >= size
}

// callerGaveUp returns why the caller's context ended, nil while it has not. A dialler
// that was given the deadline can notice it a moment before the context does.
func callerGaveUp(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// canceledError is the gate's error for a caller that gave up.
func canceledError(ctx context.Context) error {
	err := callerGaveUp(ctx)
	if err == nil {
		err = context.Canceled
	}
	return fmt.Errorf("the review ended before a judgement: %w", err)
}

// waitForLane waits for the model's lane and returns until when the request may wait
// for room in a budget. A gate that measures waits as long as it takes and gives
// the time back to the turn and to the review: how many cases are measured at a
// time says nothing of a call. Canaries have no such time.
func (m *model) waitForLane(ctx context.Context, q *inquiry, t *turn) (time.Time, error) {
	by := t.waitLimit()
	switch {
	case q.urgent:
		return by, nil
	case !q.apart || q.canary:
		return by, m.lane.enter(ctx, q.user, by)
	}
	began := time.Now()
	err := m.lane.enter(ctx, q.user, began.Add(farOff))
	waited := time.Since(began)
	t.end, q.until, q.waited = t.end.Add(waited), q.until.Add(waited), q.waited+waited
	return t.waitLimit(), err
}

// farOff is later than any wait for a turn ends: while measuring, the caller's
// own context is the bound.
const farOff = 365 * 24 * time.Hour

// sendWithRetries sends one request, and again where that may help, within the model's turn.
func (m *model) sendWithRetries(ctx context.Context, r llm.Request, q *inquiry, t *turn, repair bool) (answer, error) {
	var stands *fault
	for n := 1; ; n++ {
		a, err := m.sendOneRequest(ctx, r, q, t, n, repair)
		var f *fault
		if !errors.As(err, &f) {
			return a, err
		}
		stands = graverFault(stands, f)
		wait := resendPauses.Pause(n - 1)
		if n > m.retries || !f.mayRepeat() || f.retry > longestPause || !t.leavesTimeFor(max(wait, f.retry)) || !backoff.Wait(ctx, wait) {
			return answer{}, stands
		}
	}
}

// resendPauses are the pauses before a request is sent again, spread by half to either
// side.
var resendPauses = backoff.Pauses{
	First: 100 * time.Millisecond, Longest: 2 * time.Second, Spread: backoff.Spread{Least: 50, Most: 150},
}

// sendOneRequest sends one request once its turn has come. The error is a *fault or
// errCanceled.
func (m *model) sendOneRequest(ctx context.Context, r llm.Request, q *inquiry, t *turn, n int, repair bool) (answer, error) {
	arrived := time.Now()
	var e exchange
	a, err := m.sendAdmitted(ctx, r, q, t, &e)
	var f *fault
	if errors.As(err, &f) {
		f.model = m.name
		m.mu.Lock()
		m.lastFailure = f.kind
		m.mu.Unlock()
	}
	ev := RequestEvent{
		Model: m.name, Canceled: err != nil && f == nil, Sent: e.sent, Attempt: n,
		Purpose: Purpose{Repair: repair, Second: q.second, Canary: q.canary},
		Began:   e.began, Wait: e.began.Sub(arrived), Duration: e.took,
		TokensIn: max(e.usage.Prompt, 0), TokensOut: max(e.usage.Completion, 0),
	}
	if !e.sent {
		ev.Began, ev.Wait = time.Now(), time.Since(arrived)
	}
	if f != nil {
		ev.Failure, ev.Status = f.kind, f.status
	}
	ev.Cost = m.terms.Price.costOf(int64(ev.TokensIn), int64(ev.TokensOut))
	q.countRequest(ev)
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
		return m.awaitProof(ctx, t.waitLimit())
	}
	return nil
}

// sendAdmitted sends the request through the model's lane, the budget and the
// breaker. The breaker is asked before anybody waits, and again at the end.
func (m *model) sendAdmitted(ctx context.Context, r llm.Request, q *inquiry, t *turn, e *exchange) (answer, error) {
	if err := m.inUse(ctx, q, *t); err != nil {
		return answer{}, err
	}
	by, err := m.waitForLane(ctx, q, t)
	if err != nil {
		return answer{}, err
	}
	if !q.urgent {
		defer m.lane.leave()
	}
	s, err := m.holdBudget(ctx, r, q, by)
	if err != nil {
		return answer{}, err
	}
	defer func() { m.settleBudget(ctx, s, &r, e) }()
	if err := m.inUse(ctx, q, *t); err != nil { // it may have come to be half-open meanwhile
		return answer{}, err
	}
	a, err := m.breaker.Load().Execute(func() (answer, error) { return m.sendRequest(ctx, r, *t, e) })
	var f *fault
	switch {
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		err = &fault{kind: BreakerOpen}
	case errors.As(err, &f):
		m.lane.pauseAfter(q.user, f) // before the place is handed on
	}
	return a, err
}

// failedCanary reports whether the newest conclusion about a model is that it
// is wrong.
func (m *model) failedCanary() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.canary == CanaryFailed
}
