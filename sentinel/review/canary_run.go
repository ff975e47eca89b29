package review

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// canaryAgain is how soon a model is asked again that has not passed.
	canaryAgain = 10 * time.Minute
	// canaryRound bounds all models of one round.
	canaryRound = 10 * time.Minute
)

// RunCanaries asks every model its canaries at once and then every so often, give or
// take a tenth; one that has not passed is asked again after ten minutes, or sooner
// where every is less. RunCanaries returns nil once ctx has ended, and asks no model
// if every is zero or less. A round has ten minutes.
//
// Meanwhile RunCanaries examines models that calls got no answer from, twice in a
// breaker's window at most. A model that doesn't answer a canary in time hangs on
// every question. Then the model's timeouts count as an outage, for its breaker too.
// While RunCanaries runs, a canary probes each breaker that is half-open, and no
// call does.
func (g *Gate) RunCanaries(ctx context.Context, every time.Duration) error {
	if every <= 0 || len(g.all()) == 0 {
		<-ctx.Done()
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	g.watching.Add(1)
	defer g.watching.Add(-1)
	looking.Go(func() {
		defer func() { g.caught(ctx, recover()) }()
		g.lookout(ctx)
	})
	var pending []string // nil: all
	full := time.Now()
	for {
		if !time.Now().Before(full) {
			pending, full = nil, time.Now().Add(spread(every))
		}
		next, err := g.canaryRound(ctx, pending)
		if err != nil && ctx.Err() == nil {
			return err
		}
		pending = next
		wait := time.Until(full)
		if len(pending) > 0 {
			wait = min(wait, spread(canaryAgain))
		}
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// canaryRound asks the models and returns those that have not passed. A round
// that has no time left is no error: it has said what it knows.
func (g *Gate) canaryRound(ctx context.Context, names []string) (pending []string, err error) {
	bound, cancel := context.WithTimeout(ctx, canaryRound)
	defer cancel()
	list, err := g.AskCanaries(bound, CanaryOptions{Models: names})
	passed := map[string]bool{}
	for _, r := range list {
		passed[r.Model] = r.Result == CanaryPassed
	}
	if names == nil {
		names = g.Models()
	}
	pending = []string{}
	for _, n := range names {
		if !passed[n] {
			pending = append(pending, n)
		}
	}
	if bound.Err() != nil {
		err = nil
	}
	return pending, err
}

// spread keeps processes that were started together from asking together.
func spread(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // spreads load, guards nothing
}
