package eval

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// probes tell a model that is away from a case that it fails for: a case that was
// judged before is put to it once more.
type probes struct {
	mu sync.Mutex
	// lines are of cases that were judged: by a model, and by a second one too.
	one, two []byte
	// last is, by model, the last failure of a request that was sent.
	last map[string]string
	// refused are the cases whose request was refused before any was judged.
	refused int
}

// refusals are how many cases a model refuses before any is judged: then it is
// not the cases that it refuses.
const refusals = 3

// keep keeps the line of a case that was judged. It is no judgement of this run
// where it is an earlier one's.
func (a *Again) keep(r *Review, line []byte, earlier bool) {
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

func (a *Again) kept(second bool) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if second {
		return a.two
	}
	return a.one
}

// failed notes the failure of a request that was sent.
func (a *Again) failed(model, failure string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[string]string{}
	}
	a.last[model] = failure
}

// cause is what is behind a failure of a model that wasn't asked.
func (a *Again) cause(model, failure string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if was := a.last[model]; was != "" && (failure == breakerOpen || failure == busy) {
		return was
	}
	return failure
}

// there reports whether the evaluator puts a case again to a model that failed for
// it. If the model judged no other case meanwhile, there first puts one to it that
// it judged before.
func (e *Evaluator) there(ctx context.Context, t *tries) (bool, error) {
	if !t.asked || t.a.judged.Load() > t.seen || t.a.kept(t.second) == nil {
		return true, nil
	}
	return e.probe(ctx, t)
}

// probe puts a case that was judged before to the model, and reports whether it is
// judged again. What that takes counts for the case that asks.
func (e *Evaluator) probe(ctx context.Context, t *tries) (bool, error) {
	call, ok := e.call(t.a.kept(t.second))
	if !ok {
		return true, nil
	}
	var res Result
	var err error
	if res.Decision, err = e.o.Decider.Decide(ctx, call); err != nil {
		return false, err
	}
	r := res.measure().review
	if r == nil {
		return true, nil
	}
	t.spent.plus(*r)
	if r.NotJudged() != "" {
		if model, failure := r.absent(); failure != "" && failure != breakerOpen && failure != busy {
			t.a.failed(model, failure)
		}
		return false, nil
	}
	t.a.judged.Add(1)
	return true, nil
}

// call makes the call of a line again.
func (e *Evaluator) call(line []byte) (sentinel.Call, bool) {
	c, bad := e.lines.Parse(line)
	if bad != nil {
		return sentinel.Call{}, false
	}
	call, err := e.o.Decider.NewCall(c.Proposal)
	return call, err == nil
}

// refused is an *Away where the model refuses not this request alone.
func (e *Evaluator) refused(ctx context.Context, t *tries) error {
	a := t.a
	if a.judged.Load() > 0 {
		return nil
	}
	var own bool
	if a.kept(false) != nil {
		var err error
		if own, err = e.probe(ctx, t); err != nil {
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

// slots are how many cases are decided at a time. One that waits for a model
// leaves its slot to another. Nil has no end of them.
type slots chan struct{}

// spare is how many cases may wait besides those that are decided.
const spare = 3

func (s slots) take(ctx context.Context) error {
	if s == nil {
		return ctx.Err()
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) free() {
	if s != nil {
		<-s
	}
}

// idle waits without its slot, and reports whether it was for the whole time and
// has its slot again. A run that ends gives no slot back.
func (s slots) idle(ctx context.Context, d time.Duration) bool {
	s.free()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return s.take(ctx) == nil && ctx.Err() == nil
}
