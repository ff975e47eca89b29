package eval

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/sentinel"
)

// Retry has a case decided again while a model is away. What a breaker, a server that
// is down or a limit of the server's said is no answer to the case. It is shared by all
// cases of a run.
type Retry struct {
	// For is how long the models may judge no case before the run ends with an *Away.
	For time.Duration
	// OnWait is called at each wait, from the goroutine that waits; nil is not called.
	// left is the time until the run would end.
	OnWait func(model, failure string, left time.Duration)

	judged atomic.Int64 // cases that a model answered
	probes
}

// Away ends a run: a model has been away for too long, or will judge nothing. The
// case that waited for it has no result.
type Away struct {
	// Model is the one whose failure decided, Failure its name (see package review). It
	// is the last of a request that was sent, where one was.
	Model, Failure string
	// For is how long the models had judged no case.
	For time.Duration
}

// Error names the model, its failure and, where that matters, the time.
func (a *Away) Error() string {
	switch a.Failure {
	case quota:
		return fmt.Sprintf("what was paid for of model %s is used up (quota)", a.Model)
	case auth:
		return fmt.Sprintf("model %s refuses the key (auth)", a.Model)
	case badRequest:
		return fmt.Sprintf("model %s refuses every request (request)", a.Model)
	}
	return fmt.Sprintf("model %s is away (%s); no case was judged for %s", a.Model, a.Failure, a.For.Round(time.Second))
}

// retryPauses are the pauses between two tries. A breaker that is open costs nothing to ask.
var retryPauses = backoff.Pauses{First: 500 * time.Millisecond, Longest: 5 * time.Second}

// ownFailures are how many of a case's tries may fail while other cases are judged.
// Then the case makes the model fail, and the failure is its result.
const ownFailures = 3

// Failures of the review that mean something of their own here. They are words of
// its verdicts' Meta.
const (
	quota       = "quota"        // no pause ends it
	auth        = "auth"         // nor this
	badRequest  = "request"      // the model's, or the case's
	breakerOpen = "breaker_open" // no model was asked
	busy        = "busy"         // no model was asked
)

// retryWhileAway decides a call once more for as long as a model is away. What the tries
// cost is added up; the time is that of the last one.
func (e *Evaluator) retryWhileAway(ctx context.Context, call sentinel.Call, res *Result, start *time.Time, s slots) error {
	a := e.o.Retry
	if a == nil {
		return nil
	}
	m, t := res.measureResult(), tries{a: a, since: time.Now(), seen: a.judged.Load()}
	for n := 0; ; {
		if m.review == nil {
			return nil
		}
		t.addReview(m.review)
		for there := false; !there; n++ {
			left, err := e.timeLeft(ctx, &t)
			if err != nil {
				return err
			}
			if left == 0 {
				t.sumTryCosts(&m, res)
				return nil
			}
			if !s.waitOutside(ctx, min(retryPauses.Pause(n), left)) {
				return ctx.Err()
			}
			if there, err = e.mayAskAgain(ctx, &t); err != nil {
				return err
			}
		}
		var err error
		*start = e.o.Now()
		if res.Decision, err = e.o.Decider.Decide(ctx, call); err != nil {
			return err
		}
		m = res.measureResult()
	}
}

// tries are the decisions of one case.
type tries struct {
	a     *Retry
	n     int
	spent Review
	own   int       // that failed while other cases were judged
	seen  int64     // how many were judged by then
	since time.Time // when the last was
	// model and failure are those of the last try. asked says that a try was put to the
	// model, second that the second opinion failed.
	model, failure string
	asked, second  bool
}

// addReview takes a try's review.
func (t *tries) addReview(r *Review) {
	t.n++
	t.spent.addCosts(*r)
	t.model, t.failure = r.absentModel()
	if r.Failure == badRequest {
		t.model, t.failure = r.Model, r.Failure
	}
	t.second = r.SecondFailure != ""
	put := t.failure != "" && t.failure != breakerOpen && t.failure != busy
	if put {
		t.asked = true
		t.a.noteFailure(t.model, t.failure)
	}
	if now := t.a.judged.Load(); now > t.seen && t.failure != "" {
		t.seen, t.since = now, time.Now()
		if put {
			t.own++
		}
	}
}

// timeLeft returns how long the model may still be away, 0 where the last review
// stands, or an *Away.
func (e *Evaluator) timeLeft(ctx context.Context, t *tries) (time.Duration, error) {
	left := t.a.For - time.Since(t.since)
	switch {
	case t.failure == badRequest:
		return 0, e.refusedAll(ctx, t)
	case t.failure == "" || t.own >= ownFailures:
		return 0, nil
	case left <= 0 || t.failure == quota || t.failure == auth:
		return 0, &Away{t.model, t.a.causeOf(t.model, t.failure), time.Since(t.since)}
	}
	if t.a.OnWait != nil {
		t.a.OnWait(t.model, t.failure, left)
	}
	return left, nil
}

// sumTryCosts puts what all tries have cost into the last one's review.
func (t *tries) sumTryCosts(m *measure, res *Result) {
	if t.n > 1 {
		last := *m.review
		last.Requests, last.TokensIn, last.TokensOut, last.Cost = t.spent.Requests, t.spent.TokensIn, t.spent.TokensOut, t.spent.Cost
		last.Models, last.Tries = t.spent.Models, t.n
		m.review = &last
		res.fromRow = m
	}
}

// probes tell a model that is away from a case that it fails for. A case that was
// judged before is put to the model once more.
type probes struct {
	mu sync.Mutex
	// lines are of cases that were judged: by a model, and by a second one too.
	one, two []byte
	// last is, by model, the last failure of a request that was sent.
	last map[string]string
	// refused are the cases whose request was refused before any was judged.
	refused int
}

// refusals are how many cases a model refuses before any is judged. Then the model
// refuses every case.
const refusals = 3

// keepJudged keeps the line of a case that was judged. It is no judgement of this run
// where it is an earlier one's.
func (a *Retry) keepJudged(r *Review, line []byte, earlier bool) {
	if a == nil || r == nil || r.NotJudged() != "" {
		return
	}
	if !earlier {
		a.judged.Add(1)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.one == nil {
		a.one = append([]byte(nil), line...)
	}
	if a.two == nil && r.SecondModel != "" {
		a.two = append([]byte(nil), line...)
	}
}

func (a *Retry) judgedLine(second bool) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if second {
		return a.two
	}
	return a.one
}

// noteFailure notes the failure of a request that was sent.
func (a *Retry) noteFailure(model, failure string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[string]string{}
	}
	a.last[model] = failure
}

// causeOf names what is behind a failure of a model that wasn't asked.
func (a *Retry) causeOf(model, failure string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if was := a.last[model]; was != "" && (failure == breakerOpen || failure == busy) {
		return was
	}
	return failure
}

// mayAskAgain reports whether the evaluator puts a case again to a model that failed for
// it. If the model judged no other case meanwhile, there first puts one to it that
// it judged before.
func (e *Evaluator) mayAskAgain(ctx context.Context, t *tries) (bool, error) {
	if !t.asked || t.a.judged.Load() > t.seen || t.a.judgedLine(t.second) == nil {
		return true, nil
	}
	return e.askJudgedCase(ctx, t)
}

// askJudgedCase puts a case that was judged before to the model, and reports whether it is
// judged again. What that takes counts for the case that asks.
func (e *Evaluator) askJudgedCase(ctx context.Context, t *tries) (bool, error) {
	call, ok := e.remakeCall(t.a.judgedLine(t.second))
	if !ok {
		return true, nil
	}
	var res Result
	var err error
	if res.Decision, err = e.o.Decider.Decide(ctx, call); err != nil {
		return false, err
	}
	r := res.measureResult().review
	if r == nil {
		return true, nil
	}
	t.spent.addCosts(*r)
	if r.NotJudged() != "" {
		if model, failure := r.absentModel(); failure != "" && failure != breakerOpen && failure != busy {
			t.a.noteFailure(model, failure)
		}
		return false, nil
	}
	t.a.judged.Add(1)
	return true, nil
}

// remakeCall makes the call of a line once more.
func (e *Evaluator) remakeCall(line []byte) (sentinel.Call, bool) {
	c, bad := e.lines.Parse(line)
	if bad != nil {
		return sentinel.Call{}, false
	}
	call, err := e.o.Decider.NewCall(c.Proposal)
	return call, err == nil
}

// refusedAll returns an *Away where the model refuses more than this request.
func (e *Evaluator) refusedAll(ctx context.Context, t *tries) error {
	a := t.a
	if a.judged.Load() > 0 {
		return nil
	}
	var own bool
	if a.judgedLine(false) != nil {
		var err error
		if own, err = e.askJudgedCase(ctx, t); err != nil {
			return err
		}
	} else {
		a.mu.Lock()
		a.refused++
		own = a.refused < refusals
		a.mu.Unlock()
	}
	if own {
		return nil
	}
	return &Away{t.model, t.failure, time.Since(t.since)}
}
