package review

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/sentinel"
)

const (
	// canaryAgain is how soon a model is asked again that has not passed.
	canaryAgain = 10 * time.Minute
	// canaryRound bounds all models of one round.
	canaryRound = 10 * time.Minute
	// doubtsAgain is how long a model that has passed its canaries for doubts isn't asked
	// them again: they are many.
	doubtsAgain = 24 * time.Hour
)

// RunCanaries asks every model its canaries at once and then every so often, give or take a
// tenth. One that has not passed is asked again after ten minutes, or sooner where every is
// less. RunCanaries returns nil once ctx has ended, and asks no model if every is zero or
// less. A round has ten minutes.
//
// Meanwhile RunCanaries examines models that calls got no answer from, twice in a
// breaker's window at most. A model that doesn't answer a canary in time hangs on
// every question. Then the model's timeouts count as an outage, for its breaker too.
// While RunCanaries runs, a canary probes each breaker that is half-open, and no
// call does.
func (g *Gate) RunCanaries(ctx context.Context, every time.Duration) error {
	if every <= 0 || len(g.modelsOfBothChains()) == 0 {
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
		defer func() { g.logPanic(ctx, recover()) }()
		g.probeSuspects(ctx)
	})
	var pending []string // nil: all
	full := time.Now()
	for {
		if !time.Now().Before(full) {
			pending, full = nil, time.Now().Add(spreadInterval(every))
		}
		next, err := g.canaryRound(ctx, pending)
		if err != nil && ctx.Err() == nil {
			return err
		}
		pending = next
		wait := time.Until(full)
		if len(pending) > 0 {
			wait = min(wait, spreadInterval(canaryAgain))
		}
		if !backoff.Wait(ctx, wait) {
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
	passed, sound := map[string]bool{}, []string{}
	for _, r := range list {
		if passed[r.Model] = r.Result == CanaryPassed; passed[r.Model] {
			sound = append(sound, r.Model)
		}
	}
	if names == nil {
		names = g.Models()
	}
	if due := g.listDueForDoubts(sound); err == nil && len(due) > 0 {
		_, err = g.AskCanaries(bound, CanaryOptions{Models: due, Doubts: true})
	}
	pending = []string{}
	for _, n := range names {
		if !passed[n] || g.leftDoubtsUnanswered(n) {
			pending = append(pending, n)
		}
	}
	if bound.Err() != nil {
		err = nil
	}
	return pending, err
}

// leftDoubtsUnanswered reports whether the named model is to be asked its canaries for doubts
// soon: it judged too few of them to tell.
func (g *Gate) leftDoubtsUnanswered(name string) bool {
	return slices.ContainsFunc(g.modelsOfBothChains(), func(m *model) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.name == name && m.doubtCanary == CanaryUnanswered
	})
}

// listDueForDoubts returns those of the named models that are to be asked the canaries for
// doubts.
func (g *Gate) listDueForDoubts(names []string) []string {
	var due []string
	for _, m := range g.modelsOfBothChains() {
		if g.o.Doubts == DoubtsCount || !slices.Contains(names, m.name) {
			continue
		}
		m.mu.Lock()
		if m.doubtCanary != CanaryPassed || g.o.Now().Sub(m.doubtAt) >= doubtsAgain {
			due = append(due, m.name)
		}
		m.mu.Unlock()
	}
	return due
}

// spreadInterval keeps processes that were started together from asking together.
func spreadInterval(d time.Duration) time.Duration {
	return backoff.Spread{Least: 90, Most: 110}.Draw(d)
}

// AskCanaries asks each model by itself about calls whose verdict is known, and
// marks it by what it says. The requests are ordinary ones to the model, its
// breaker, and the Observer; the Purse isn't asked. A model that can't be
// reached, or has no time, is asked about no further one. The error is for a
// caller that gave up, after the models that were asked by then.
func (g *Gate) AskCanaries(ctx context.Context, o CanaryOptions) ([]CanaryReport, error) {
	seed := o.Seed
	if seed == 0 {
		seed = drawCanarySeed()
	}
	var out []CanaryReport
	for i, m := range g.modelsOfBothChains() {
		if o.Models != nil && !slices.Contains(o.Models, m.name) {
			continue
		}
		file, set, mark := plainCanaries, setPlain, g.markByCanaries
		if o.Doubts {
			file, set, mark = doubtCanaries, setDoubts, g.markByDoubtCanaries
		}
		list, err := canaryQuestions(file, seed+uint64(i), g.o.Now(), g.o.documentView()) //nolint:gosec // an index
		if err != nil {
			return out, err
		}
		r, err := g.askCanariesOf(ctx, m, set, list, false)
		if err != nil {
			return out, err
		}
		mark(ctx, m, r)
		out = append(out, r)
	}
	return out, nil
}

// askCanariesOf asks one model. Urgent ones wait behind no call, and have no more time
// than one.
func (g *Gate) askCanariesOf(ctx context.Context, m *model, set string, list []canaryQuestion, urgent bool) (CanaryReport, error) {
	began := time.Now()
	r := CanaryReport{Model: m.name, Set: set, Answers: []CanaryAnswer{}}
	for _, c := range list {
		now := time.Now()
		q := &inquiry{began: now, until: now.Add(g.o.Timeout), left: 1, canary: true, urgent: urgent, user: canaryUser}
		if urgent {
			q.left = len(g.modelsOfBothChains()) // the least that a call has
		}
		a, err := m.judgeDocument(ctx, c.document, q)
		r.Requests, r.TokensIn, r.TokensOut, r.Cost = r.Requests+q.sent, r.TokensIn+q.in, r.TokensOut+q.out, r.Cost+q.cost
		said := CanaryAnswer{Name: c.name, Want: answer{approve: c.approve}.decisionWord()}
		var f *fault
		switch {
		case err == nil:
			said.Got = a.decisionWord()
		case !errors.As(err, &f) || callerGaveUp(ctx) != nil:
			return r, canceledError(ctx)
		default:
			said.Failure = f.kind
		}
		r.Answers = append(r.Answers, said)
		m.noteCanaryResult(f)
		if f != nil && !f.kind.isAnswer() {
			break
		}
	}
	r.Result, r.Took = r.rateAnswers(), time.Since(began)
	return r, nil
}

// markByCanaries marks a model and says so. One that judged too few keeps the mark
// that it has: silence is no proof of either.
func (g *Gate) markByCanaries(ctx context.Context, m *model, r CanaryReport) {
	m.mu.Lock()
	before := m.canary
	if r.Result != CanaryUnanswered || before == "" {
		m.canary = r.Result
	}
	m.canaryAt = g.o.Now()
	m.mu.Unlock()
	if r.Result == CanaryFailed {
		g.answers.drop() // what it said before is worth no more
		g.prejudged.drop()
	}
	level, msg := slog.LevelInfo, "a model of the review passes its canaries"
	switch {
	case r.Result == CanaryFailed:
		level, msg = slog.LevelError,
			"CANARY FAILED: a model of the review is wrong about calls whose verdict is known; its verdicts are marked and none is kept"
	case r.Result == CanaryUnanswered:
		level, msg = slog.LevelWarn, "a model of the review judged too few of its canaries to say how it does"
	case before == CanaryFailed:
		level, msg = slog.LevelWarn, "a model of the review passes its canaries again; its mark is taken off"
	}
	g.o.Log.LogAttrs(ctx, level, msg, slog.String("model", m.name), slog.String("wrong", strings.Join(r.Wrong(), " ")),
		slog.String("failure", string(r.Failure())), slog.Int("asked", len(r.Answers)), slog.Int("requests", r.Requests),
		slog.Int("tokens_in", r.TokensIn), slog.Int("tokens_out", r.TokensOut), slog.Int64("cost", r.Cost))
}

// markByDoubtCanaries notes whether a model may spend doubts.
func (g *Gate) markByDoubtCanaries(ctx context.Context, m *model, r CanaryReport) {
	m.mu.Lock()
	before := m.doubtCanary
	if r.Result != CanaryUnanswered || before == "" {
		m.doubtCanary, m.doubtAt = r.Result, g.o.Now()
	}
	m.mu.Unlock()
	level, msg := slog.LevelInfo, "a model of the review passes its canaries for doubts; its judgements settle doubts of the judge"
	switch r.Result {
	case CanaryFailed:
		level, msg = slog.LevelWarn,
			"a model of the review fails its canaries for doubts; doubts of the judge count, whatever the model says"
	case CanaryUnanswered:
		level, msg = slog.LevelWarn, "a model of the review judged too few of its canaries for doubts; doubts count until it has"
	case CanaryPassed:
	}
	g.o.Log.LogAttrs(ctx, level, msg, slog.String("model", m.name), slog.String("wrong", strings.Join(r.Wrong(), " ")),
		slog.String("failure", string(r.Failure())), slog.Int("asked", len(r.Answers)), slog.Int("requests", r.Requests),
		slog.Int("tokens_in", r.TokensIn), slog.Int("tokens_out", r.TokensOut), slog.Int64("cost", r.Cost))
}

// withholdDoubts takes the doubts from a judgement that may not spend them. Whether the
// models that judged may is asked now, also of a judgement that was kept.
func (g *Gate) withholdDoubts(v sentinel.Verdict) sentinel.Verdict {
	by := []string{v.Meta["model"]}
	if v.Meta["second"] != "" {
		by = append(by, v.Meta["second_model"])
	}
	if g.o.Doubts == DoubtsCount || !slices.ContainsFunc(by, g.maySpendDoubts) {
		v.SpentDoubts = ""
	}
	return v
}

// maySpendDoubts reports whether the named model passed its newest canaries for doubts, for
// this prompt, and has failed no plain ones since.
func (g *Gate) maySpendDoubts(name string) bool {
	for _, m := range g.modelsOfBothChains() {
		if m.name != name {
			continue
		}
		m.mu.Lock()
		plain, doubts := m.canary, m.doubtCanary
		m.mu.Unlock()
		if plain == CanaryFailed || doubts == CanaryFailed {
			return false
		}
		return doubts == CanaryPassed || g.o.Measure.Unproved
	}
	return false
}
