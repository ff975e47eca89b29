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
)

// model is one member of the chain with its breaker.
type model struct {
	client  *llm.Client
	name    string
	form    form
	timeout time.Duration
	window  time.Duration
	now     func() time.Time
	fresh   func() *gobreaker.CircuitBreaker[answer]
	breaker atomic.Pointer[gobreaker.CircuitBreaker[answer]]

	mu          sync.Mutex
	lastTimeout time.Time
	lastFailure Failure
}

// buckets is how finely a breaker's window rolls.
const buckets = 12

func newModel(c *llm.Client, o Options) *model {
	m := &model{client: c, name: c.Name(), form: newForm(o, c.Config()), timeout: o.Timeout, window: o.Breaker.Window, now: o.Now}
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
		},
	}
	m.fresh = func() *gobreaker.CircuitBreaker[answer] { return gobreaker.NewCircuitBreaker[answer](settings) }
	m.breaker.Store(m.fresh())
	return m
}

// Models returns the names of the chain, in order.
func (g *Gate) Models() []string {
	out := make([]string, len(g.models))
	for i, m := range g.models {
		out[i] = m.name
	}
	return out
}

// Renew gives a model of the chain a breaker that knows nothing yet, for a
// supervisor that starts the model's process again. Calls that are under way
// end with the one before.
func (g *Gate) Renew(name string) {
	for _, m := range g.models {
		if m.name == name {
			m.breaker.Store(m.fresh())
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

// inquiry collects what asking about one call has cost.
type inquiry struct {
	sent int
	in   int
	out  int
	// repaired is what was wrong with an answer before one that could be used.
	repaired Failure
}

func (q *inquiry) count(u llm.Usage) {
	q.sent++
	q.in += max(u.Prompt, 0)
	q.out += max(u.Completion, 0)
}

// judge asks the model, and once more in other words where its answer can't be
// used. The error is a *fault or errCanceled. When asking again fails too, the
// first fault stands: it is the one that the call brought about. Whether the caller
// gave up meanwhile is for the caller of judge to see.
func (m *model) judge(ctx context.Context, document string, q *inquiry) (answer, error) {
	a, err := m.ask(ctx, m.form.question(document, false), q)
	var f *fault
	if !errors.As(err, &f) || !f.kind.repairable() {
		return a, err
	}
	again, err := m.ask(ctx, m.form.question(document, true), q)
	if err == nil {
		q.repaired = f.kind
		return again, nil
	}
	return answer{}, f
}

// ask sends one request through the breaker.
func (m *model) ask(ctx context.Context, r llm.Request, q *inquiry) (answer, error) {
	a, err := m.breaker.Load().Execute(func() (answer, error) { return m.chat(ctx, r, q) })
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		err = &fault{kind: BreakerOpen, model: m.name}
	}
	var f *fault
	if errors.As(err, &f) {
		m.mu.Lock()
		m.lastFailure = f.kind
		m.mu.Unlock()
	}
	return a, err
}

// chat sends one request. Its deadline also bounds a half-open breaker's probe,
// which would otherwise hold the breaker half-open for ever.
func (m *model) chat(ctx context.Context, r llm.Request, q *inquiry) (answer, error) {
	own, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	resp, err := m.client.Chat(own, r)
	q.count(resp.Usage)
	if err != nil {
		if gaveUp(ctx) != nil {
			return answer{}, errCanceled
		}
		return answer{}, m.fault(err)
	}
	a, kind := m.form.judgement(resp)
	if kind != "" {
		return answer{}, &fault{kind: kind, model: m.name}
	}
	return a, nil
}

func (m *model) fault(err error) *fault {
	var e *llm.Error
	if !errors.As(err, &e) {
		return &fault{kind: BadShape, model: m.name}
	}
	f := &fault{kind: faultOf(e), retry: e.RetryAfter, model: m.name}
	if f.kind == LoneTimeout && m.others() {
		f.kind = Timeout
	}
	return f
}

// others notes a timeout and reports whether it stands beside another within
// the breaker's window, or beside a breaker that is not closed. One timeout
// alone may be the doing of the call that is judged.
func (m *model) others() bool {
	m.mu.Lock()
	now := m.now()
	beside := now.Sub(m.lastTimeout) < m.window
	m.lastTimeout = now
	m.mu.Unlock()
	return beside || m.breaker.Load().State() != gobreaker.StateClosed
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
