package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/vedette-dev/vedette/agents/llm"
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
	// doubt and prove ask for a canary, which there is where watched says so.
	doubt, prove func()
	watched      func() bool
	looked       atomic.Bool // until a canary that was asked for is over
	fresh        func() *gobreaker.CircuitBreaker[answer]
	breaker      atomic.Pointer[gobreaker.CircuitBreaker[answer]]

	mu          sync.Mutex
	met         map[Failure]witness // by the failure as it is where it is believed
	users       shares
	lastFailure Failure
	canary      Canary
	canaryAt    time.Time
	doubted     time.Time // when it was to be looked at
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
		IsExcluded: excluded,
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

// Models returns the names of the chain, in order, and after them those of the
// models that give second opinions.
func (g *Gate) Models() []string {
	var out []string
	for _, m := range g.all() {
		out = append(out, m.name)
	}
	return out
}

func (g *Gate) all() []*model { return append(slices.Clone(g.models), g.stronger...) }

// Renew gives a model of either chain a breaker that knows nothing yet, for a
// supervisor that starts the model's process again. Calls that are under way
// end with the one before. What the server asked for with Retry-After holds on.
func (g *Gate) Renew(name string) {
	for _, m := range g.all() {
		if m.name != name {
			continue
		}
		old := m.breaker.Swap(m.fresh())
		if from := old.State(); from != gobreaker.StateClosed {
			m.observer.Breaker(BreakerEvent{Model: name, From: from.String(), To: gobreaker.StateClosed.String()})
		}
	}
}

// excluded keeps what says nothing about a model's health away from its breaker:
// a caller that gave up, and everything that an attacker could bring about.
func excluded(err error) bool {
	var f *fault
	if errors.As(err, &f) {
		return !f.kind.Unavailable()
	}
	return err != nil
}

// inquiry is one review: who asks, how long, and what asking has cost.
type inquiry struct {
	user, conversation string
	turn               string
	ahead              *expected // nil: the call's turn has come
	apart              bool      // it is measured

	began  time.Time
	until  time.Time // the end of the review
	left   int       // models whose turn may still come
	second bool      // it is for a second opinion now
	canary bool      // its verdict is known, and no budget pays for it
	urgent bool      // a canary that waits behind no call

	sent int
	in   int
	out  int
	cost int64
	// by is that by model; waited is the time of the waits that don't count.
	by     []spent
	waited time.Duration
	// repaired is what was wrong with an answer before one that could be used.
	repaired Failure
}

func (q *inquiry) count(e RequestEvent) {
	if e.Sent {
		q.sent++
	}
	q.in += e.TokensIn
	q.out += e.TokensOut
	q.cost += e.Cost
	q.share(e)
}

// judge asks the model, and once more in other words where its answer can't be
// used. The error is a *fault or errCanceled. When asking again fails too, the
// first fault stands: it is the one that the call brought about. Whether the caller
// gave up meanwhile is for the caller of judge to see.
func (m *model) judge(ctx context.Context, document string, q *inquiry) (answer, error) {
	t := q.next()
	a, err := m.ask(ctx, m.form.question(document, false), q, &t, false)
	var f *fault
	if !errors.As(err, &f) || !f.kind.repairable() {
		return a, err
	}
	again, err := m.ask(ctx, m.form.question(document, true), q, &t, true)
	if err == nil {
		q.repaired = f.kind
		return again, nil
	}
	return answer{}, f
}

// chat sends one request. Its deadline also bounds a half-open breaker's probe,
// which would otherwise hold the breaker half-open for ever.
func (m *model) chat(ctx context.Context, r llm.Request, t turn, e *exchange) (answer, error) {
	own, cancel := context.WithDeadline(ctx, t.end)
	defer cancel()
	e.sent, e.began = true, time.Now()
	resp, err := m.client.Chat(own, r)
	e.took, e.usage = time.Since(e.began), resp.Usage
	e.said, e.unpaid = said(resp), unpaid(err)
	if err != nil {
		if gaveUp(ctx) != nil {
			m.served(t, nil)
			return answer{}, errCanceled
		}
		f := m.fault(err, t, t.end.Sub(e.began) >= t.fair)
		m.served(t, f)
		return answer{}, f
	}
	m.served(t, nil)
	a, kind := m.form.judgement(resp)
	if kind != "" {
		return answer{}, &fault{kind: kind, model: m.name}
	}
	if a.approve && m.brimful(resp.Usage) {
		return answer{}, &fault{kind: TooLong, model: m.name}
	}
	return a, nil
}

// brimful reports whether question and answer fill the model's context. A server
// that doesn't refuse what is longer, as Ollama's, cuts its beginning off without
// a word, criteria first, and an approval of the rest is none of the call.
func (m *model) brimful(u llm.Usage) bool {
	size := m.client.Config().Context
	return size > 0 && u.Prompt+u.Completion >= size
}

// gaveUp returns why the caller's context ended, nil while it has not. A dialler
// that was given the deadline can notice it a moment before the context does.
func gaveUp(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// canceled is the gate's error for a caller that gave up.
func canceled(ctx context.Context) error {
	err := gaveUp(ctx)
	if err == nil {
		err = context.Canceled
	}
	return fmt.Errorf("the review ended before a judgement: %w", err)
}
