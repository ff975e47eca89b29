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
	// canarySpare is the time that a model's round has beside its questions: for its lane, for
	// repairs and for budgets of its server.
	canarySpare = 10 * time.Minute
	// doubtsAgain is how long a model that has passed its canaries for doubts isn't asked
	// them again: they are many.
	doubtsAgain = 24 * time.Hour
)

// RunCanaries asks every model its canaries at once and then every so often, give or take a
// tenth. One that has not passed is asked again after ten minutes, or sooner where every is
// less. Each model has a schedule of its own, so a slow one delays no other. RunCanaries
// returns nil once ctx has ended, and asks no model if every is zero or less. A round of a
// model may take Options.Timeout for each question, and ten minutes more.
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
	ctx, cancel := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel(nil)
	g.watching.Add(1)
	defer g.watching.Add(-1)
	looking.Go(func() {
		defer func() { g.logPanic(ctx, recover()) }()
		g.probeSuspects(ctx)
	})
	for _, name := range slices.Compact(slices.Sorted(slices.Values(g.Models()))) {
		looking.Go(func() {
			defer func() {
				if panicked := recover(); panicked != nil {
					g.logPanic(ctx, panicked)
					cancel(errCanaryPanic)
				}
			}()
			if err := g.repeatCanaries(ctx, name, every); err != nil {
				cancel(err)
			}
		})
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, ctx.Err()) {
		return err
	}
	return nil
}

// errCanaryPanic ends RunCanaries, whose owner starts it again.
var errCanaryPanic = errors.New("asking a canary panicked")

// repeatCanaries asks one model its canaries until ctx ends.
func (g *Gate) repeatCanaries(ctx context.Context, name string, every time.Duration) error {
	full := time.Now()
	for {
		if !time.Now().Before(full) {
			full = time.Now().Add(spreadInterval(every))
		}
		isPending, err := g.canaryRound(ctx, name)
		if err != nil && callerGaveUp(ctx) == nil {
			return err
		}
		wait := time.Until(full)
		if isPending {
			wait = min(wait, spreadInterval(canaryAgain))
		}
		if !backoff.Wait(ctx, wait) {
			return nil
		}
	}
}

// canaryRound asks one model and reports whether it has not passed. A round that has no time
// left is no error: the log says so, and the model is asked again soon.
func (g *Gate) canaryRound(ctx context.Context, name string) (isPending bool, err error) {
	bound, cancel := context.WithTimeout(ctx, g.limitRound())
	defer cancel()
	list, err := g.AskCanaries(bound, CanaryOptions{Models: []string{name}})
	hasPassed := err == nil && len(list) > 0 &&
		!slices.ContainsFunc(list, func(r CanaryReport) bool { return r.Result != CanaryPassed })
	if hasPassed && g.isDueForDoubts(name) {
		_, err = g.AskCanaries(bound, CanaryOptions{Models: []string{name}, Doubts: true})
	}
	if err != nil && callerGaveUp(bound) != nil && callerGaveUp(ctx) == nil {
		g.o.Log.LogAttrs(ctx, slog.LevelWarn, "a round of canaries took too long and was cut short; its model is asked again soon",
			slog.String("model", name), slog.Duration("limit", g.limitRound()))
		err = nil
	}
	return !hasPassed || g.isUnprovedForDoubts(name), err
}

// limitRound bounds the time of one model's round: as long as its questions may take.
func (g *Gate) limitRound() time.Duration {
	questions := countCanaries(plainCanaries)
	if g.o.Doubts != DoubtsCount {
		questions += countCanaries(doubtCanaries)
	}
	return canarySpare + time.Duration(questions)*g.o.Timeout
}

// isUnprovedForDoubts reports whether the named model is to be asked its canaries for doubts
// soon: it judged too few of them to tell, or has judged none.
func (g *Gate) isUnprovedForDoubts(name string) bool {
	return g.o.Doubts != DoubtsCount && slices.ContainsFunc(g.modelsOfBothChains(), func(m *model) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.name == name && (m.doubtCanary == CanaryUnanswered || m.doubtCanary == "")
	})
}

// isDueForDoubts reports whether the named model is to be asked the canaries for doubts now.
func (g *Gate) isDueForDoubts(name string) bool {
	return g.o.Doubts != DoubtsCount && slices.ContainsFunc(g.modelsOfBothChains(), func(m *model) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.name == name && (m.doubtCanary != CanaryPassed || g.o.Now().Sub(m.doubtAt) >= doubtsAgain)
	})
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
