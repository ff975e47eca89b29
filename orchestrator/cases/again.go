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
	m, total, tries := res.measure(), Review{}, 0
	since, seen, own, pause := time.Now(), a.judged.Load(), 0, againFirst
	for {
		if m.review == nil {
			return nil
		}
		total.plus(*m.review)
		tries++
		model, failure := m.review.absent()
		if now := a.judged.Load(); now > seen && failure != "" {
			seen, since = now, time.Now()
			if failure != breakerOpen && failure != busy {
				own++
			}
		}
		if failure == "" || own >= ownFailures {
			break
		}
		left := a.For - time.Since(since)
		if left <= 0 || failure == quota {
			return &Away{model, failure, time.Since(since)}
		}
		if a.Told != nil {
			a.Told(model, failure, left)
		}
		if !idle(ctx, min(pause, left)) {
			return ctx.Err()
		}
		pause, *start = min(2*pause, againMost), e.o.Now()
		var err error
		if res.Decision, err = e.o.Decider.Decide(ctx, call); err != nil {
			return err
		}
		m = res.measure()
	}
	if m.review.NotJudged() == "" {
		a.judged.Add(1)
	}
	if tries > 1 {
		last := *m.review
		last.Requests, last.TokensIn, last.TokensOut, last.Cost, last.Models, last.Tries = total.Requests, total.TokensIn, total.TokensOut, total.Cost, total.Models, tries
		m.review = &last
		res.measured = &m
	}
	return nil
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
