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
	// this model for this call, from 1.
	Sent    bool
	Attempt int
	Purpose
	// Began is when its turn came, Wait how long it waited for that, Duration
	// how long the model took.
	Began          time.Time
	Wait, Duration time.Duration
	// TokensIn and TokensOut are what the server told. Cost is what they come to in millionths of
	// the currency of the prices, 0 without a price.
	TokensIn, TokensOut int
	Cost                int64
}

// Purpose says what a request is for. The zero value is a first question about a call.
type Purpose struct {
	// Repair says that the request asks again for an answer that could not be used.
	Repair bool
	// Second says that the request is for a second opinion.
	Second bool
	// Canary says that the request is about no call: its verdict is known. No budget
	// holds what the request cost.
	Canary bool
}

// ReviewEvent is one verdict.
type ReviewEvent struct { //nolint:revive // it stands beside RequestEvent and BreakerEvent
	// Outcome, Code and Degraded are the verdict's. In shadow mode they are what they would be,
	// except that Code is CodeShadow and nothing is Degraded.
	Outcome  sentinel.Outcome
	Code     string
	Degraded bool
	// Mode is Enforce or ShadowMode.
	Mode Mode
	// Failure says why there is no judgement, empty where there is one.
	Failure Failure
	// SecondFailure says why there is no second opinion, though one was asked for.
	SecondFailure Failure
	Course
	// Effect and Outward are the call's.
	Effect  skills.Effect
	Outward bool
	// Model judged, or failed in the way that counted; SecondModel likewise.
	Model, SecondModel string
	// Requests, TokensIn, TokensOut and Cost are sums over all models.
	Requests            int
	TokensIn, TokensOut int
	Cost                int64
	// Began is when the call arrived, Duration how long it took.
	Began    time.Time
	Duration time.Duration
}

// Course says how a review came to its verdict.
type Course struct {
	// Cached says that the judgement is an earlier call's.
	Cached bool
	// Escalated says that a second opinion was asked for.
	Escalated bool
	// ByRules says that the review was skipped: the day's budget is spent, and the rules decide.
	// Outcome says nothing then.
	ByRules bool
	// Profile is set where the profile left the call out. Outcome says nothing then.
	Profile Profile
	// CanaryFailed says that a model of the review is wrong about calls whose verdict
	// is known: the one that judged, or the one of the second opinion.
	CanaryFailed bool
}

// BreakerEvent is a breaker's change, in the words of ModelState.Breaker.
type BreakerEvent struct{ Model, From, To string }

// noObserver is the Observer of a gate that was given none.
type noObserver struct{}

func (noObserver) Request(context.Context, RequestEvent) {}
func (noObserver) Review(context.Context, ReviewEvent)   {}
func (noObserver) Breaker(BreakerEvent)                  {}

// isEscalated reports whether a second opinion was asked for this time.
func isEscalated(v sentinel.Verdict) bool {
	from := v.Meta["from"]
	return v.Meta["first"] != "" && from != fromCache && from != fromShared
}
