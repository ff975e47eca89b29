package models

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// maxWaiting bounds who waits for a model. Agents and turns wait for one thing at a time
// and are bounded themselves.
const maxWaiting = 1 << 20

// CodeBusy is the code of the error of a request that did not get its turn in time. Its
// kind is rate_limited.
const CodeBusy = "concurrency"

// Options describe a model and what bounds its questions.
type Options struct {
	Client *llm.Client
	// Concurrency is how many questions are under way at once.
	Concurrency int
	// Timeout is how long a question takes at most. So it is the longest to wait for a
	// place, and for what another question's budget may leave.
	Timeout time.Duration
	// MaxTokens bounds an answer; 0 leaves it to the server, or to 4096 where a budget
	// must know.
	MaxTokens int
	Price     Price
	// Budgets hold room for questions; nil means that no budget bounds them.
	Budgets Budgets
	// Observe is told of each question when it is over. It must not block. Nil tells of
	// none.
	Observe func(context.Context, Event)
	Log     *slog.Logger
}

// Model is a model as agents and the orchestrator ask it: so many questions at a time,
// within budgets. It is safe for concurrent use.
type Model struct {
	*llm.Client
	pool    *admission.Pool
	budget  budget
	observe func(context.Context, Event)
}

// New returns a Model. Without a logger it logs nothing.
func New(o Options) *Model {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Model{
		Client: o.Client,
		pool: admission.New(admission.Options{
			What: "requests to model " + o.Client.Name(), Process: o.Concurrency, Waiting: maxWaiting, UserWaiting: maxWaiting, Wait: o.Timeout,
		}),
		budget:  budget{o.Budgets, o.Price, o.MaxTokens, o.Timeout, o.Log},
		observe: o.Observe,
	}
}

// Stats returns how busy the model is.
func (m *Model) Stats() admission.Stats { return m.pool.Stats() }

// Chat waits for the request's turn and for room in its budgets, and asks the
// model. Its errors are *llm.Error.
func (m *Model) Chat(ctx context.Context, r llm.Request) (resp llm.Response, err error) {
	who := llm.CallerFrom(ctx)
	e := Event{Model: m.Name(), Agent: who.Agent != "", Asked: time.Now()}
	defer func() { m.tellObserver(ctx, e, err) }()
	credit, held, err := m.admitRequest(ctx, who, &r)
	if err != nil {
		return llm.Response{}, err
	}
	defer credit.Release()
	e.Sent = time.Now()
	resp, err = m.Client.Chat(ctx, r)
	e.Duration = time.Since(e.Sent)
	e.TokensIn, e.TokensOut, e.Cost = m.budget.settleRoom(ctx, who, held, r, resp, err)
	return resp, err
}

// admitRequest waits until the request may be asked. A request that waits for its budget
// keeps no place at the model, and one that waits for the model keeps no room in its
// budget: others use either meanwhile.
func (m *Model) admitRequest(ctx context.Context, who llm.Caller, r *llm.Request) (*admission.Credit, limits.Spending, error) {
	for begun := time.Now(); ; {
		credit, err := m.pool.Acquire(ctx, admission.Ask{User: who.User})
		var full *admission.OverloadedError
		switch {
		case errors.As(err, &full):
			return nil, limits.Spending{}, &llm.Error{Kind: llm.KindRateLimited, Model: m.Name(), Code: CodeBusy, RetryAfter: full.RetryAfter}
		case err != nil:
			return nil, limits.Spending{}, &llm.Error{Kind: llm.KindCanceled, Model: m.Name()}
		}
		held, err := m.budget.holdRoom(ctx, who, m.Name(), r, begun)
		if err == nil {
			return credit, held, nil
		}
		credit.Unused()
		if !errors.Is(err, errNoRoom) {
			return nil, held, err
		}
		if !backoff.Wait(ctx, holdPause) {
			return nil, held, &llm.Error{Kind: llm.KindCanceled, Model: m.Name()}
		}
	}
}

// tellObserver tells what came of a question.
func (m *Model) tellObserver(ctx context.Context, e Event, err error) {
	if m.observe == nil {
		return
	}
	var le *llm.Error
	switch {
	case errors.As(err, &le):
		e.Failure, e.Status = le.Kind, le.Status
	case err != nil:
		e.Failure = llm.KindBadResponse
	}
	m.observe(ctx, e)
}
