package assembly

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

const (
	// skillWait is how long an allowed call waits for others of its skill: less
	// than its warrant lives.
	skillWait = 10 * time.Second
	// queued bounds who waits for a skill or a model. Agents and turns wait for
	// one thing at a time and are bounded themselves.
	queued = 1 << 20
)

// CodeBusy is the code of the model error of a request that did not get its
// turn in time; its kind is rate_limited.
const CodeBusy = "concurrency"

// Caller is on whose behalf a model is asked.
type Caller struct {
	User, Conversation, Turn string
	// Agent is the id of the asking agent's grant; empty for the orchestrator's
	// own questions.
	Agent string
	// ID is the question's: the same again after a restart.
	ID string
	// Spent, if set, is told what the question came to.
	Spent *Spent
}

type callerKey struct{}

// As returns a context under which models are asked on behalf of who.
func As(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

func callerOf(ctx context.Context) Caller {
	who, _ := ctx.Value(callerKey{}).(Caller)
	return who
}

// places bounds how many calls of a skill run at once. Further calls wait, and users
// take turns. A call whose wait ends without a place was not started, and its record
// says so.
type places struct{ pool *admission.Pool }

// Enter waits for the call's turn.
func (q places) Enter(ctx context.Context, c sentinel.Call) (leave func(), err error) {
	credit, err := q.pool.Acquire(ctx, admission.Ask{User: c.Grant().User()})
	if err != nil {
		if !errors.Is(err, admission.ErrOverloaded) {
			err = errors.New("the caller left before it could start")
		}
		return nil, err
	}
	return credit.Release, nil
}

// queues bounds every skill but natives, which are messages to a conversation's
// own process.
func (p *Parts) queues(cfg *config.Config, execs map[string]skills.Executor, natives map[string]skills.RunFunc) map[string]sentinel.Queue {
	out := map[string]sentinel.Queue{}
	for name, e := range execs {
		if natives[name] != nil || e == nil {
			continue
		}
		pool := admission.New(admission.Options{
			What: "calls of " + name, Process: cfg.Limits.Skill.Concurrency, Waiting: queued, UserWaiting: queued, Wait: skillWait,
		})
		out[name] = places{pool}
		p.pools = append(p.pools, pool)
	}
	return out
}

// askable is a model as agents and the orchestrator ask it: so many at a time.
type askable struct {
	*llm.Client
	pool  *admission.Pool
	purse purse
	tell  func(context.Context, ModelEvent) // nil reports nothing
}

// Chat waits for the request's turn and for room in its budgets, and asks the
// model. Its errors are *llm.Error.
func (a askable) Chat(ctx context.Context, r llm.Request) (resp llm.Response, err error) {
	who := callerOf(ctx)
	e := ModelEvent{Model: a.Name(), Agent: who.Agent != "", Asked: time.Now()}
	defer func() { a.over(ctx, e, err) }()
	credit, held, err := a.admit(ctx, who, &r)
	if err != nil {
		return llm.Response{}, err
	}
	defer credit.Release()
	e.Sent = time.Now()
	resp, err = a.Client.Chat(ctx, r)
	e.Duration = time.Since(e.Sent)
	e.TokensIn, e.TokensOut, e.Cost = a.purse.settle(ctx, who, held, r, resp, err)
	return resp, err
}

// admit waits until the request may be asked. One that waits for its budget
// keeps no place at the model, and one that waits for the model no room in its
// budget: either is somebody else's meanwhile.
func (a askable) admit(ctx context.Context, who Caller, r *llm.Request) (*admission.Credit, limits.Spending, error) {
	for begun := time.Now(); ; {
		credit, err := a.pool.Acquire(ctx, admission.Ask{User: who.User})
		var full *admission.OverloadedError
		switch {
		case errors.As(err, &full):
			return nil, limits.Spending{}, &llm.Error{Kind: llm.KindRateLimited, Model: a.Name(), Code: CodeBusy, RetryAfter: full.RetryAfter}
		case err != nil:
			return nil, limits.Spending{}, &llm.Error{Kind: llm.KindCanceled, Model: a.Name()}
		}
		held, err := a.purse.hold(ctx, who, a.Name(), r, begun)
		if err == nil {
			return credit, held, nil
		}
		credit.Unused()
		if !errors.Is(err, errNoRoom) {
			return nil, held, err
		}
		t := time.NewTimer(holdPause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, held, &llm.Error{Kind: llm.KindCanceled, Model: a.Name()}
		}
	}
}

// models makes the roster's clients askable.
func (p *Parts) models(cfg *config.Config, tell func(context.Context, ModelEvent)) map[string]askable {
	out := map[string]askable{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		client, ok := p.Roster.Lookup(name)
		if !ok {
			continue
		}
		m := cfg.Models[name]
		pool := admission.New(admission.Options{
			What: "requests to model " + name, Process: m.Concurrency, Waiting: queued, UserWaiting: queued, Wait: m.Timeout,
		})
		out[name] = askable{client, pool, newPurse(cfg, m, p.limits, p.log), tell}
		p.pools = append(p.pools, pool)
	}
	return out
}

// Load returns how busy skills and models are: those that are, or ever refused.
func (p *Parts) Load() []admission.Stats {
	return slices.DeleteFunc(p.Pools(), func(s admission.Stats) bool { return s.Used == 0 && s.Waiting == 0 && s.Refused == 0 })
}

// Pools returns how busy all skills and models are.
func (p *Parts) Pools() []admission.Stats {
	var out []admission.Stats
	for _, pool := range p.pools {
		out = append(out, pool.Stats())
	}
	return out
}
