package review

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Canary is what the newest canaries of a model came to.
type Canary string

// The results. Empty means that a model was never asked any.
const (
	// CanaryPassed is a model that was right about every canary it judged, and
	// judged two at least of those to be approved and of those to be rejected.
	CanaryPassed Canary = "passed"
	// CanaryFailed is a model that gave a wrong verdict.
	CanaryFailed Canary = "failed"
	// CanaryUnanswered is a model that judged too few to say.
	CanaryUnanswered Canary = "unanswered"
)

// canaryUser is the user of canaries, and no real one: no user's name holds a NUL.
const canaryUser = "\x00canary"

// enough is how many canaries of either kind a model has to judge to pass: one
// canary that a server's filter stops fails no model.
const enough = 2

// CanaryOptions shape one round.
type CanaryOptions struct {
	// Seed chooses names, dates, wordings and order; zero draws one.
	Seed uint64
	// Models are the names of those to ask; nil is all of both chains.
	Models []string
}

// CanaryReport is what came of one model's canaries. It holds no text of theirs.
type CanaryReport struct {
	Model   string         `json:"model"`
	Result  Canary         `json:"result"`
	Answers []CanaryAnswer `json:"answers"`
	// Requests, TokensIn, TokensOut and Cost are what asking took.
	Requests  int           `json:"requests"`
	TokensIn  int           `json:"tokens_in"`
	TokensOut int           `json:"tokens_out"`
	Cost      int64         `json:"cost"`
	Took      time.Duration `json:"took_ns"`
}

// CanaryAnswer is what a model said of one canary.
type CanaryAnswer struct {
	Name string `json:"name"`
	// Want is approve or reject; Got is likewise, or empty where Failure says
	// why there is no judgement.
	Want    string  `json:"want"`
	Got     string  `json:"got,omitempty"`
	Failure Failure `json:"failure,omitempty"`
}

// Wrong returns the names of the canaries that got the wrong verdict.
func (r CanaryReport) Wrong() []string {
	var out []string
	for _, a := range r.Answers {
		if a.Got != "" && a.Got != a.Want {
			out = append(out, a.Name)
		}
	}
	return out
}

// Failure returns why the model judged no more, empty where nothing failed.
func (r CanaryReport) Failure() Failure {
	for _, a := range slices.Backward(r.Answers) {
		if a.Failure != "" {
			return a.Failure
		}
	}
	return ""
}

// AskCanaries asks each model by itself about calls whose verdict is known, and
// marks it by what it says. The requests are ordinary ones to the model, its
// breaker, and the Observer; the Purse isn't asked. A model that can't be
// reached, or has no time, is asked about no further one. The error is for a
// caller that gave up, after the models that were asked by then.
func (g *Gate) AskCanaries(ctx context.Context, o CanaryOptions) ([]CanaryReport, error) {
	seed := o.Seed
	if seed == 0 {
		seed = drawn()
	}
	var out []CanaryReport
	for i, m := range g.all() {
		if o.Models != nil && !slices.Contains(o.Models, m.name) {
			continue
		}
		list, err := canaryQuestions(seed+uint64(i), g.o.Now(), g.o.view()) //nolint:gosec // an index
		if err != nil {
			return out, err
		}
		r, err := g.canaries(ctx, m, list, false)
		if err != nil {
			return out, err
		}
		g.conclude(ctx, m, r)
		out = append(out, r)
	}
	return out, nil
}

// drawn returns a seed that an attacker can't foresee.
func drawn() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

// canaries asks one model. Urgent ones wait behind no call, and have no more time
// than one.
func (g *Gate) canaries(ctx context.Context, m *model, list []canaryQuestion, urgent bool) (CanaryReport, error) {
	began := time.Now()
	r := CanaryReport{Model: m.name, Answers: []CanaryAnswer{}}
	for _, c := range list {
		now := time.Now()
		q := &inquiry{began: now, until: now.Add(g.o.Timeout), left: 1, canary: true, urgent: urgent, user: canaryUser}
		if urgent {
			q.left = len(g.all()) // the least that a call has
		}
		a, err := m.judge(ctx, c.document, q)
		r.Requests, r.TokensIn, r.TokensOut, r.Cost = r.Requests+q.sent, r.TokensIn+q.in, r.TokensOut+q.out, r.Cost+q.cost
		said := CanaryAnswer{Name: c.name, Want: answer{approve: c.approve}.word()}
		var f *fault
		switch {
		case err == nil:
			said.Got = a.word()
		case !errors.As(err, &f) || gaveUp(ctx) != nil:
			return r, canceled(ctx)
		default:
			said.Failure = f.kind
		}
		r.Answers = append(r.Answers, said)
		m.heard(f)
		if f != nil && !f.kind.said() {
			break
		}
	}
	r.Result, r.Took = r.result(), time.Since(began)
	return r, nil
}

// said reports whether a model without a judgement was there and said something:
// then it may judge the next call.
func (f Failure) said() bool {
	switch f {
	case Refusal, ContentFilter, Length, Empty:
		return true
	}
	return f.repairable()
}

func (r CanaryReport) result() Canary {
	approved, rejected := 0, 0
	for _, a := range r.Answers {
		switch {
		case a.Got == "":
		case a.Got != a.Want:
			return CanaryFailed
		case a.Got == "approve":
			approved++
		default:
			rejected++
		}
	}
	if approved < enough || rejected < enough {
		return CanaryUnanswered
	}
	return CanaryPassed
}

// conclude marks a model and says so. One that judged too few keeps the mark
// that it has: silence is no proof of either.
func (g *Gate) conclude(ctx context.Context, m *model, r CanaryReport) {
	m.mu.Lock()
	before := m.canary
	if r.Result != CanaryUnanswered || before == "" {
		m.canary = r.Result
	}
	m.canaryAt = g.o.Now()
	m.mu.Unlock()
	if r.Result == CanaryFailed {
		g.answers.drop() // what it said before is worth no more
		g.ahead.drop()
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

// failedCanary reports whether the newest conclusion about a model is that it
// is wrong.
func (m *model) failedCanary() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.canary == CanaryFailed
}

// drop forgets everything.
func (k *kept) drop() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byKey)
	k.order.Init()
}
