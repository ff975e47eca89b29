package review

import (
	"context"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Observer is told what the review does, for metrics and traces. Its methods are
// called from the goroutines of the calls that are judged, many at once, and
// must not block. One that panics harms no verdict: the log says so once. Events hold names from the configuration, closed
// words and numbers: never a value of a call, and never a model's text.
type Observer interface {
	// Request is told of a request to a model when it is over: once for each
	// that was sent, and once for each that was not because the model could not
	// be asked (breaker open, busy, asked to wait, budget spent).
	Request(ctx context.Context, e RequestEvent)
	// Review is told of a verdict when it is known. A call whose caller gave up
	// has none.
	Review(ctx context.Context, e ReviewEvent)
	// Breaker is told of a breaker's change while the breaker is locked: it must
	// not ask the Gate anything.
	Breaker(e BreakerEvent)
}

// RequestEvent is one request to one model.
type RequestEvent struct {
	// Model is the configured name.
	Model string
	// Failure is empty for an answer that could be used, and Canceled is set
	// where the caller gave up: neither is then the model's.
	Failure  Failure
	Canceled bool
	// Status is the HTTP status of a failure, 0 where none came.
	Status int
	// Sent says whether the request left; Attempt is its number among those to
	// this model for this call, from 1, and Repair that it asks again for an
	// answer that could not be used.
	Sent    bool
	Attempt int
	Repair  bool
	// Second says that it is for a second opinion.
	Second bool
	// Canary says that the request is about no call: its verdict is known. No budget
	// holds what the request cost.
	Canary bool
	// Began is when its turn came, Wait how long it waited for that, Duration
	// how long the model took.
	Began          time.Time
	Wait, Duration time.Duration
	// TokensIn and TokensOut are what the server told, Cost is what they come to
	// in millionths of the currency of the prices, 0 without a price.
	TokensIn, TokensOut int
	Cost                int64
}

// ReviewEvent is one verdict.
type ReviewEvent struct { //nolint:revive // it stands beside RequestEvent and BreakerEvent
	// Outcome, Code and Degraded are the verdict's; in shadow mode what they
	// would be, except that Code is CodeShadow and nothing is Degraded.
	Outcome  sentinel.Outcome
	Code     string
	Degraded bool
	// Mode is Enforce or ShadowMode.
	Mode Mode
	// Failure says why there is no judgement, empty where there is one.
	Failure Failure
	// Cached says that the judgement is an earlier call's.
	Cached bool
	// Escalated says that a second opinion was asked for, SecondFailure why
	// there is none.
	Escalated     bool
	SecondFailure Failure
	// ByRules says that the review was skipped, since the day's budget is spent and
	// the rules decide; Outcome says nothing then.
	ByRules bool
	// Effect and Outward are the call's.
	Effect  skills.Effect
	Outward bool
	// Model judged, or failed in the way that counted; SecondModel likewise.
	Model, SecondModel string
	// CanaryFailed says that one of them is wrong about calls whose verdict is
	// known.
	CanaryFailed bool
	// Requests, TokensIn, TokensOut and Cost are sums over all models.
	Requests            int
	TokensIn, TokensOut int
	Cost                int64
	// Began is when the call arrived, Duration how long it took.
	Began    time.Time
	Duration time.Duration
}

// BreakerEvent is a breaker's change, in the words of ModelState.Breaker.
type BreakerEvent struct{ Model, From, To string }

// noObserver is the Observer of a gate that was given none.
type noObserver struct{}

func (noObserver) Request(context.Context, RequestEvent) {}
func (noObserver) Review(context.Context, ReviewEvent)   {}
func (noObserver) Breaker(BreakerEvent)                  {}

// escalated reports whether a second opinion was asked for this time.
func escalated(v sentinel.Verdict) bool {
	from := v.Meta["from"]
	return v.Meta["first"] != "" && from != fromCache && from != fromShared
}

// observed is the event of a verdict.
func (g *Gate) observed(c sentinel.Call, v sentinel.Verdict, q *inquiry) ReviewEvent {
	e := ReviewEvent{
		Outcome: v.Outcome, Code: v.Code, Degraded: v.Degraded, Mode: Enforce,
		Failure: Failure(v.Meta["failure"]), Cached: v.Meta["from"] == fromCache || v.Meta["from"] == fromShared,
		Escalated: escalated(v), SecondFailure: Failure(v.Meta["second_failure"]),
		ByRules: v.State == sentinel.Skipped,
		Effect:  c.Effect(), Outward: c.Outward(), Model: v.Meta["model"], SecondModel: v.Meta["second_model"],
		CanaryFailed: v.Meta["canary"] != "" || v.Meta["second_canary"] != "",
		Requests:     q.sent, TokensIn: q.in, TokensOut: q.out, Cost: q.cost, Began: q.began, Duration: time.Since(q.began),
	}
	if v.State == sentinel.Shadow {
		e.Mode = ShadowMode
	}
	return e
}
