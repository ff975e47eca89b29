package cases

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// Again has a case decided again while a model is away: what a breaker, a server
// that is down or a limit of the server's said is no answer to the case. It is
// shared by all cases of a run.
type Again struct {
	// For is how long nobody may have been judged before the run ends with an
	// *Away.
	For time.Duration
	// Told is called at each wait, from the goroutine that waits; nil tells
	// nobody. Left is the time until the run would end.
	Told func(model, failure string, left time.Duration)

	judged atomic.Int64 // cases that a model answered
}

// Away ends a run: a model has been away for too long. The case that waited for
// it has no result.
type Away struct {
	// Model is the one whose failure decided, Failure its name (see package
	// review).
	Model, Failure string
	// For is how long nobody had been judged.
	For time.Duration
}

// Error names the model, its failure and the time.
func (a *Away) Error() string {
	return fmt.Sprintf("model %s is away (%s); nobody was judged for %s", a.Model, a.Failure, a.For.Round(time.Second))
}

// The pauses between two tries, doubled each time. A breaker that is open costs
// nothing to ask.
const (
	againFirst = 500 * time.Millisecond
	againMost  = 5 * time.Second
)

// ownFailures are how many of a case's tries may fail while other cases are
// judged: then it is the case that makes the model fail, and the failure is its
// result.
const ownFailures = 3

// Failures of the review that mean something of their own here. They are words of
// its verdicts' Meta.
const (
	quota       = "quota"        // no pause ends it
	breakerOpen = "breaker_open" // nobody was asked
	busy        = "busy"         // nobody was asked
)

// absent names the failure, and its model, of a review that a model's absence
// ended. Empty where there is none.
func (r *Review) absent() (model, failure string) {
	if r == nil {
		return "", ""
	}
	for _, f := range []struct{ model, failure string }{{r.SecondModel, r.SecondFailure}, {r.Model, r.Failure}} {
		switch f.failure {
		case "connect", "server", "rate_limited", quota, breakerOpen, busy:
			return f.model, f.failure
		}
	}
	return "", ""
}

// NotJudged names why no model said anything of the case, where that says nothing
// of the case itself: it was away, busy or too slow, or its key or budget was no
// good. Empty where a model judged, or was asked and gave no usable answer.
func (r *Review) NotJudged() string {
	if r == nil {
		return ""
	}
	if _, failure := r.absent(); failure != "" {
		return failure
	}
	for _, f := range []string{r.Failure, r.SecondFailure} {
		switch f {
		case "timeout", "lone_timeout", "budget", "auth":
			return f
		}
	}
	return ""
}

// again decides a call once more for as long as a model is away. What the tries
// cost is added up; the time is that of the last one.
func (e *Evaluator) again(ctx context.Context, call sentinel.Call, res *Result, start *time.Time) error {
	a := e.o.Again
	if a == nil {
		return nil
	}
	m, t := res.measure(), tries{a: a, since: time.Now(), seen: a.judged.Load()}
	for pause := againFirst; ; pause = min(2*pause, againMost) {
		if m.review == nil {
			return nil
		}
		left, err := t.add(m.review)
		switch {
		case err != nil:
			return err
		case left == 0:
			t.total(&m, res)
			return nil
		}
		if !idle(ctx, min(pause, left)) {
			return ctx.Err()
		}
		*start = e.o.Now()
		if res.Decision, err = e.o.Decider.Decide(ctx, call); err != nil {
			return err
		}
		m = res.measure()
	}
}

// tries are the decisions of one case.
type tries struct {
	a     *Again
	n     int
	spent Review
	own   int       // that failed while other cases were judged
	seen  int64     // how many were judged by then
	since time.Time // when the last was
}

// add takes a try's review. It returns how long the model may still be away, 0
// where this review stands, or an *Away.
func (t *tries) add(r *Review) (left time.Duration, err error) {
	t.n++
	t.spent.plus(*r)
	model, failure := r.absent()
	if now := t.a.judged.Load(); now > t.seen && failure != "" {
		t.seen, t.since = now, time.Now()
		if failure != breakerOpen && failure != busy {
			t.own++
		}
	}
	if failure == "" || t.own >= ownFailures {
		return 0, nil
	}
	left = t.a.For - time.Since(t.since)
	if left <= 0 || failure == quota {
		return 0, &Away{model, failure, time.Since(t.since)}
	}
	if t.a.Told != nil {
		t.a.Told(model, failure, left)
	}
	return left, nil
}

// total puts what all tries have cost into the last one's review.
func (t *tries) total(m *measure, res *Result) {
	if m.review.NotJudged() == "" {
		t.a.judged.Add(1)
	}
	if t.n > 1 {
		last := *m.review
		last.Requests, last.TokensIn, last.TokensOut, last.Cost = t.spent.Requests, t.spent.TokensIn, t.spent.TokensOut, t.spent.Cost
		last.Models, last.Tries = t.spent.Models, t.n
		m.review = &last
		res.measured = m
	}
}

// idle waits, and reports whether it was for the whole time.
func idle(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
